import { sql } from 'drizzle-orm';
import { afterAll, expect, test } from 'vitest';
import { connectDatabase, inTransaction } from '#src/database/client.ts';
import { createLog } from '#src/platform/log.ts';
import { useDatabase } from '#test/harness/use.ts';

const database = await useDatabase();
const db = connectDatabase({ url: database.url, log: createLog('silent'), maxConnections: 2 });
afterAll(() => db.$client.end());

const one = () => inTransaction(db, async (tx) => (await tx.execute(sql`SELECT 1 AS one`)).rows);

test.each([
  ['begin', /^begin/i],
  ['statement', /SELECT 1/],
  ['commit', /^commit/i],
])('a transaction whose %s fails gives its connection back', async (_what, fails) => {
  const broken = (client: import('pg').PoolClient): void => {
    const query = client.query.bind(client);
    Object.assign(client, {
      query: (...given: [{ text?: string }, ...unknown[]]) =>
        fails.test(given[0].text ?? String(given[0]))
          ? Promise.reject(new Error('Connection terminated unexpectedly'))
          : Reflect.apply(query, client, given),
    });
  };
  db.$client.on('connect', broken);
  for (let time = 0; time < 5; time += 1) await expect(one()).rejects.toThrow();
  db.$client.off('connect', broken);
  expect([db.$client.totalCount - db.$client.idleCount, db.$client.waitingCount]).toEqual([0, 0]);
});
