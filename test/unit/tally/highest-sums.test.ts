import { describe, expect, test } from 'vitest';
import type { VotingMethod } from '#src/ballot-definition/types.ts';
import { CountRefused } from '#src/tally/exact.ts';
import type { PositionBallot } from '#src/tally/types.ts';
import {
  counted,
  markings,
  marks,
  PLAIN,
  position,
  ranking,
  result,
  values,
  votesOf,
  WHOLE,
  weightsOf,
} from './counting.ts';

const EMPTY = marks('');

describe('the highest sums win the seats', () => {
  test('plurality counts the ballots that marked a candidate', () => {
    const won = result(position('plurality', 3), markings('3 a, 4 b, 2 c'));
    expect(votesOf(won)).toEqual({ a: 3, b: 4, c: 2 });
    expect(won).toMatchObject({ winners: ['b'], totalVotes: 9, ballots: 9, abstentions: 0, tie: null, rounds: null });
    expect(won.candidates.map(({ winner }) => winner)).toEqual([false, true, false]);
  });

  test('approval counts every candidate on a ballot', () => {
    const won = result(position('approval', 3), markings('3 ab, 2 bc'));
    expect(votesOf(won)).toEqual({ a: 3, b: 5, c: 2 });
    expect(won).toMatchObject({ winners: ['b'], totalVotes: 10, ballots: 5 });
  });

  test('cumulative adds points', () => {
    const won = result(position('cumulative', 2), [
      [values({ a: 7, b: 3 }), 1],
      [values({ b: 10 }), 2],
    ]);
    expect(votesOf(won)).toEqual({ a: 7, b: 23 });
  });

  test('quadratic adds the votes, not the credits that they cost', () => {
    const won = result(position('quadratic', 2), [
      [values({ a: 3, b: 1 }), 1],
      [values({ b: 1 }), 3],
    ]);
    expect(votesOf(won)).toEqual({ a: 3, b: 4 });
    expect(won.winners).toEqual(['b']);
  });

  test('score gives candidates whom a ballot leaves out nothing', () => {
    const won = result(position('score', 2), [
      [values({ a: 5, b: 4 }), 1],
      [values({ b: 2 }), 1],
    ]);
    expect(votesOf(won)).toEqual({ a: 5, b: 6 });
  });

  test('several seats go to the highest, named highest first', () => {
    const won = result(position('approval', 4, { seats: 2 }), markings('2 bd, 1 d, 1 a'));
    expect(won.winners).toEqual(['d', 'b']);
  });

  test('votes won are weighted where every weight is whole, and heads otherwise', () => {
    const votes = [
      [marks('a'), 2, 3n * WHOLE],
      [marks('b'), 5, WHOLE],
    ] as const;
    const whole = result(position('plurality', 2), votes);
    expect(votesOf(whole)).toEqual({ a: 6, b: 5 });
    const heads = result(position('plurality', 2), votes, { wholeWeights: false });
    expect(votesOf(heads)).toEqual({ a: 2, b: 5 });
    expect(weightsOf(heads)).toEqual({ a: '6', b: '5' });
    expect([whole.winners, heads.winners]).toEqual([['a'], ['a']]);
    expect([whole.ballots, heads.ballots]).toEqual([7, 7]);
  });
});

describe('who wins nothing', () => {
  test.each(['plurality', 'approval', 'cumulative', 'quadratic', 'score', 'ranked_choice'] as const)(
    'a %s position that nobody answered has no winner and no tie',
    (method) => {
      const won = result(position(method, 2), [[EMPTY, 3]]);
      expect(won).toMatchObject({ winners: [], tie: null, totalVotes: 0, ballots: 0, abstentions: 3 });
    },
  );

  test('a candidate without a vote takes no seat, so a seat may stay empty', () => {
    const won = result(position('approval', 3, { seats: 2 }), [[marks('a'), 2]]);
    expect(won).toMatchObject({ winners: ['a'], tie: null });
  });

  test('a score of zero or below may win, because zero is a mark on the scale', () => {
    const won = result(position('score', 3), [[values({ a: -3, b: -1, c: -2 }), 2]]);
    expect(won).toMatchObject({ winners: ['b'], totalVotes: -12 });
    const notScored = result(position('score', 2), [[values({ a: -3 }), 1]]);
    expect(notScored.winners).toEqual(['b']);
  });

  test.each(['plurality', 'approval', 'cumulative', 'quadratic', 'score'] as const)(
    'a withdrawn candidate keeps its votes in %s and wins no seat',
    (method) => {
      const won = result(position(method, [{ withdrawn: true }, {}, {}]), markings('5 a, 2 b'));
      expect(won).toMatchObject({ winners: ['b'], totalVotes: 7, tie: null });
      expect(votesOf(won)).toEqual({ a: 5, b: 2, c: 0 });
    },
  );
});

