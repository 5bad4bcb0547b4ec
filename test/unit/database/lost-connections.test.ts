import { expect, test } from 'vitest';
import { connectDatabase, type Database } from '#src/database/client.ts';
import { createLog } from '#src/platform/log.ts';
import { runStatements } from '#test/harness/test-database.ts';
import { untilTrue } from '#test/harness/test-service.ts';
import { useDatabase } from '#test/harness/use.ts';

const database = await useDatabase();

const CONNECTIONS = 8;
const CUT = `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`;

/** A pool whose connections are all open and idle, and how many lines it has logged. */
async function openPool(): Promise<{ db: Database; logged: () => number }> {
  let lines = 0;
  const log = createLog('warn', { write: () => (lines += 1) });
  const db = connectDatabase({ url: database.url, log, maxConnections: CONNECTIONS });
  const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => db.$client.connect()));
  for (const client of clients) client.release();
  return { db, logged: () => lines };
}

test('connections that are lost are logged, each of them', async () => {
  const { db, logged } = await openPool();
  await runStatements(database.url, [CUT]);
  await untilTrue(async () => logged() >= CONNECTIONS);
  await db.$client.end();
});

test('a server that stops while the pool ends is no loss', async () => {
  const { db, logged } = await openPool();
  // What the service does when it stops: the server goes before it has read every goodbye.
  const [clients, ended] = [
    Reflect.get(db.$client, '_clients') as { emit(name: string, fault: Error): void }[],
    db.$client.end(),
  ];
  for (const client of clients) client.emit('error', new Error('terminating connection due to administrator command'));
  await ended;
  expect(logged()).toBe(0);
});
