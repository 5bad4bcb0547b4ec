import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { migrate } from '#src/database/migrate.ts';
import { HOUR_MS } from '#src/platform/clock.ts';
import { recurringJobs } from '#src/work.ts';
import { demand, PLURALITY, sealBallots, visitor, votesFor } from '#test/harness/elections.ts';
import { createFakeClock, type FakeClock, hasFaketime } from '#test/harness/faketime.ts';
import { setEvent } from '#test/harness/genuine-rows.ts';
import { hasPostgresTools, type OwnServer, startOwnServer } from '#test/harness/own-server.ts';
import { requireStarted, type StartedService, startProcess } from '#test/harness/started-service.ts';
import {
  eventually,
  startTestService,
  type TestAccount,
  type TestService,
  untilTrue,
} from '#test/harness/test-service.ts';

describe.skipIf(!hasFaketime || !hasPostgresTools)('a database server whose clock', () => {
  let folder: string;
  let clock: FakeClock;
  let server: OwnServer;
  let service: TestService;
  let account: TestAccount;
  let worker: StartedService;

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'voting-clock-'));
    chmodSync(folder, 0o755);
    clock = createFakeClock(path.join(folder, 'time'));
    server = await startOwnServer(path.join(folder, 'server'), [], clock.environment);
    await migrate(server.url);
    service = await startTestService({ databaseUrl: server.url, worker: false });
    account = await service.account();
    worker = requireStarted(
      await startProcess({
        ...{ DATABASE_URL: server.url, SECRET_KEY: service.secretKey, DATA_DIR: folder, HOST: '127.0.0.1' },
        ...{ BASE_URL: 'https://vote.example.org', EMAIL_DOMAIN_CHECK: 'off', WORKER: 'on' },
      }),
    );
  });
  afterAll(async () => {
    worker.child.kill('SIGKILL');
    await service.stop();
    server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const health = async (): Promise<string> => {
    const answer = await fetch(`http://127.0.0.1:${worker.port}/health`);
    return ((await answer.json()) as { data: { checks: { worker: string } } }).data.checks.worker;
  };
  const becomes = (state: 'ok' | 'failed') =>
    eventually(async () => ((await health()) === state ? state : undefined), 20_000);
  /** Every job that runs by the clock, as if its time had come now. */
  const queueEveryJob = () =>
    service.deps.db.execute(sql`
      SELECT add_job(name, p_key => 'drift/' || name, p_run_at => 0)
      FROM unnest(${sql.param(recurringJobs(service.deps).map(({ name }) => name))}::text[]) AS name`);
  const waitingJobs = async () =>
    (await service.deps.db.execute(sql`SELECT key FROM jobs WHERE key LIKE 'drift/%' AND attempts = 0`)).rows;
  /** How many rows stand in each table of events, voters and ballots. */
  const countRows = async (): Promise<unknown[]> => {
    const { rows: tables } = await service.deps.db.execute<{ name: string }>(sql`
      SELECT table_name AS name FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'voting_event_id' ORDER BY 1`);
    const counts = tables.map(
      ({ name }) => sql`SELECT ${name} AS name, count(*)::int AS rows FROM ${sql.identifier(name)}`,
    );
    return (await service.deps.db.execute(sql.join(counts, sql` UNION ALL `))).rows;
  };
  const alarms = (): number => worker.output().match(/"alarm":"clock_drift"/g)?.length ?? 0;

  test.each(['+2h', '-2h'])('steps by %s ends, deletes and loses nothing, and is an alarm', async (offset) => {
    const now = Date.now();
    const event = await account.event({ endsAt: now + HOUR_MS }, PLURALITY, false);
    await account.change(`/voting-events/${event.id}`, { startsAt: now + HOUR_MS / 2 });
    // Opened by the clock, an hour ago.
    await setEvent(service, event.id, sql`starts_at = ${now - HOUR_MS}`);
    service.deps.events.forget(event.id);
    const votes = votesFor(event);
    await account.votePoll(event, votes);
    const ballotOf = { visitorId: visitor(), votes };
    const cast = demand(await account.page(event, 'ballot/cast', ballotOf), 201);
    const before = alarms();
    // The confirmed ballot is in the log, and nothing is left that a process would do without its jobs.
    await sealBallots(service, event.id);
    clock.step(offset);
    await becomes('failed');
    // Its output is read beside its answers.
    await untilTrue(() => alarms() > before, 10_000);
    await queueEveryJob();
    const rows = await countRows();
    // Every process goes by the database's clock: for all of them the event is not open now.
    const refused = await account.page(event, 'ballot/cast', { visitorId: visitor(), votes });
    expect([refused.status, refused.body.error.details.reason]).toEqual([
      403,
      expect.stringMatching(/^event_(closed|not_open)$/),
    ]);
    expect((await account.get(`/voting-events/${event.id}/results`)).status).toBe(200);
    // Longer than runners wait before they look for jobs again.
    await pause(3_500);
    expect(await waitingJobs()).toHaveLength(recurringJobs(service.deps).length);
    expect(await countRows()).toEqual(rows);
    expect(alarms()).toBe(before + 1);
    clock.step('+0s');
    await becomes('ok');
    await untilTrue(async () => (await waitingJobs()).length === 0, 30_000);
    const code = { confirmationCode: cast.confirmationCode };
    demand(await account.page(event, 'ballot/confirm', code), 200);
    await account.votePoll(event, votes);
    const results = await account.show(`/voting-events/${event.id}/results`);
    expect([results.final, results.stats.ballots]).toEqual([false, 3]);
  });
});
