import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { PositionResult, Round } from '#src/tally/position-result.ts';
import { position, ranking, rankings, result, scaled, type Votes, votesOf, WHOLE, weightsOf } from './counting.ts';

function tallies(round: Round | undefined): Record<string, string> {
  return Object.fromEntries((round?.tallies ?? []).map(({ candidateId, weightWon }) => [candidateId, weightWon]));
}

function round(of: PositionResult, number: number): Round | undefined {
  return of.rounds?.[number - 1];
}

describe('one surplus', () => {
  // Quota floor(15 / 3) + 1 = 6. a's surplus of 3 passes at floor(100000 × 3 / 9) = 0.33333 a ballot.
  const VOTES: Votes = rankings('6 ab, 3 ac, 2 b, 4 c, 1 -');
  const won = result(position('ranked_choice', 3, { seats: 2 }), VOTES);

  test('the quota is the whole number above a share of seats plus one of the ballots that rank somebody', () => {
    expect(won.rounds?.map(({ threshold }) => threshold)).toEqual(['6', '6', '6']);
  });

  test('it passes on at five decimals cut down, and what is cut off is told apart from what is exhausted', () => {
    expect(round(won, 1)).toMatchObject({
      elected: ['a'],
      eliminated: [],
      exhausted: '0',
      transfers: [
        { from: 'a', to: 'b', weight: '1.99998' },
        { from: 'a', to: 'c', weight: '0.99999' },
      ],
      roundingLoss: '0',
      tie: null,
    });
    expect(tallies(round(won, 2))).toEqual({ a: '6', b: '3.99998', c: '4.99999' });
    expect(round(won, 2)).toMatchObject({ exhausted: '0', roundingLoss: '0.00003' });
  });

  test('without a surplus the lowest is eliminated, and its ballots pass on at the value they have', () => {
    expect(round(won, 2)).toMatchObject({ eliminated: ['b'], transfers: [{ from: 'b', to: null, weight: '3.99998' }] });
  });

  test('when no more continue than seats are open, they are elected below the quota', () => {
    expect(round(won, 3)).toMatchObject({
      elected: ['c'],
      exhausted: '3.99998',
      roundingLoss: '0.00003',
      transfers: [],
    });
    expect(won.winners).toEqual(['a', 'c']);
    expect(won.rounds).toHaveLength(3);
  });

  test('votes won are the last tallies, cut down to whole votes; the elected stay at the quota', () => {
    expect(votesOf(won)).toEqual({ a: 6, b: 3, c: 4 });
    expect(weightsOf(won)).toEqual({ a: '6', b: '3.99998', c: '4.99999' });
    expect(won).toMatchObject({ totalVotes: 15, ballots: 15, abstentions: 1 });
  });
});

