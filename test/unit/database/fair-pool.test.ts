import { expect, test } from 'vitest';
import { FairPool } from '#src/database/fair-pool.ts';
import type { LeaseLimits } from '#src/platform/leases.ts';
import { Presence } from '#src/platform/presence.ts';
import { asker } from '#src/platform/turns.ts';
import { useDatabase } from '#test/harness/use.ts';

const database = await useDatabase();

const open = (connectionTimeoutMillis: number, max = 2, beside?: LeaseLimits['beside']) =>
  new FairPool({ connectionString: database.url, max, connectionTimeoutMillis }, beside);
const sleep = (pool: FairPool, account: string) => asker.run({ account }, () => pool.query('SELECT pg_sleep(0.02)'));

test('an account waits for one connection, however many wait for another account', async () => {
  const pool = open(10_000);
  let done = 0;
  const flood = Array.from({ length: 60 }, () => sleep(pool, 'flood').then(() => (done += 1)));
  await sleep(pool, 'other');
  const before = done;
  await sleep(pool, 'other');
  expect(done - before).toBeLessThanOrEqual(4);
  expect(pool.waiting).toBeGreaterThan(30);
  await Promise.all(flood);
  expect([done, pool.waiting, pool.totalCount - pool.idleCount]).toEqual([60, 0, 0]);
  await pool.end();
});

test('an account has a third of the connections while another is present, and all of them alone', async () => {
  const presence = new Presence();
  const pool = open(10_000, 6, { perAccount: 2, presence });
  presence.note('flood');
  let [running, most] = [0, 0];
  const work = async (): Promise<void> => {
    const client = await asker.run({ account: 'flood' }, () => pool.connect());
    running += 1;
    most = Math.max(most, running);
    await client.query('SELECT pg_sleep(0.02)');
    running -= 1;
    client.release();
  };
  const flood = () => Promise.all(Array.from({ length: 30 }, work));
  await flood();
  expect(most).toBe(6);
  presence.note('other');
  most = 0;
  await flood();
  expect(most).toBe(2);
  await pool.end();
});

test('places come back from who gets no connection in time, or breaks one', async () => {
  const pool = open(1_500);
  const [one, two] = [await pool.connect(), await pool.connect()];
  await Promise.all(
    [pool.connect(), pool.query('SELECT 1')].map((waiting) =>
      expect(waiting).rejects.toThrow('no connection to the database was free in time'),
    ),
  );
  one.release(new Error('broken'));
  two.release();
  expect(pool.waiting).toBe(0);
  const all = await Promise.all([pool.connect(), pool.connect()]);
  for (const client of all) client.release();
  await pool.end();
});

test('while the database gives no answer nobody waits, neither who waits already nor who asks once more', async () => {
  const pool = open(3_600_000);
  const held = [await pool.connect(), await pool.connect()];
  const waiting = pool.connect();
  const refused = expect(waiting).rejects.toThrow('no connection');
  pool.setSilent(true);
  await refused;
  await expect(pool.query('SELECT 1')).rejects.toThrow('the database gives no answer');
  for (const client of held) client.release();
  pool.setSilent(false);
  await expect(pool.query('SELECT 1')).resolves.toMatchObject({ rowCount: 1 });
  await pool.end();
});
