import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { connectDatabase, type Database } from '#src/database/client.ts';
import { type AnyJob, defineJob, enqueue, PutOff, type RecurringJob } from '#src/jobs/queue.ts';
import { type JobRunner, runJobs } from '#src/jobs/run-jobs.ts';
import { createLog } from '#src/platform/log.ts';
import { createTestDatabase } from '#test/harness/test-database.ts';
import { eventually, untilTrue } from '#test/harness/test-service.ts';

interface World {
  readonly db: Database;
  /** Runs jobs of a kind until the test is over. */
  run(job: AnyJob | RecurringJob): Promise<JobRunner>;
  /** Holds the queue in a lock until it is let go. */
  lock(): Promise<() => Promise<void>>;
}

const WORLD = test.extend<{ world: World }>({
  // biome-ignore lint/correctness/noEmptyPattern: the library reads which fixtures are asked for off this pattern
  world: async ({}, use) => {
    const database = await createTestDatabase();
    const log = createLog('silent');
    const db = connectDatabase({ url: database.url, log, maxConnections: 8 });
    const runners: JobRunner[] = [];
    await use({
      db,
      async run(job) {
        const runner = await ('schedule' in job ? runJobs(db, log, [], [job]) : runJobs(db, log, [job], []));
        runners.push(runner);
        return runner;
      },
      async lock() {
        const blocker = new pg.Client({ connectionString: database.url });
        await blocker.connect();
        await blocker.query(`BEGIN; LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE`);
        return async () => {
          await blocker.query('ROLLBACK');
          await blocker.end();
        };
      },
    });
    for (const runner of runners) await runner.stop();
    await db.$client.end();
    await database.drop();
  },
});

/** A job that writes down under which name it ran. */
function noting(ran: string[], until: (name: string) => Promise<void> = async () => undefined) {
  return defineJob({
    name: 'note_name',
    maxAttempts: 5,
    payload: z.strictObject({ name: z.string() }),
    async work({ name }) {
      ran.push(name);
      await until(name);
    },
  });
}

/** Longer than any statement may wait. */
const TOO_LONG_MS = 6_000;

WORLD('jobs go on after the end of one could not be written down', async ({ world }) => {
  const { db, run, lock } = world;
  const ran: string[] = [];
  const held = Promise.withResolvers<void>();
  const job = noting(ran, async (name) => (name === 'first' ? held.promise : undefined));
  await run(job);
  await enqueue(db, job, { name: 'first' });
  await untilTrue(() => ran.length === 1);
  const letGo = await lock();
  held.resolve();
  await pause(TOO_LONG_MS);
  await letGo();
  await enqueue(db, job, { name: 'second' });
  await untilTrue(() => ran.includes('second'), 30_000);
});

WORLD(
  'jobs begin once the database answers that did not when they were started',
  { timeout: 300_000 },
  async ({ world }) => {
    const { db, run, lock } = world;
    const ran: string[] = [];
    const job = noting(ran);
    const letGo = await lock();
    await run(job);
    await pause(TOO_LONG_MS);
    await letGo();
    await enqueue(db, job, { name: 'first' });
    await untilTrue(() => ran.length === 1, 60_000);
  },
);

WORLD('a recurring job runs again whose process was killed while it ran', async ({ world: { db, run } }) => {
  let runs = 0;
  const work = async () => {
    runs += 1;
  };
  const clock = { name: 'tick', schedule: '* * * * *', work };
  const first = await run(clock);
  await untilTrue(async () => (await db.$client.query('SELECT FROM jobs')).rowCount === 1);
  await first.stop();
  // As a runner claims it.
  await db.$client.query("UPDATE jobs SET held_by = 'killed', held_at = 0, attempts = attempts + 1, run_at = 0");
  await run(clock);
  await untilTrue(() => runs === 1);
});

