import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { connectDatabase, type Database } from '#src/database/client.ts';
import { Heartbeat } from '#src/database/heartbeat.ts';
import { createLog } from '#src/platform/log.ts';
import { withClient } from '#test/harness/empty-database.ts';
import { runStatements } from '#test/harness/test-database.ts';
import { eventually, untilTrue } from '#test/harness/test-service.ts';
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

test('a lock on the table of beats is no silence, for which every connection would be cut, and no refusal', async () => {
  const met: string[] = [];
  const heartbeat = new Heartbeat({
    ...{ url: database.url, log: createLog('silent'), processId: randomBytes(16), onNotification: {} },
    onAnswer: () => met.push('answer'),
    onSilence: () => met.push('silence'),
    onReplaced: (reason) => met.push(reason),
    onBeat: () => undefined,
    onGap: () => undefined,
  });
  await heartbeat.start();
  await withClient(database.url, async (client) => {
    await client.query('BEGIN; LOCK TABLE service_processes IN SHARE MODE');
    met.length = 0;
    await untilTrue(() => met.length > 5, 20_000);
    expect([new Set(met), heartbeat.isAway]).toEqual([new Set(['answer']), false]);
  });
  await heartbeat.stop();
});

test('a connection whose caller gave up while it was made is given back to the pool', async () => {
  const log = createLog('silent');
  const { $client: pool } = connectDatabase({ url: database.url, log, maxConnections: 2, connectMs: 500 });
  // Callers that find an idle connection wait for their turn: one gets it, for the other one a new one is made.
  (await eventually(() => pool.connect().catch(() => undefined))).release();
  await withClient(database.url, async (client) => {
    await client.query('BEGIN; LOCK TABLE schema_number IN ACCESS EXCLUSIVE MODE');
    const both = await Promise.allSettled([pool.connect(), pool.connect()]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    await client.query('COMMIT');
    for (const one of both) if (one.status === 'fulfilled') one.value.release();
  });
  await untilTrue(() => pool.totalCount === 2 && pool.idleCount === 2, 2_000);
  await pool.end();
});