describe('a ballot that its method forbids stops the count', () => {
  const forbidden: [string, VotingMethod, PositionBallot][] = [
    ['an overvoted plurality ballot', 'plurality', marks('ab')],
    ['an overvoted referendum ballot', 'referendum', marks('ab')],
    ['a mark of 2', 'approval', values({ a: 2 })],
    ['a mark of 0', 'plurality', values({ a: 0 })],
    ['half a point', 'cumulative', values({ a: 0.5 })],
    ['no votes', 'quadratic', values({ a: 0 })],
    ['votes against', 'quadratic', values({ a: -1 })],
    ['a fraction of a score', 'score', values({ a: 1.5 })],
    ['a score beyond exact numbers', 'score', values({ a: 2 ** 53 })],
    ['a candidate of nowhere', 'approval', marks('z')],
    ['a candidate twice', 'approval', { length: 2, candidates: [0, 0], values: [1, 1] }],
    ['a candidate ranked twice', 'ranked_choice', { length: 2, candidates: [0, 0], values: [1, 2] }],
    ['a rank twice', 'ranked_choice', { length: 3, candidates: [0, 1, 2], values: [1, 2, 2] }],
    ['a rank twice, out of order', 'ranked_choice', { length: 3, candidates: [0, 1, 2], values: [3, 1, 3] }],
    ['rank 0', 'ranked_choice', { length: 1, candidates: [0], values: [0] }],
    ['rank one and a half', 'ranked_choice', { length: 1, candidates: [0], values: [1.5] }],
    ['a missing value', 'score', { length: 1, candidates: [0], values: [] }],
  ];
  const rules = {
    threshold: { numerator: 1, denominator: 2, inclusive: false, base: 'yes_no' as const },
    turnoutQuorum: null,
    approvalQuorum: null,
  };

  test.each(forbidden)('%s is refused and leaves the count as it was', (_, method, ballot) => {
    const of = position(method, 3, { rules });
    const count = counted(of, [[method === 'ranked_choice' ? ranking('c') : marks('c'), 2]]);
    const before = count.report(PLAIN);
    expect(() => count.add(ballot, WHOLE)).toThrow(CountRefused);
    expect(count.report(PLAIN)).toEqual(before);
  });

  test.each([0n, -1n])('a weight of %s is refused', (weight) => {
    expect(() => counted(position('plurality', 1), [[marks('a'), 1, weight]])).toThrow(CountRefused);
  });

  test('a plurality position that allows two marks counts both of them', () => {
    const won = result(position('plurality', 3, { maxSelections: 2 }), markings('2 ab, 1 b'));
    expect(votesOf(won)).toEqual({ a: 2, b: 3, c: 0 });
    expect(() => counted(position('plurality', 3, { maxSelections: 2 }), [[marks('abc'), 1]])).toThrow(CountRefused);
  });

  test('more ballots taken out than added are noticed', () => {
    for (const method of ['plurality', 'ranked_choice'] as const) {
      const count = counted(position(method, 2), [[marks('a'), 1]]);
      count.add(marks('b'), WHOLE, -2);
      expect(() => count.report(PLAIN)).toThrow(CountRefused);
    }
  });

  test('a ranking taken out that nobody added is noticed, whatever else was added', () => {
    const count = counted(position('ranked_choice', 2), [[ranking('a'), 5]]);
    count.add(ranking('ba'), WHOLE, -1);
    expect(() => count.report(PLAIN)).toThrow(CountRefused);
  });
});
