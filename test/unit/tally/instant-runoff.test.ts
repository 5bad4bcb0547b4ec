import { describe, expect, test } from 'vitest';
import { scaledToDecimal } from '#src/platform/decimal.ts';
import type { Round } from '#src/tally/position-result.ts';
import { position, ranking, rankings, result, type Votes, values, votesOf, WHOLE, weightsOf } from './counting.ts';

/** One vote a weight. */
const tally = (candidateId: string, votes: number) => ({ candidateId, votesWon: votes, weightWon: String(votes) });

/** A round in which nothing happens but what is said. */
const plain = (round: Partial<Round>) => ({
  ...{ round: 1, others: null, exhausted: '0', roundingLoss: '0', elected: [], eliminated: [], transfers: [] },
  ...{ tie: null, provisional: false },
  ...round,
});

function rounds(of: { rounds: readonly Round[] | null }): readonly Round[] {
  return of.rounds ?? [];
}

describe('instant runoff', () => {
  const VOTES: Votes = rankings('4 abc, 3 bca, 1 cba, 1 c, 2 -');

  test('eliminates the lowest until somebody has more than half of the ballots still active', () => {
    const won = result(position('ranked_choice', 3), VOTES);
    expect(won.rounds).toEqual([
      plain({
        ...{ threshold: '5', tallies: [tally('a', 4), tally('b', 3), tally('c', 2)], eliminated: ['c'] },
        transfers: [
          { from: 'c', to: 'b', weight: '1' },
          { from: 'c', to: null, weight: '1' },
        ],
      }),
      plain({
        ...{ round: 2, threshold: '5', tallies: [tally('a', 4), tally('b', 4)], exhausted: '1', elected: ['a', 'b'] },
        tie: { candidateIds: ['a', 'b'], policy: 'joint', seed: null },
      }),
    ]);
  });

  test('votes won are those of the last round in which the candidate stood; total votes are the ballots that ranked', () => {
    const won = result(position('ranked_choice', 3), VOTES);
    expect(votesOf(won)).toEqual({ a: 4, b: 4, c: 2 });
    expect(won).toMatchObject({ totalVotes: 9, ballots: 9, abstentions: 2 });
  });

  test('the majority is of the active ballots, not of all', () => {
    const won = result(position('ranked_choice', 3), rankings('4 a, 3 b, 2 c'));
    expect(rounds(won)[1]).toMatchObject({ threshold: '4', elected: ['a'], exhausted: '2' });
  });

  test('it stops at a majority, with candidates left standing', () => {
    const won = result(position('ranked_choice', 4), rankings('4 a, 2 bc, 1 cb'));
    expect(rounds(won)).toHaveLength(1);
    expect(won).toMatchObject({ winners: ['a'], tie: null });
  });

  test('candidates without a vote go out one at a time like any other', () => {
    const won = result(position('ranked_choice', 5), rankings('2 a, 2 b, 1 c'));
    expect(rounds(won).map(({ eliminated }) => eliminated)).toEqual([['e'], ['d'], ['c'], []]);
  });

  test.each([
    ['joint', ['a', 'b'], null],
    ['candidate_order', ['b'], null],
  ] as const)('a tie between the last two goes by the policy: %s', (tieBreak, winners, seed) => {
    // Round 1 told them apart; a tie for the seat does not look back at it.
    const votes: Votes = rankings('5 a, 4 b, 1 cb');
    const won = result(position('ranked_choice', [{ sortOrder: 5 }, {}, {}], { tieBreak }), votes, { seed });
    expect(won.winners.toSorted()).toEqual(winners);
    expect(won.tie).toEqual({ candidateIds: ['b', 'a'], policy: tieBreak, seed: null });
    expect(won.candidates.map(({ tied }) => tied)).toEqual([true, true, false]);
    expect(rounds(won).at(-1)?.tie).toEqual(won.tie);
  });

  test('a lone candidate whom somebody ranked wins in one round', () => {
    const won = result(position('ranked_choice', 1), [[ranking('a'), 1]]);
    expect(won).toMatchObject({ winners: ['a'], rounds: [{ threshold: '1', elected: ['a'] }] });
  });
});

