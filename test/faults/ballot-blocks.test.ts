import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { type BallotToSeal, findSealedLeaf, insertBallots, readSealedBallots } from '#src/ballots/box.ts';
import { ballotIdOf } from '#src/ballots/waiting-ballot.ts';
import { inTransaction } from '#src/database/client.ts';
import { readBox } from '#src/results/read-box.ts';
import type { TestEvent } from '#test/harness/elections.ts';
import { useAccount } from '#test/harness/test-service.ts';

let event: TestEvent;

const { service, account } = await useAccount({ worker: false });
const pool = service.deps.db.$client;
beforeEach(async () => {
  event = await account.event();
});

/** Ballots of all lengths that a length of one, two and three bytes is written for. */
function ballotsOf(count: number, weightOf = (_index: number) => 1_000_000n): BallotToSeal[] {
  return Array.from({ length: count }, (_, index) => {
    const [codeTag, salt] = [randomBytes(32), randomBytes(32)];
    const length = index === 5 ? 20_000 : index === 3 ? 128 : index % 127;
    return {
      ...{ id: ballotIdOf(salt, codeTag), codeTag, salt, entries: randomBytes(length), sealedTime: randomBytes(12) },
      ...{ weightMicro: weightOf(index), voterId: null, countryCode: null, submittedAt: null },
    };
  });
}

const seal = (first: number, ballots: readonly BallotToSeal[]): Promise<void> =>
  inTransaction(service.deps.db, (tx) => insertBallots(tx, event.id, first, ballots));

const count = async (table: string): Promise<number> =>
  (await pool.query(`SELECT count(*)::int AS n FROM ${table} WHERE voting_event_id = $1`, [event.id])).rows[0]?.n;

/** What statements read, a row each. */
const readAsRows = async () =>
  (
    await pool.query(
      `SELECT id, code_tag, entries, weight_micro, salt, sealed_time, voter_id, country_code, submitted_at
       FROM sealed_ballots($1) ORDER BY leaf_index`,
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
  const last = await readBox(service.deps.db, event.id, after, (_bytes, start, end, weight) => {
    sum.ballots += 1;
    sum.bytes += end - start;
    sum.weight += weight;
  });
  return { last, ...sum };
}

describe('sealed ballots in blocks', () => {
  test('are read as they were sealed: by the program, by statements, from any leaf, by their codes', async () => {
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

  test('hold each ballot and each leaf once', async () => {
    const [one, two] = [ballotsOf(4), ballotsOf(4)];
    await seal(10, one);
    await seal(20, two);
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
    expect((await readAsRows()).length).toBe(8);
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

  test('keep what the ballots of a poll carry, and nothing where a ballot carries none', async () => {
    const ballots = ballotsOf(3).map((one, index) =>
      index === 1
        ? one
        : { ...one, id: `bal_${index}`, voterId: `voter ${index}`, countryCode: 'CH', submittedAt: index },
    );
    await seal(1, ballots);
    expect(await readAsRows()).toEqual(ballots.map(asRow));
    expect(await readSealedBallots(service.deps.db, event.id, { after: 0, limit: 3 })).toMatchObject([
      { leafIndex: 1, voterId: 'voter 0', countryCode: 'CH', submittedAt: 0 },
      { leafIndex: 2, voterId: null, countryCode: null, submittedAt: null },
      { leafIndex: 3, voterId: 'voter 2' },
    ]);
  });
});
