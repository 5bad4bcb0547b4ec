import { drizzle } from 'drizzle-orm/node-postgres';
import { Pool } from 'pg';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { copyPieces } from '#src/database/copy-rows.ts';
import { FairPool } from '#src/database/fair-pool.ts';
import { readBox } from '#src/results/read-box.ts';
import { createTestEvent } from '#test/harness/elections.ts';
import { putIntoBox } from '#test/harness/sealed-box.ts';
import { useService } from '#test/harness/test-service.ts';

const BALLOTS = 4_000;
/** Far more in all than the buffers between the database and this process hold. */
const BALLOT_BYTES = 4_000;
const LIMIT_MS = 1_000;

const service = await useService({ worker: false });
const plan = { votingMethod: 'approval', candidates: ['Ada'] };
const eventId = (await createTestEvent(service, await service.account(), {}, [plan])).id;
// The service's own connections end a statement that takes long.
const filling = new Pool({ connectionString: service.databaseUrl });
await filling.query(
  putIntoBox(
    `SELECT n AS leaf_index, 'bal_' || n AS id, sha256(convert_to($1 || n, 'UTF8')) AS code_tag,
       convert_to(repeat(md5(n::text), $3 / 32), 'UTF8') AS entries, 1000000 AS weight_micro, '\\x00'::bytea AS salt,
       '\\x00'::bytea AS sealed_time
     FROM generate_series(0, $2::integer - 1) AS n`,
    1,
  ),
  [eventId, BALLOTS, BALLOT_BYTES],
);
await filling.end();
const pool = new FairPool({ connectionString: service.databaseUrl, statement_timeout: LIMIT_MS, max: 4 });
afterAll(() => pool.end());

const burn = (ms: number): void => {
  const end = performance.now() + ms;
  while (performance.now() < end);
};

describe('a count that takes longer than the database waits for a statement', () => {
  test('reads every ballot once: no statement waits for the count', async () => {
    let ballots = 0;
    const connects = vi.spyOn(pool, 'connect');
    // Twice the limit in all.
    const last = await readBox(drizzle(pool), eventId, -1n, () => {
      ballots += 1;
      burn((2 * LIMIT_MS) / BALLOTS);
    });
    expect([ballots, last]).toEqual([BALLOTS, BigInt(BALLOTS - 1)]);
    // Sixteen megabytes, half a megabyte in each copy but the first two.
    expect(connects.mock.calls.length).toBeGreaterThan(20);
    connects.mockRestore();
  });

  test('reads every ballot once where the process had no time to read, and a statement was ended', async () => {
    const copying = copyPieces(pool, `SELECT weights, entries FROM ballot_blocks WHERE voting_event_id = '${eventId}'`);
    // The first piece comes, and then something else takes all of the process's time.
    const hold = setTimeout(() => burn(3 * LIMIT_MS), 20);
    const pieces = await copying;
    clearTimeout(hold);
    const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
    expect(bytes).toBeGreaterThan(BALLOTS * BALLOT_BYTES * 0.95);
  });

  test('fails where the database does, before the first row or after some, and leaves no connection unread', async () => {
    const failing = (query: string) => expect(copyPieces(pool, query)).rejects.toMatchObject({ code: '22012' });
    await failing('SELECT 1 / 0');
    await failing('SELECT 1 / (50000 - n) FROM generate_series(1, 100000) AS n');
    const { rows } = await pool.query<{ one: number }>('SELECT 1 AS one');
    expect(rows).toEqual([{ one: 1 }]);
    expect(Buffer.concat(await copyPieces(pool, "SELECT 'after it'")).toString('latin1')).toContain('after it');
  });
});