describe('several surpluses', () => {
  test('all who reach the quota are elected at once, and the largest surplus passes on first, one a round', () => {
    // 24 ballots, 3 seats, quota 7: a 10, b 8, c 3, d 2, e 1.
    const votes: Votes = rankings('10 ac, 8 bad, 3 c, 2 d, 1 e');
    const won = result(position('ranked_choice', 5, { seats: 3 }), votes);
    expect(round(won, 1)).toMatchObject({ elected: ['a', 'b'], transfers: [{ from: 'a', to: 'c', weight: '3' }] });
    expect(tallies(round(won, 2))).toEqual({ a: '7', b: '8', c: '6', d: '2', e: '1' });
    // b's ballots pass a by, who is elected: 8 × floor(100000 / 8) = 8 × 0.125.
    expect(round(won, 2)).toMatchObject({ elected: [], transfers: [{ from: 'b', to: 'd', weight: '1' }] });
    expect(tallies(round(won, 3))).toEqual({ a: '7', b: '7', c: '6', d: '3', e: '1' });
    expect(round(won, 3)?.eliminated).toEqual(['e']);
    expect(round(won, 4)?.eliminated).toEqual(['d']);
    expect(round(won, 5)).toMatchObject({ elected: ['c'], exhausted: '4' });
  });

  test('a ballot that passes twice is worth the fraction of its fraction, cut down again', () => {
    // 14 ballots, 3 seats, quota 4: a's 7 pass on at 0.42857, so b holds 3 + 7 × 0.42857 = 5.99999.
    const votes: Votes = rankings('7 abc, 3 b, 2 c, 2 d');
    const won = result(position('ranked_choice', 4, { seats: 3 }), votes);
    expect(round(won, 1)?.threshold).toBe('4');
    expect(tallies(round(won, 2))).toEqual({ a: '4', b: '5.99999', c: '2', d: '2' });
    // floor(42857 × 1.99999 / 5.99999) = 14285, and 7 × 0.14285 = 0.99995. b's own three: 33333 each, exhausted.
    expect(round(won, 2)?.transfers).toEqual([
      { from: 'b', to: 'c', weight: '0.99995' },
      { from: 'b', to: null, weight: '0.99999' },
    ]);
    expect(tallies(round(won, 3))).toEqual({ a: '4', b: '4', c: '2.99995', d: '2' });
    expect(won.winners).toEqual(['a', 'b', 'c']);
  });

  test('equal surpluses: the larger in the latest earlier round in which they differ passes on first', () => {
    // 30 ballots, 3 seats, quota 8. e goes out first, and brings a from 7 and b from 6 to 9 each.
    const votes: Votes = rankings('7 ac, 6 bd, 6 c, 6 d, 2 ea, 3 eb');
    const won = result(position('ranked_choice', [{ sortOrder: 9 }, {}, {}, {}, {}], { seats: 3 }), votes);
    expect(round(won, 1)?.eliminated).toEqual(['e']);
    expect(round(won, 2)).toMatchObject({
      elected: ['b', 'a'],
      transfers: [
        { from: 'a', to: 'c', weight: '0.77777' },
        { from: 'a', to: null, weight: '0.22222' },
      ],
      tie: { candidateIds: ['b', 'a'], policy: 'earlier_round', seed: null },
    });
  });

  test('equal surpluses that always were equal go by candidate order, or by the lot where it is drawn', () => {
    // 20 ballots, 3 seats, quota 6: a and b hold 8 each.
    const votes: Votes = rankings('8 ac, 8 bd, 2 c, 2 d');
    const rows = [{ sortOrder: 9 }, {}, {}, {}];
    const ordered = result(position('ranked_choice', rows, { seats: 3, tieBreak: 'candidate_order' }), votes);
    expect(round(ordered, 1)).toMatchObject({
      elected: ['b', 'a'],
      transfers: [{ from: 'b', to: 'd', weight: '2' }],
      tie: { candidateIds: ['b', 'a'], policy: 'candidate_order', seed: null },
    });
    const early = result(position('ranked_choice', rows, { seats: 3 }), votes);
    expect(round(early, 1)).toMatchObject({ tie: { policy: 'candidate_order' }, provisional: true });
    const firsts = new Set<string | undefined>();
    for (let draw = 0; draw < 20; draw += 1) {
      const seed = createHash('sha256').update(String(draw)).digest('hex');
      const drawn = result(position('ranked_choice', rows, { seats: 3, tieBreak: 'lot' }), votes, { seed });
      expect(round(drawn, 1)?.tie).toEqual({ candidateIds: ['b', 'a'], policy: 'lot', seed });
      firsts.add(round(drawn, 1)?.transfers[0]?.from);
    }
    expect(firsts).toEqual(new Set(['a', 'b']));
  });
});

describe('a tie for the last seat', () => {
  // 13 ballots, 2 seats, quota 5: a has its seat without a surplus, b and c share the lowest place for the other.
  const VOTES: Votes = rankings('5 a, 4 b, 4 c');

  test('joint: both win, beyond the number of seats', () => {
    const won = result(position('ranked_choice', 3, { seats: 2 }), VOTES);
    expect(won.winners).toEqual(['a', 'b', 'c']);
    expect(won.tie).toEqual({ candidateIds: ['b', 'c'], policy: 'joint', seed: null });
    expect(won.candidates.map(({ tied }) => tied)).toEqual([false, true, true]);
    expect(won.rounds).toHaveLength(1);
    expect(round(won, 1)).toMatchObject({ elected: ['a', 'b', 'c'], eliminated: [], tie: won.tie });
  });

  test('candidate_order: the last goes out, and the other is elected in the next round', () => {
    const rows = [{}, { sortOrder: 5 }, {}];
    const won = result(position('ranked_choice', rows, { seats: 2, tieBreak: 'candidate_order' }), VOTES);
    expect(won.winners).toEqual(['a', 'c']);
    expect(won.tie).toEqual({ candidateIds: ['c', 'b'], policy: 'candidate_order', seed: null });
    expect(round(won, 1)).toMatchObject({ elected: ['a'], eliminated: ['b'], tie: won.tie });
    expect(round(won, 2)).toMatchObject({ elected: ['c'], tie: null });
  });

  test('lot: the same by the lot, and nobody of the tied elected before it is drawn', () => {
    const of = position('ranked_choice', 3, { seats: 2, tieBreak: 'lot' });
    const seed = 'ab'.repeat(32);
    const drawn = result(of, VOTES, { seed });
    expect(drawn.winners).toHaveLength(2);
    expect(drawn.tie).toEqual({ candidateIds: ['b', 'c'], policy: 'lot', seed });
    const open = result(of, VOTES);
    expect(open.winners).toEqual(['a']);
    expect(open.candidates.map(({ tied }) => tied)).toEqual([false, true, true]);
    expect(open.tie).toEqual({ candidateIds: ['b', 'c'], policy: 'lot', seed: null });
  });
});

