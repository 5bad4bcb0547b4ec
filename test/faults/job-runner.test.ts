import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { connectDatabase, type Database } from '#src/database/client.ts';
import { forgivingPool } from '#src/jobs/forgiving-pool.ts';
import { type AnyJob, defineJob, enqueue } from '#src/jobs/queue.ts';
import { type JobRunner, runJobs } from '#src/jobs/run-jobs.ts';
import { createLog } from '#src/platform/log.ts';
import { createTestDatabase } from '#test/harness/test-database.ts';
import { eventually } from '#test/harness/test-service.ts';

interface World {
  readonly db: Database;
  /** Runs jobs of a kind until the test is over. */
  run(job: AnyJob): Promise<JobRunner>;
  /** Holds a table of the queue in a lock until it is let go. */
  lock(table: string, mode: 'ACCESS EXCLUSIVE' | 'SHARE'): Promise<() => Promise<void>>;
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
        const runner = await runJobs({ other: db }, log, [job], []);
        runners.push(runner);
        return runner;
      },
      async lock(table, mode) {
        const blocker = new pg.Client({ connectionString: database.url });
        await blocker.connect();
        await blocker.query(`BEGIN; LOCK TABLE graphile_worker.${table} IN ${mode} MODE`);
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
  await eventually(() => (ran.length === 1 ? true : undefined));
  const letGo = await lock('_private_jobs', 'ACCESS EXCLUSIVE');
  held.resolve();
  await pause(TOO_LONG_MS);
  await letGo();
  await enqueue(db, job, { name: 'second' });
  await eventually(() => (ran.includes('second') ? true : undefined), 30_000);
});

WORLD(
  'jobs begin once the database answers that did not when they were started',
  { timeout: 300_000 },
  async ({ world }) => {
    const { db, run, lock } = world;
    const ran: string[] = [];
    const job = noting(ran);
    // Whoever begins writes down there which jobs it knows.
    const letGo = await lock('_private_tasks', 'SHARE');
    await run(job);
    await pause(TOO_LONG_MS);
    await letGo();
    await enqueue(db, job, { name: 'first' });
    await eventually(() => (ran.length === 1 ? true : undefined), 60_000);
  },
);

WORLD('jobs go on after the ends of several could not be written down', async ({ world }) => {
  const { db, run, lock } = world;
  const ran: string[] = [];
  const held = new Map(['1', '2', '3', '4'].map((name) => [name, Promise.withResolvers<void>()]));
  const job = noting(ran, async (name) => held.get(name)?.promise);
  const runner = await run(job);
  for (const name of held.keys()) await enqueue(db, job, { name });
  await eventually(() => (ran.length === held.size ? true : undefined));
  const letGo = await lock('_private_jobs', 'ACCESS EXCLUSIVE');
  // Each end is written down by a statement of its own.
  for (const { resolve } of held.values()) {
    resolve();
    await pause(50);
  }
  await pause(TOO_LONG_MS);
  await letGo();
  await enqueue(db, job, { name: 'after' });
  await eventually(() => (ran.includes('after') ? true : undefined), 30_000);
  expect(runner.isWell()).toBe(true);
});

WORLD('jobs begin after a start that got no answer', async ({ world }) => {
  const { db, run } = world;
  const connect = db.$client.connect.bind(db.$client);
  let asked = 0;
  Object.assign(db.$client, {
    connect: (...given: Parameters<typeof connect>) => {
      if (given.length > 0) return connect(...given);
      asked += 1;
      return asked === 1 ? new Promise(() => undefined) : connect();
    },
  });
  const ran: string[] = [];
  const job = noting(ran);
  const runner = await run(job);
  expect(runner.isWell()).toBe(false);
  await enqueue(db, job, { name: 'first' });
  await eventually(() => (ran.length === 1 ? true : undefined), 60_000);
  expect(runner.isWell()).toBe(true);
});

WORLD('a runner that is given up keeps no connection', async ({ world }) => {
  const { db } = world;
  const pool = db.$client;
  const runner = forgivingPool(pool);
  for (let place = 0; place < 8; place += 1) runner.pool.connect(() => undefined);
  await eventually(() => (pool.totalCount - pool.idleCount === 8 ? true : undefined));
  runner.pool.connect(() => undefined);
  runner.close();
  expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  await eventually(() => (pool.totalCount === pool.idleCount && pool.waitingCount === 0 ? true : undefined));
});