describe('rankings', () => {
  test('gaps in the ranks close, and the order of the entries does not matter', () => {
    const votes: Votes = [
      [values({ a: 2, b: 7, c: 3 }), 1],
      [values({ b: 40, c: 2, a: 1 }), 1],
      [ranking('acb'), 1],
      [ranking('b'), 2],
    ];
    expect(result(position('ranked_choice', 3), votes)).toEqual(
      result(position('ranked_choice', 3), rankings('3 acb, 2 b')),
    );
  });

  test('a withdrawn candidate is passed over, and has no place in the rounds', () => {
    const won = result(position('ranked_choice', [{}, { withdrawn: true }, {}]), rankings('3 bca, 2 a, 4 b'));
    expect(rounds(won)).toEqual([
      plain({ threshold: '3', tallies: [tally('a', 2), tally('c', 3)], exhausted: '4', elected: ['c'] }),
    ]);
    expect(votesOf(won)).toEqual({ a: 2, b: 0, c: 3 });
    expect(won).toMatchObject({ totalVotes: 9, ballots: 9, winners: ['c'] });
  });

  test('where every ranked candidate is withdrawn there are no rounds and no winner', () => {
    for (const seats of [1, 2]) {
      const won = result(position('ranked_choice', [{ withdrawn: true }, {}, {}], { seats }), [[ranking('a'), 3]]);
      expect(won).toMatchObject({ winners: [], rounds: [], totalVotes: 3, ballots: 3 });
    }
  });
});

describe('weights', () => {
  test('the weight decides, in six decimals; votes won are heads where a weight is no whole number', () => {
    const votes: Votes = [
      [ranking('a'), 2, WHOLE],
      [ranking('b'), 1, 1_999_999n],
      [ranking('cb'), 1, 2n],
    ];
    const won = result(position('ranked_choice', 3), votes, { wholeWeights: false });
    expect(rounds(won)[1]).toMatchObject({
      threshold: '2.000001',
      elected: ['b'],
      tallies: [tally('a', 2), { candidateId: 'b', votesWon: 2, weightWon: '2.000001' }],
    });
    expect(won).toMatchObject({ winners: ['b'], totalVotes: 4 });
  });

  test('whole weights make weighted votes', () => {
    const won = result(position('ranked_choice', 2), [
      [ranking('a'), 2, 3n * WHOLE],
      [ranking('b'), 5],
    ]);
    expect(votesOf(won)).toEqual({ a: 6, b: 5 });
    expect(won).toMatchObject({ winners: ['a'], totalVotes: 11, ballots: 7, rounds: [{ threshold: '6' }] });
  });

  test('thousands of weights that fill a plain integer are added up to the last decimal', () => {
    const weights = Array.from({ length: 2_000 }, (_, index) => 2n ** 53n - 1n - BigInt(index * 2));
    const votes = weights.map((weight, index) => [ranking(index % 2 === 0 ? 'a' : 'ba'), 1, weight] as const);
    const won = result(position('ranked_choice', 3), [...votes, [ranking('ca'), 1, 1n]], { wholeWeights: false });
    const total = (parity: number): bigint =>
      weights.reduce((sum, weight, index) => (index % 2 === parity ? sum + weight : sum), 0n);
    expect(weightsOf(won)).toEqual({ a: scaledToDecimal(total(0), 6), b: scaledToDecimal(total(1), 6), c: '0.000001' });
  });

  test('weights too large for plain integers are added up to the last decimal', () => {
    const huge = 2n ** 80n + 1n;
    const votes: Votes = [
      [ranking('a'), 3, huge],
      [ranking('b'), 2, huge],
      [ranking('cb'), 1, huge + 1n],
    ];
    const won = result(position('ranked_choice', 3), votes, { wholeWeights: false });
    expect(won.winners).toEqual(['b']);
    expect(weightsOf(won)).toMatchObject({ a: '3626777458843887524.118531', b: '3626777458843887524.118532' });
  });
});