describe('edges', () => {
  test('with no more candidates than seats all are elected at once, even one without a vote', () => {
    const won = result(position('ranked_choice', 3, { seats: 5 }), rankings('3 b, 1 a'));
    expect(won).toMatchObject({ winners: ['b', 'a', 'c'], rounds: [{ threshold: '1', elected: ['b', 'a', 'c'] }] });
  });

  test('a withdrawn candidate is neither elected nor counted in the quota', () => {
    const rows = [{ withdrawn: true }, {}, {}, {}];
    const votes: Votes = rankings('9 a, 2 ab, 2 c, 1 d');
    const won = result(position('ranked_choice', rows, { seats: 2 }), votes);
    expect(round(won, 1)).toMatchObject({ threshold: '2', elected: ['b', 'c'], exhausted: '9' });
    expect(won.winners).toEqual(['b', 'c']);
  });

  test('fractional weights are counted exactly, and votes won in heads', () => {
    // Weight 12.000002 for 2 seats: more than 4.00000066… elects a with 7.5, and b at once with 3 + what passes on.
    const votes: Votes = [
      [ranking('ab'), 5, 1_500_000n],
      [ranking('b'), 3, 1_000_000n],
      [ranking('c'), 1, 1_500_002n],
    ];
    const won = result(position('ranked_choice', 3, { seats: 2 }), votes, { wholeWeights: false });
    // The surplus is 7.5 − 4.000000666… = 3.499999333…, so a ballot passes at floor(100000 × 0.46666657…) = 0.46666.
    expect(round(won, 1)).toMatchObject({
      threshold: '4.00000066666',
      elected: ['a'],
      transfers: [{ from: 'a', to: 'b', weight: '3.49995' }],
    });
    // Heads: a keeps 5 − 5 × 0.46666, b has 3 + 5 × 0.46666.
    expect(round(won, 2)).toMatchObject({
      tallies: [
        { candidateId: 'a', votesWon: 2, weightWon: '4.00000066666' },
        { candidateId: 'b', votesWon: 5, weightWon: '6.49995' },
        { candidateId: 'c', votesWon: 1, weightWon: '1.500002' },
      ],
      exhausted: '0',
      roundingLoss: '0.00004933334',
    });
    expect(won.winners).toEqual(['a', 'b']);
  });
});

describe('the unit of the weights', () => {
  const SHARES: Votes = [
    [ranking('ab'), 1, 38n],
    [ranking('b'), 1, 30n],
    [ranking('c'), 1, 32n],
  ];
  const inUnits = (unit: bigint): PositionResult => {
    const votes = SHARES.map(([ballot, heads, weight = 1n]) => [ballot, heads, weight * unit] as const);
    return result(position('ranked_choice', 3, { seats: 2 }), votes, { wholeWeights: unit >= WHOLE });
  };

  test.each([10_000n, WHOLE, 100n * WHOLE])('changes no winner and no round: %s millionths', (unit) => {
    const won = inUnits(unit);
    expect(won.winners).toEqual(inUnits(WHOLE).winners);
    expect(won.rounds?.map(({ elected, eliminated }) => [elected, eliminated])).toEqual(
      inUnits(WHOLE).rounds?.map(({ elected, eliminated }) => [elected, eliminated]),
    );
  });

  test('a tally that only reaches the exact quota does not elect', () => {
    const votes: Votes = [
      [ranking('a'), 1, 2n * WHOLE],
      [ranking('b'), 1, 2n * WHOLE],
      [ranking('c'), 1, 2n * WHOLE],
    ];
    const won = result(position('ranked_choice', 3, { seats: 2, tieBreak: 'candidate_order' }), votes);
    expect(round(won, 1)).toMatchObject({ threshold: '2', elected: [], eliminated: ['c'] });
    expect(won.winners).toEqual(['a', 'b']);
  });

  test('where every weight is 1 the quota is whole, and reaching it elects', () => {
    const votes: Votes = rankings('3 a, 3 b, 2 c');
    expect(round(result(position('ranked_choice', 3, { seats: 2 }), votes), 1)).toMatchObject({
      threshold: '3',
      elected: ['a', 'b'],
    });
  });
});

test('tallies, others, exhausted and rounding loss make up the same weight in every round', () => {
  const candidates = 7;
  const votes: Votes = Array.from({ length: 60 }, (_, ballot) => {
    const names = [...'abcdefg'].toSorted(
      (one, other) => ((one.charCodeAt(0) * (ballot + 3)) % 11) - ((other.charCodeAt(0) * (ballot + 3)) % 11),
    );
    return [ranking(names.slice(0, 1 + (ballot % candidates)).join('')), 1, 1_234_567n + BigInt(ballot)] as const;
  });
  const won = result(position('ranked_choice', candidates, { seats: 3 }), votes, { wholeWeights: false });
  const sums = won.rounds?.map(
    (one) =>
      one.tallies.reduce((sum, { weightWon }) => sum + scaled(weightWon), 0n) +
      scaled(one.exhausted) +
      scaled(one.roundingLoss),
  );
  expect(sums?.length).toBeGreaterThan(3);
  expect(new Set(sums).size).toBe(1);
  expect(won.rounds?.some(({ roundingLoss }) => roundingLoss !== '0')).toBe(true);
});
