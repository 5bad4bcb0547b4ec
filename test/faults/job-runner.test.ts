import pg from 'pg';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { connectDatabase } from '#src/database/client.ts';
import { defineJob, enqueue, runJobs } from '#src/jobs/queue.ts';
import { createLog } from '#src/platform/log.ts';
import { createTestDatabase } from '#test/harness/test-database.ts';
import { eventually } from '#test/harness/test-service.ts';

test('jobs go on after the end of one could not be written down', { timeout: 120_000 }, async () => {
  const database = await createTestDatabase();
  const log = createLog('silent');
  const db = connectDatabase({ url: database.url, log, maxConnections: 8 });
  const ran: string[] = [];
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const job = defineJob({
    name: 'note_name',
    maxAttempts: 5,
    payload: z.strictObject({ name: z.string() }),
    async work({ name }) {
      ran.push(name);
      if (name === 'first') await held;
    },
  });
  const runner = await runJobs(db, log, [job], []);
  await enqueue(db, job, { name: 'first' });
  await eventually(() => (ran.length === 1 ? true : undefined));
  const blocker = new pg.Client({ connectionString: database.url });
  await blocker.connect();
  await blocker.query('BEGIN; LOCK TABLE graphile_worker._private_jobs IN ACCESS EXCLUSIVE MODE');
  release();
  // Longer than any statement may wait: the end of the first job is given up.
  await new Promise((resolve) => setTimeout(resolve, 6_000));
  await blocker.query('ROLLBACK');
  await blocker.end();
  await enqueue(db, job, { name: 'second' });
  await eventually(() => (ran.includes('second') ? true : undefined), 30_000);
  expect(ran).toContain('second');
  await runner.stop();
  await db.$client.end();
  await database.drop();
});
