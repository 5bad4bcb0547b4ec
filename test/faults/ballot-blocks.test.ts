import { randomBytes } from 'node:crypto';
import { sql } from 'drizzle-orm';
import type { Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { checkLog } from '#src/ballot-log/check-log.ts';
import { type BallotToSeal, findSealedLeaf, insertBallots, readSealedBallots } from '#src/ballots/box.ts';
import { packBallots } from '#src/ballots/pack-ballots.ts';
import { ballotIdOf } from '#src/ballots/waiting-ballot.ts';
import { inTransaction } from '#src/database/client.ts';
import { readBox } from '#src/results/read-box.ts';
import {
  createTestEvent,
  demand,
  finishEvent,
  sealBallots,
  type TestEvent,
  votePoll,
} from '#test/harness/elections.ts';
import { packAll } from '#test/harness/sealed-box.ts';
import { createTestAccount, startTestService, type TestAccount, type TestService } from '#test/harness/test-service.ts';

let service: TestService;
let account: TestAccount;
let pool: Pool;
let event: TestEvent;

const PLAN = [{ votingMethod: 'plurality', candidates: ['Ada', 'Bea'] }];

beforeAll(async () => {
  service = await startTestService({ worker: false });
  account = await createTestAccount(service);
  pool = service.deps.db.$client;
});
afterAll(() => service.stop());
beforeEach(async () => {
  event = await createTestEvent(service, account, {}, PLAN);
});

/** Ballots of all lengths that a length of one, two and three bytes is written for. */
function ballotsOf(count: number, weightOf = (_index: number) => 1_000_000n): BallotToSeal[] {
  return Array.from({ length: count }, (_, index) => {
    const [codeTag, salt] = [randomBytes(32), randomBytes(32)];
    const length = index === 5 ? 20_000 : index === 3 ? 128 : index % 127;
    return {
      ...{ id: ballotIdOf(salt, codeTag), codeTag, salt, entries: randomBytes(length), sealedTime: randomBytes(12) },
      ...{ weightMicro: weightOf(index), voterId: null, countryCode: null, submittedAt: null, disclosed: false },
    };
  });
}

const seal = (first: number, ballots: readonly BallotToSeal[]): Promise<void> =>
  inTransaction(service.deps.db, (tx) => insertBallots(tx, event.id, first, ballots, true));

/** As a process of an earlier version does it. */
async function sealAsRows(first: number, ballots: readonly BallotToSeal[]): Promise<void> {
  for (const [index, one] of ballots.entries())
    await pool.query(
      `INSERT INTO ballots (voting_event_id, leaf_index, id, code_tag, entries, weight_micro, salt, sealed_time, voter_id, country_code,
         submitted_at, released) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
      [
        ...[event.id, first + index, one.id, one.codeTag, one.entries, one.weightMicro, one.salt, one.sealedTime],
        ...[one.voterId, one.countryCode, one.submittedAt, one.disclosed],
      ],
    );
}

const count = async (table: string): Promise<number> =>
  (await pool.query(`SELECT count(*)::int AS n FROM ${table} WHERE voting_event_id = $1`, [event.id])).rows[0]?.n;

/** What an earlier version reads. */
const readAsRows = async () =>
  (
    await pool.query(
      `SELECT id, code_tag, entries, weight_micro, salt, sealed_time, voter_id, country_code, submitted_at FROM ballots
       WHERE voting_event_id = $1 ORDER BY leaf_index`,
      [event.id],
    )
  ).rows;

const asRow = (one: BallotToSeal) => ({
  ...{ id: one.id, code_tag: one.codeTag, entries: one.entries, weight_micro: String(one.weightMicro), salt: one.salt },
  ...{ sealed_time: one.sealedTime, voter_id: one.voterId, country_code: one.countryCode },
  submitted_at: one.submittedAt === null ? null : String(one.submittedAt),
});

async function countBox(after: bigint): Promise<{ last: bigint; ballots: number; weight: bigint; bytes: number }> {
  const sum = { ballots: 0, weight: 0n, bytes: 0 };
  const last = await readBox(pool, event.id, after, (_bytes, start, end, weight) => {
    sum.ballots += 1;
    sum.bytes += end - start;
    sum.weight += weight;
  });
  return { last, ...sum };
}

describe('sealed ballots in blocks', () => {
  test('are read as they were sealed: by the program, by an earlier version, from any leaf, by their codes', async () => {
    const ballots = ballotsOf(600, (index) => BigInt(index + 1));
    await seal(7, ballots);
    expect(await count('ballot_blocks')).toBe(3);
    expect(await readAsRows()).toEqual(ballots.map(asRow));
    const read = await readSealedBallots(service.deps.db, event.id, { after: 260, upTo: '530', limit: 1_000 });
    expect(read.map(({ leafIndex }) => leafIndex)).toEqual(Array.from({ length: 270 }, (_, index) => 261 + index));
    expect(read.map(({ entries }) => entries)).toEqual(ballots.slice(254, 524).map(({ entries }) => entries));
    expect(read.map(({ id }) => id)).toEqual(ballots.slice(254, 524).map(({ id }) => id));
    expect(await readSealedBallots(service.deps.db, event.id, { after: 260, limit: 3 })).toEqual(read.slice(0, 3));
    for (const index of [0, 255, 256, 599])
      expect(await findSealedLeaf(service.deps.db, event.id, ballots[index]?.codeTag ?? randomBytes(32))).toBe(
        7 + index,
      );
    expect(await findSealedLeaf(service.deps.db, event.id, randomBytes(32))).toBeUndefined();
    const behind = ballots.slice(254);
    expect(await countBox(260n)).toEqual({
      ...{ last: 606n, ballots: behind.length },
      weight: behind.reduce((sum, { weightMicro }) => sum + weightMicro, 0n),
      bytes: behind.reduce((sum, { entries }) => sum + entries.length, 0),
    });
  });

  test('never change, shrink, grow or go while their event is there, whatever is written', async () => {
    await seal(1, ballotsOf(3));
    for (const statement of [
      "UPDATE ballot_blocks SET entries = entries || '\\x0141' WHERE voting_event_id = $1",
      'UPDATE ballot_blocks SET first_leaf = 9 WHERE voting_event_id = $1',
      'UPDATE ballot_blocks SET weights = weights WHERE voting_event_id = $1',
      'DELETE FROM ballot_blocks WHERE voting_event_id = $1',
    ])
      await expect(pool.query(statement, [event.id]), statement).rejects.toMatchObject({ code: '23001' });
    await expect(pool.query('TRUNCATE ballot_blocks')).rejects.toMatchObject({ code: '23001' });
  });

  test('hold each ballot and each leaf once, rows of an earlier version included', async () => {
    const [one, two] = [ballotsOf(4), ballotsOf(4)];
    await seal(10, one);
    await sealAsRows(20, two);
    const repeated = one.slice(2, 3);
    for (const [first, ballots] of [
      [30, [...ballotsOf(2), ...repeated]],
      [30, two.slice(0, 1)],
      [13, ballotsOf(1)],
      [8, ballotsOf(3)],
      [22, ballotsOf(1)],
      [30, [...repeated, ...repeated]],
    ] as const)
      await expect(seal(first, ballots)).rejects.toThrow();
    await expect(sealAsRows(30, repeated)).rejects.toMatchObject({ code: '23505' });
    expect([await count('ballot_blocks'), await count('ballots')]).toEqual([1, 8]);
  });

  test('are what they say, or refused', async () => {
    const columns = 'voting_event_id, first_leaf, ballots, entries, weights, tags, tag_heads, salts, sealed_times';
    const tag = Buffer.alloc(32, 1);
    const insert = (ballots: number, weights: string, tags: Buffer, heads: string) =>
      pool.query(`INSERT INTO ballot_blocks (${columns}) VALUES ($1, 1, $2, '', $3, $4, $5, '', '')`, [
        ...[event.id, ballots, weights, tags, heads],
      ]);
    const head = `{${tag.readBigInt64BE()}}`;
    await expect(insert(1, '{1,2}', tag, head)).rejects.toMatchObject({ code: '23001' });
    await expect(insert(1, '{1}', tag.subarray(1), head)).rejects.toMatchObject({ code: '23001' });
    await expect(insert(1, '{1}', tag, '{7}')).rejects.toMatchObject({ code: '23001' });
    await expect(insert(0, '{1}', Buffer.alloc(0), '{}')).rejects.toMatchObject({ code: '23514' });
    await insert(1, '{1}', tag, head);
  });
});

describe('ballots that an earlier version sealed', () => {
  test('become blocks, bytes for bytes, in the order of their leaves and never over a gap between them', async () => {
    const ballots = ballotsOf(300, (index) => (index < 280 ? 1_000_000n : 2_500_000n)).map((one, index) => ({
      ...one,
      ...(index % 2 === 0
        ? { id: `bal_${index}`, voterId: `voter ${index}`, countryCode: 'CH', submittedAt: index }
        : {}),
    }));
    await sealAsRows(1, ballots.slice(0, 290));
    await sealAsRows(292, ballots.slice(290));
    const before = await readAsRows();
    expect(before).toEqual(ballots.map(asRow));
    expect(await packAll(pool, event.id)).toBe(300);
    expect([await count('ballot_rows'), await count('ballot_blocks')]).toEqual([0, 3]);
    expect(await readAsRows()).toEqual(before);
    expect(await readSealedBallots(service.deps.db, event.id, { after: 288, limit: 3 })).toMatchObject([
      { leafIndex: 289, voterId: 'voter 288', countryCode: 'CH', submittedAt: 288 },
      { leafIndex: 290, voterId: null, countryCode: null, submittedAt: null },
      { leafIndex: 292, voterId: 'voter 290' },
    ]);
  });

  test('are found by their index, however few rows the plan was made for: a block takes few reads beside many rows', async () => {
    const rows = 20_000;
    await pool.query(
      `INSERT INTO ballot_rows (voting_event_id, leaf_index, id, code_tag, entries, weight_micro, salt, sealed_time, released)
       SELECT $1, n, 'bal_' || n, sha256(convert_to($1 || n, 'UTF8')), '\\x00', 1000000, '\\x00', '\\x00', true
       FROM generate_series(0, ${rows - 1}) AS n`,
      [event.id],
    );
    await inTransaction(service.deps.db, async (tx) => {
      // What the planner knows of a table that had few rows when it was looked at last.
      await tx.execute(sql`SET LOCAL session_replication_role = replica`);
      await tx.execute(
        sql`UPDATE pg_class SET reltuples = 20, relpages = 1 WHERE relname IN ('ballot_rows', 'ballots_id', 'ballots_code')`,
      );
      await tx.execute(sql`SET LOCAL session_replication_role = origin`);
      expect((await tx.execute(sql`SELECT pack_ballots(${event.id}) AS packed`)).rows).toEqual([{ packed: 256 }]);
      const { rows: reads } = await tx.execute<{ read: string }>(
        sql`SELECT seq_tup_read + idx_tup_fetch AS read FROM pg_stat_xact_user_tables WHERE relname = 'ballot_rows'`,
      );
      expect(Number(reads[0]?.read)).toBeLessThan(256 * 12);
    });
  });

  test('stay in their rows unless the same ballots stand in a block', async () => {
    const ballots = ballotsOf(3);
    await sealAsRows(1, ballots);
    const refused = { code: '23001' };
    await expect(pool.query('DELETE FROM ballot_rows WHERE voting_event_id = $1', [event.id])).rejects.toMatchObject(
      refused,
    );
    for (const change of [
      { entries: randomBytes(9) },
      { weightMicro: 3n },
      { salt: randomBytes(32) },
      { voterId: 'x' },
    ])
      await expect(
        inTransaction(service.deps.db, async (tx) => {
          const [first, ...rest] = ballots;
          if (first === undefined) throw new Error('there are three');
          await insertBallots(tx, event.id, 1, [{ ...first, ...change }, ...rest], false);
          await tx.execute(`DELETE FROM ballot_rows WHERE voting_event_id = '${event.id}'`);
        }),
      ).rejects.toMatchObject({ cause: refused });
    expect([await count('ballot_rows'), await count('ballot_blocks')]).toEqual([3, 0]);
  });

  test('are counted once while they become blocks', async () => {
    await sealAsRows(1, ballotsOf(700));
    const counts: Promise<{ ballots: number }>[] = [];
    for (let packed = 1; packed > 0; ) {
      counts.push(countBox(-1n));
      packed = (await pool.query('SELECT pack_ballots($1) AS packed', [event.id])).rows[0]?.packed;
    }
    expect((await Promise.all(counts)).map(({ ballots }) => ballots)).toEqual(counts.map(() => 700));
  });

  test('are moved by a job, once no process of an earlier version is alive, and the log finds them well', async () => {
    const [position] = event.positions;
    for (let voter = 0; voter < 5; voter += 1)
      await votePoll(service, account, event, [
        { positionId: position?.id, candidateId: position?.candidates[voter % 2] },
      ]);
    await sealBallots(service, event.id);
    await pool.query('CREATE TABLE IF NOT EXISTS as_earlier (LIKE ballots)');
    // The box as the earlier version left it.
    const client = await pool.connect();
    await client.query('INSERT INTO as_earlier SELECT * FROM ballots WHERE voting_event_id = $1', [event.id]);
    await client.query("SET session_replication_role = 'replica'");
    await client.query('DELETE FROM ballot_blocks WHERE voting_event_id = $1', [event.id]);
    await client.query('INSERT INTO ballot_rows SELECT * FROM as_earlier WHERE voting_event_id = $1', [event.id]);
    await client.query("SET session_replication_role = 'origin'");
    client.release();
    expect(await checkLog(service.deps, event.id)).toBeUndefined();
    const id = randomBytes(16);
    await pool.query('INSERT INTO service_processes (id, seen_at) VALUES ($1, now_ms() + 60000)', [id]);
    await packBallots(service.deps);
    expect(await count('ballot_rows')).toBe(5);
    await pool.query('DELETE FROM service_processes WHERE id = $1', [id]);
    expect(await packBallots(service.deps)).toBeGreaterThanOrEqual(5);
    expect([await count('ballot_rows'), await count('ballot_blocks')]).toEqual([0, 1]);
    expect(await packBallots(service.deps)).toBe(0);
    expect(await checkLog(service.deps, event.id)).toBeUndefined();
    await finishEvent(service, event.id);
    const path = `/voting-events/${event.id}/results`;
    const { final, disputed, stats } = demand(await service.call('GET', path, undefined, { key: account.read }), 200);
    expect([final, disputed, stats.ballots]).toEqual([true, false, 5]);
  });
});