WORLD(
  'a job that is put off comes again when it said, as often as it is put off, unless a later one took its key',
  async ({ world: { db, run } }) => {
    const ran: string[] = [];
    const job = noting(ran, async (name) => {
      if (name === 'waits' && ran.length <= 7) throw new PutOff(Date.now() + 50);
      if (name === 'replaced') {
        await enqueue(db, job, { name: 'later' }, { key: 'one' });
        throw new PutOff(Date.now() + 50);
      }
    });
    await run(job);
    await enqueue(db, job, { name: 'waits' }, { key: 'waits' });
    await untilTrue(async () => (await db.$client.query('SELECT FROM jobs')).rowCount === 0);
    expect(ran).toEqual(Array.from({ length: 8 }, () => 'waits'));
    await enqueue(db, job, { name: 'replaced' }, { key: 'one' });
    await untilTrue(async () => (await db.$client.query('SELECT FROM jobs')).rowCount === 0);
    expect(ran.slice(8)).toEqual(['replaced', 'later']);
  },
);

WORLD('jobs go on after the ends of several could not be written down', async ({ world }) => {
  const { db, run, lock } = world;
  const ran: string[] = [];
  const held = new Map(['1', '2', '3', '4'].map((name) => [name, Promise.withResolvers<void>()]));
  const job = noting(ran, async (name) => held.get(name)?.promise);
  const runner = await run(job);
  for (const name of held.keys()) await enqueue(db, job, { name }, { account: name });
  await untilTrue(() => ran.length === held.size);
  const letGo = await lock();
  // Each end is written down by a statement of its own.
  for (const { resolve } of held.values()) {
    resolve();
    await pause(50);
  }
  await pause(TOO_LONG_MS);
  await letGo();
  await enqueue(db, job, { name: 'after' });
  await untilTrue(() => ran.includes('after'), 30_000);
  expect(runner.isWell()).toBe(true);
});

WORLD('jobs begin after a start that got no answer', async ({ world }) => {
  const { db, run } = world;
  const connect = db.$client.connect.bind(db.$client);
  let asked = 0;
  Object.assign(db.$client, {
    connect: (...given: Parameters<typeof connect>) => {
      asked += 1;
      return asked === 1 ? undefined : connect(...given);
    },
  });
  const ran: string[] = [];
  const job = noting(ran);
  const runner = await run(job);
  expect(runner.isWell()).toBe(false);
  await enqueue(db, job, { name: 'first' });
  await untilTrue(() => ran.length === 1, 60_000);
  expect(runner.isWell()).toBe(true);
});

WORLD(
  'a job whose end could not be written while another runner took it over is not ended twice',
  async ({ world }) => {
    const { db, run } = world;
    const ran: string[] = [];
    const held = Promise.withResolvers<void>();
    const job = noting(ran, async () => (ran.length === 1 ? held.promise : undefined));
    await run(job);
    await enqueue(db, job, { name: 'first' });
    await untilTrue(() => ran.length === 1);
    // As if this runner had not been seen for a while: another one holds the job for the second time.
    await db.$client.query("UPDATE jobs SET held_by = 'another', attempts = 2");
    held.resolve();
    await pause(1_000);
    const { rows } = await db.$client.query('SELECT held_by, attempts FROM jobs');
    expect(rows).toEqual([{ held_by: 'another', attempts: 2 }]);
  },
);

WORLD(
  'a job that is due is found among thousands of others that wait for the places of another group',
  async ({ world }) => {
    const { db } = world;
    await db.$client.query(`INSERT INTO jobs (name, payload, last, run_at, max_attempts, created_at)
    SELECT CASE WHEN n % 2 = 0 THEN 'mail' ELSE 'later' END, '{}', n % 4 < 2, CASE WHEN n % 2 = 0 THEN 0 ELSE now_ms() + 1000000 END, 5, 0
    FROM generate_series(1, 40000) AS n; ANALYZE jobs`);
    await enqueue(db, { name: 'note_name' }, {});
    const client = await db.$client.connect();
    try {
      await client.query('BEGIN');
      const read = async (): Promise<number> =>
        Number(
          (
            await client.query(
              "SELECT seq_tup_read + idx_tup_fetch AS n FROM pg_stat_xact_user_tables WHERE relname = 'jobs'",
            )
          ).rows[0].n,
        );
      const before = await read();
      const { rows } = await client.query(
        "SELECT name FROM take_jobs('me', '{mail,later,note_name}', '{mails,other,other}', '{5,4,4}', '{9,9,9}', $1)",
        [Date.now() + 5_000],
      );
      expect(rows.map(({ name }) => name).toSorted()).toEqual(['mail', 'mail', 'mail', 'mail', 'mail', 'note_name']);
      expect((await read()) - before).toBeLessThan(60);
    } finally {
      client.release(true);
    }
  },
);

