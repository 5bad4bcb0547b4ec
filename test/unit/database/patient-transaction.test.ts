import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { connectDatabase, type Database, inPatientTransaction, type Transaction } from '#src/database/client.ts';
import { createLog } from '#src/platform/log.ts';
import { createTestDatabase } from '#test/harness/test-database.ts';

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let db: Database;
beforeEach(async () => {
  database = await createTestDatabase();
  db = connectDatabase({ url: database.url, log: createLog('silent'), maxConnections: 1, connectMs: 300 });
  await db.execute(sql`CREATE TABLE ends (id integer PRIMARY KEY)`);
});
afterEach(async () => {
  await db.$client.end();
  await database.drop();
});

const store = async (tx: Transaction): Promise<void> => {
  await tx.execute(sql`INSERT INTO ends VALUES (1) ON CONFLICT DO NOTHING`);
};
const stored = async (): Promise<number> => (await db.execute(sql`SELECT 1 FROM ends`)).rows.length;
/** Stores after a first try that ends in `fault`; returns how many tries there were. */
async function storeAfter(fault: (tx: Transaction) => Promise<unknown>): Promise<number> {
  let tries = 0;
  await inPatientTransaction(db, async (tx) => {
    tries += 1;
    if (tries === 1) await fault(tx);
    await store(tx);
  });
  return tries;
}

test('what cannot be undone is stored although no connection is free for longer than one is waited for', async () => {
  const client = await db.$client.connect();
  const storing = inPatientTransaction(db, store);
  // Observed here as well, so that an early end fails this test and not the process.
  storing.catch(() => undefined);
  await pause(900);
  client.release();
  await storing;
  expect(await stored()).toBe(1);
});

test.each([
  ['the connection is cut', sql`SELECT pg_terminate_backend(pg_backend_pid())`],
  ['the statement takes too long', sql`SELECT set_config('statement_timeout', '20', true), pg_sleep(0.01)`],
])('what cannot be undone is stored although %s', async (_what, statement) => {
  const tries = await storeAfter(async (tx) => {
    await tx.execute(statement);
    await tx.execute(sql`SELECT pg_sleep(0.1)`);
  });
  expect([tries, await stored()]).toEqual([2, 1]);
});

test('a broken rule is no matter of patience: the first try says so', async () => {
  let tries = 0;
  const broken = inPatientTransaction(db, async (tx) => {
    tries += 1;
    await tx.execute(sql`INSERT INTO ends VALUES (2), (2)`);
  });
  await expect(broken).rejects.toThrow();
  expect([tries, await stored()]).toEqual([1, 0]);
});
