import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFailed } from 'vitest';
import { createRoll } from '#test/harness/mail-voters.ts';
import { test } from '#test/harness/sending.ts';
import { eventually, untilTrue } from '#test/harness/test-service.ts';
import { WORKER_CONNECTIONS } from '#test/harness/worker-process.ts';

/** A sample, and the full form by night: `npm run breaks`. */
const ROUNDS = Number(process.env['BREAK_ROUNDS'] ?? 8);
const JOBS_A_ROUND = 8;

test('jobs go on, and the process ends when asked to, whatever connections of the queue are broken off', {
  timeout: 400_000,
}, async ({ service, account, mails, work }) => {
  // Long enough that several are under way when the connections break, and that they end one after the other.
  mails.answerWith(async (_mail, times) => {
    await pause(500 + (times % 5) * 15);
    return undefined;
  });
  const roll = await createRoll(service, account, ROUNDS * JOBS_A_ROUND + 1);
  const database = service.deps.db.$client;
  const worker = await work();
  onTestFailed(() => console.error(worker.log().slice(-8_000)));
  const running = async (): Promise<number> =>
    (await database.query('SELECT count(*)::int AS running FROM jobs WHERE held_by IS NOT NULL')).rows[0].running;
  for (let round = 0; round < ROUNDS; round += 1) {
    const some = roll.voters.slice(round * JOBS_A_ROUND, (round + 1) * JOBS_A_ROUND);
    await roll.mail(some);
    for (let index = 0; index < JOBS_A_ROUND; index += 1) await roll.enqueueDeletion();
    await untilTrue(async () => (await running()) >= 4, 60_000);
    // Several times, so that the ends of jobs that follow each other cannot be written down.
    for (let time = 0; time < 6; time += 1) {
      await database.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1', [
        WORKER_CONNECTIONS,
      ]);
      await pause(30);
    }
  }
  const last = roll.voters.slice(-1);
  await roll.mail(last);
  await untilTrue(() => mails.taken.some(({ to }) => to === last[0]?.email), 200_000);
  expect(await eventually(async () => ((await worker.health()) === 'ok' ? 'ok' : undefined), 60_000)).toBe('ok');
  await untilTrue(async () => {
    // A job that met several broken connections is due in minutes: that it is there still is what counts.
    await database.query('UPDATE jobs SET run_at = now_ms() WHERE held_by IS NULL AND run_at > now_ms()');
    const reached = new Set(mails.taken.map(({ to }) => to));
    return reached.size === roll.voters.length;
  });
  const { code, ms } = await worker.stop();
  expect(code).toBe(0);
  expect(ms).toBeLessThan(20_000);
});

test('a process whose database hangs says that its jobs do, and ends within 20 seconds all the same', async ({
  service,
  account,
  mails,
  work,
}) => {
  mails.answerWith(() => new Promise(() => undefined));
  const roll = await createRoll(service, account, 6);
  const worker = await work();
  await roll.mail(roll.voters);
  await untilTrue(() => mails.received.length >= 4);
  const blocker = await service.deps.db.$client.connect();
  await blocker.query('SET idle_in_transaction_session_timeout = 0; BEGIN; LOCK TABLE jobs');
  expect(await eventually(async () => ((await worker.health()) === 'failed' ? true : undefined), 30_000)).toBe(true);
  const { ms } = await worker.stop();
  expect(ms).toBeLessThan(20_000);
  await blocker.query('ROLLBACK');
  blocker.release();
});

test('jobs of a server that is gone are free at the start of the next, without a wait', async ({
  service,
  account,
  mails,
  work,
}) => {
  const roll = await createRoll(service, account, 1);
  await roll.mail(roll.voters);
  const database = service.deps.db.$client;
  // As a backup of a moment holds it: the lock and its holder as they were then.
  await database.query("UPDATE jobs SET held_by = 'pool-gone', held_at = now_ms() - 3600000");
  await database.query("INSERT INTO job_runners (id, seen_at) VALUES ('pool-gone', now_ms() - 3600000)");
  const worker = await work();
  // Once it has begun: on a busy machine the beginning alone takes so long.
  await untilTrue(() => mails.taken.length === 1, 20_000);
  await worker.stop();
});

test('a process that stood still itself raises no alarm about its jobs, and goes on with them', async ({
  service,
  account,
  mails,
  work,
}) => {
  const roll = await createRoll(service, account, 1);
  const worker = await work();
  for (const seconds of [17, 6]) {
    worker.child.kill('SIGSTOP');
    await pause(seconds * 1_000);
    worker.child.kill('SIGCONT');
    await pause(100);
  }
  await roll.mail(roll.voters);
  await untilTrue(() => mails.taken.length === 1, 30_000);
  expect(worker.log()).not.toContain('jobs_stalled');
  expect(await worker.stop()).toMatchObject({ code: 0 });
});
