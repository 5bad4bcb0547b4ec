import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { PositionResult } from '#src/tally/position-result.ts';
import { counted, markings, marks, PLAIN, position, ROOT, rankings, result } from './counting.ts';

const SEED = '00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff';

/** The order of the lot as an outsider works it out: bytes of the seed, bytes of the log's root, then the id. */
function lotOrder(seed: string, ids: readonly string[]): string[] {
  const number = (id: string): string =>
    createHash('sha256')
      .update(Buffer.concat([Buffer.from(seed, 'hex'), Buffer.from(ROOT, 'hex'), Buffer.from(id, 'utf8')]))
      .digest('hex');
  return [...ids].sort((a, b) => (number(a) < number(b) ? -1 : 1));
}

const someSeeds = (count: number): string[] =>
  Array.from({ length: count }, (_, draw) => createHash('sha256').update(String(draw)).digest('hex'));

function tiedIds(of: PositionResult): string[] {
  return of.candidates.filter(({ tied }) => tied).map(({ id }) => id);
}

/** a wins outright; b, c and d share the second of two seats; e is below them. */
const VOTES = markings('5 a, 3 b, 3 c, 3 d, 1 e');

describe('a tie for the last seat', () => {
  test('joint: all who share it win, even beyond the number of seats', () => {
    const won = result(position('plurality', 5, { seats: 2 }), VOTES);
    expect(won.winners).toEqual(['a', 'b', 'c', 'd']);
    expect(won.tie).toEqual({ candidateIds: ['b', 'c', 'd'], policy: 'joint', seed: null });
    expect(tiedIds(won)).toEqual(['b', 'c', 'd']);
  });

  test('candidate_order: the first by sort order wins, and equal sort orders go by id', () => {
    const rows = [{}, { sortOrder: 9 }, { sortOrder: 7 }, { sortOrder: 7, id: 'aa' }, {}];
    const won = result(position('plurality', rows, { seats: 2, tieBreak: 'candidate_order' }), VOTES);
    expect(won.winners).toEqual(['a', 'aa']);
    expect(won.tie).toEqual({ candidateIds: ['aa', 'c', 'b'], policy: 'candidate_order', seed: null });
    expect(tiedIds(won)).toEqual(['b', 'c', 'aa']);
  });

  test('lot: the smallest SHA-256 of seed, log root and candidate id wins, with the seed in the result', () => {
    const won = result(position('plurality', 5, { seats: 3, tieBreak: 'lot' }), VOTES, { seed: SEED });
    expect(won.winners).toEqual(['a', ...lotOrder(SEED, ['b', 'c', 'd']).slice(0, 2)]);
    expect(won.tie).toEqual({ candidateIds: ['b', 'c', 'd'], policy: 'lot', seed: SEED });
    expect(tiedIds(won)).toEqual(['b', 'c', 'd']);
  });

  test('lot: seeds in upper and lower case are the same bytes', () => {
    const of = position('plurality', 5, { seats: 2, tieBreak: 'lot' });
    const upper = result(of, VOTES, { seed: SEED.toUpperCase() });
    expect(upper.winners).toEqual(result(of, VOTES, { seed: SEED }).winners);
  });

  test('lot: over many seeds every one of the tied gets lucky', () => {
    const lucky = new Set<string>();
    for (const seed of someSeeds(40)) {
      const won = result(position('plurality', 5, { seats: 2, tieBreak: 'lot' }), VOTES, { seed });
      lucky.add(won.winners[1] ?? 'nobody');
    }
    expect([...lucky].sort()).toEqual(['b', 'c', 'd']);
  });

  test('lot, before the result is final: the tied are shown as tied, and none of them as a winner', () => {
    const won = result(position('plurality', 5, { seats: 2, tieBreak: 'lot' }), VOTES);
    expect(won.winners).toEqual(['a']);
    expect(won.tie).toEqual({ candidateIds: ['b', 'c', 'd'], policy: 'lot', seed: null });
    expect(tiedIds(won)).toEqual(['b', 'c', 'd']);
    expect(won).toMatchObject({ vacantSeats: 0, runnerUp: null });
  });

  test('lot: the root of the log changes the order, so that the seed alone tells nobody who wins', () => {
    const count = counted(position('plurality', 5, { seats: 2, tieBreak: 'lot' }), VOTES);
    const lucky = someSeeds(20).map((root) => count.report({ ...PLAIN, lot: { seed: SEED, root } }).winners[1]);
    expect(new Set(lucky)).toEqual(new Set(['b', 'c', 'd']));
  });

  test('a seed that is no hexadecimal is refused', () => {
    expect(() => result(position('plurality', 5, { tieBreak: 'lot' }), VOTES, { seed: 'not hex' })).toThrow(
      'hexadecimal',
    );
  });

  test('equal candidates who all have a seat, or all have none, are no tie', () => {
    const all = result(position('plurality', 5, { seats: 4 }), VOTES);
    expect(all).toMatchObject({ winners: ['a', 'b', 'c', 'd'], tie: null });
    const none = result(position('plurality', 5, { seats: 1 }), VOTES);
    expect(none).toMatchObject({ winners: ['a'], tie: null });
    expect([tiedIds(all), tiedIds(none)]).toEqual([[], []]);
  });

  test('a tie is by weight: equal heads of different weight are none', () => {
    const won = result(
      position('plurality', 2),
      [
        [marks('a'), 2, 1_000_000n],
        [marks('b'), 2, 1_000_001n],
      ],
      { wholeWeights: false },
    );
    expect(won).toMatchObject({ winners: ['b'], tie: null });
  });
});