WORLD(
  'jobs of an account that has twenty waiting run after those of others, and one place is left to others',
  async ({ world }) => {
    const { db, run } = world;
    const ran: string[] = [];
    const held = Promise.withResolvers<void>();
    const job = noting(ran, async (name) => (name === 'hangs' ? held.promise : undefined));
    for (const name of ['hangs', 'hangs', 'hangs', 'hangs']) await enqueue(db, job, { name }, { account: 'one' });
    for (let n = 0; n < 2_000; n += 1) await enqueue(db, job, { name: 'one' }, { account: 'one' });
    await enqueue(db, job, { name: 'other' }, { account: 'other' });
    await run(job);
    await untilTrue(() => ran.includes('other'));
    // Three of four places are held by the jobs that hang; further ones of the account do not get the fourth.
    expect(ran.toSorted()).toEqual(['hangs', 'hangs', 'hangs', 'other']);
    held.resolve();
    await untilTrue(() => ran.filter((name) => name === 'one').length > 20);
    await enqueue(db, job, { name: 'later' }, { account: 'other' });
    await untilTrue(() => ran.includes('later'));
    expect(ran.length).toBeLessThan(1_000);
  },
);

WORLD('jobs of one account follow each other, although a place is left to others', async ({ world }) => {
  const { db, run } = world;
  const ran: string[] = [];
  const job = noting(ran);
  for (let n = 0; n < 60; n += 1) await enqueue(db, job, { name: 'one' }, { account: 'one' });
  await run(job);
  // Three at a time, once a second, they would take 20 s.
  await untilTrue(() => ran.length === 60, 10_000);
});

WORLD('a job that fails after a later one took its key leaves no failed job', async ({ world }) => {
  const { db, run } = world;
  const ran: string[] = [];
  const held = Promise.withResolvers<void>();
  const job = noting(ran, async (name) => {
    if (name !== 'first') return;
    await held.promise;
    throw new Error('its round is gone');
  });
  await run(job);
  await enqueue(db, job, { name: 'first' }, { key: 'one' });
  await untilTrue(() => ran.length === 1);
  await enqueue(db, job, { name: 'second' }, { key: 'one' });
  held.resolve();
  const left = async () => (await db.$client.query('SELECT name, last_error FROM jobs')).rows;
  await untilTrue(async () => ran.includes('second') && (await left()).length === 0);
});

WORLD('jobs of the clock have one row each, which comes again', async ({ world }) => {
  const { db } = world;
  let runs = 0;
  const clock = {
    name: 'tick',
    schedule: '* * * * *',
    work: async () => {
      runs += 1;
    },
  };
  const log = createLog('silent');
  const runners = [await runJobs(db, log, [], [clock]), await runJobs(db, log, [], [clock])];
  const rowsOf = async () =>
    (await db.$client.query("SELECT id, run_at > now_ms() AS later FROM jobs WHERE name = 'tick'")).rows;
  const [row] = await eventually(async () => ((await rowsOf()).length === 1 ? await rowsOf() : undefined));
  expect(row.later).toBe(true);
  await db.$client.query('UPDATE jobs SET run_at = 0');
  await untilTrue(() => runs === 1);
  await untilTrue(async () => (await rowsOf())[0].later);
  expect(await rowsOf()).toEqual([row]);
  for (const runner of runners) await runner.stop();
  expect(runs).toBe(1);
});