describe('a tie for an elimination', () => {
  /** b and c share the lowest place in round 1, when there is no earlier round to look at. */
  const FIRST_ROUND = rankings('5 ab, 2 ba, 2 cb, 3 d');

  test.each([
    ['joint', true],
    ['lot', true],
    ['candidate_order', false],
  ] as const)(
    '%s, before the lot is drawn: the last in candidate order goes out, provisionally: %s',
    (tieBreak, provisional) => {
      const won = result(position('ranked_choice', 4, { tieBreak }), FIRST_ROUND);
      expect(won.rounds?.[0]).toMatchObject({
        eliminated: ['c'],
        tie: { candidateIds: ['b', 'c'], policy: 'candidate_order', seed: null },
        provisional,
      });
      expect(won.rounds?.slice(1).map((round) => round.provisional)).not.toContain(true);
      expect(won.tie).toBeNull();
    },
  );

  test.each(['joint', 'lot'] as const)('%s: the last in the order of the lot goes out', (tieBreak) => {
    const out = new Set<string | undefined>();
    for (const seed of someSeeds(20)) {
      const won = result(position('ranked_choice', 4, { tieBreak }), FIRST_ROUND, { seed });
      expect(won.rounds?.[0]?.eliminated).toEqual(lotOrder(seed, ['b', 'c']).slice(1));
      expect(won.rounds?.[0]).toMatchObject({
        tie: { candidateIds: ['b', 'c'], policy: 'lot', seed },
        provisional: false,
      });
      out.add(won.rounds?.[0]?.eliminated[0]);
    }
    expect(out).toEqual(new Set(['b', 'c']));
  });

  test('candidate_order: the candidate order decides, whatever the lot would say', () => {
    for (const seed of someSeeds(10)) {
      const won = result(position('ranked_choice', 4, { tieBreak: 'candidate_order' }), FIRST_ROUND, { seed });
      expect(won.rounds?.[0]).toMatchObject({ eliminated: ['c'], tie: { policy: 'candidate_order', seed: null } });
    }
  });

  test('the latest round in which the tied differ decides, not the earliest', () => {
    // Round 1: b 4, c 3. d's ballots make it b 4, c 5 in round 2, and e's make it 6 each in round 3.
    const votes = rankings('9 a, 4 b, 3 c, 2 dc, 2 eb, 1 ec');
    const won = result(position('ranked_choice', 5), votes, { seed: SEED });
    expect(won.rounds?.map(({ eliminated }) => eliminated)).toEqual([['d'], ['e'], ['b'], []]);
    expect(won.rounds?.[2]?.tie).toMatchObject({ policy: 'earlier_round' });
  });

  test('the latest earlier round in which the tied differ decides, whatever the policy', () => {
    // Round 1: a 6, b 4, c 3, d 1. d's ballot goes to c, so b and c tie with 4 in round 2.
    const votes = rankings('6 a, 4 b, 3 c, 1 dc');
    for (const tieBreak of ['joint', 'candidate_order', 'lot'] as const) {
      const won = result(position('ranked_choice', [{}, { sortOrder: 99 }, {}, {}], { tieBreak }), votes, {
        seed: SEED,
      });
      expect(won.rounds?.[1]).toMatchObject({
        eliminated: ['c'],
        tie: { candidateIds: ['c', 'b'], policy: 'earlier_round', seed: null },
      });
    }
  });

  test('a round in which the tied were equal is passed over for the one before', () => {
    // Round 1: a 8, b 4, c 3, d 1, e 1. e's ballot makes c equal to b in round 2, and d's, out next, is exhausted.
    const votes = rankings('8 a, 4 b, 3 c, 1 d, 1 ec');
    const won = result(position('ranked_choice', [{}, { sortOrder: 99 }, {}, {}, { sortOrder: 100 }]), votes);
    expect(won.rounds?.map(({ eliminated }) => eliminated)).toEqual([['e'], ['d'], ['c'], []]);
    expect(won.rounds?.[2]?.tie).toEqual({ candidateIds: ['c', 'b'], policy: 'earlier_round', seed: null });
  });

  test('earlier rounds that leave several lowest narrow the tie, and the order decides among those left', () => {
    // Round 1: a 9, b 4, c 3, d 3, e 2. e's ballots make b, c and d 4 each; c and d were lower before.
    const votes = rankings('9 a, 4 b, 3 c, 3 d, 1 ec, 1 ed');
    const won = result(position('ranked_choice', 5, { tieBreak: 'candidate_order' }), votes);
    expect(won.rounds?.[1]).toMatchObject({
      eliminated: ['d'],
      tie: { candidateIds: ['b', 'c', 'd'], policy: 'candidate_order', seed: null },
    });
  });
});
