import { describe, expect, test } from 'vitest';
import {
  counted,
  markings,
  marks,
  PLAIN,
  position,
  ranking,
  rankings,
  result,
  type Votes,
  values,
  WHOLE,
} from './counting.ts';

const HALF = { numerator: 1, denominator: 2 };

describe('a required majority', () => {
  const VOTES: Votes = markings('4 a, 3 b, 2 c, 1 d');

  test('below it nobody wins, and the two best go into a runoff', () => {
    const won = result(position('plurality', 4, { majorityRequired: HALF }), VOTES);
    expect(won).toMatchObject({ winners: [], vacantSeats: 1, runoff: ['a', 'b'], runnerUp: 'a', tie: null });
  });

  test('it must be exceeded: exactly half of the answering weight is too little', () => {
    const level: Votes = markings('3 a, 2 b, 1 c, 4 -');
    expect(result(position('plurality', 3, { majorityRequired: HALF }), level).winners).toEqual([]);
    const more: Votes = [[marks('a'), 4], ...level.slice(1)];
    expect(result(position('plurality', 3, { majorityRequired: HALF }), more)).toMatchObject({
      winners: ['a'],
      runoff: null,
    });
  });

  test('all who are level with the second go into the runoff', () => {
    const votes: Votes = markings('4 a, 3 b, 3 c, 1 d');
    expect(result(position('plurality', 4, { majorityRequired: HALF }), votes).runoff).toEqual(['a', 'b', 'c']);
  });

  test('in approval it is a share of the ballots, and each seat needs it', () => {
    const votes: Votes = markings('5 ab, 2 bc, 3 d');
    const won = result(position('approval', 4, { seats: 3, majorityRequired: HALF }), votes);
    expect(won).toMatchObject({ winners: ['b'], vacantSeats: 2, runoff: ['a', 'd', 'c'] });
  });
});

describe('vacant seats', () => {
  test('are those that nobody could be elected to', () => {
    const votes: Votes = markings('2 a, 1 b');
    expect(result(position('plurality', 2, { seats: 3 }), votes).vacantSeats).toBe(1);
    expect(result(position('ranked_choice', 2, { seats: 5 }), [[ranking('ab'), 1]]).vacantSeats).toBe(3);
    expect(result(position('plurality', 2, { seats: 2 }), votes).vacantSeats).toBe(0);
  });
});

describe('the margin', () => {
  test.each([
    ['a difference of one', 5, 4, '1'],
    ['an even difference, after which they are level', 8, 4, '2'],
    ['an odd one', 9, 4, '3'],
  ])('of a plurality is half of the difference, in whole votes: %s', (_, a, b, votes) => {
    const won = result(position('plurality', 3), [
      [marks('a'), a],
      [marks('b'), b],
    ]);
    expect(won.margin).toEqual({ votes, exact: true, bound: null });
  });

  test('by weight is a lower bound: not every weight can be moved', () => {
    const won = result(position('plurality', 2), [
      [marks('a'), 1, 3n * WHOLE],
      [marks('b'), 1, 2n * WHOLE],
    ]);
    expect(won.margin).toEqual({ votes: '0.5', exact: false, bound: 'lower' });
  });

  test('is none in a tie, one vote where a seat is vacant, and null where nobody else stands', () => {
    const tied: Votes = markings('2 a, 2 b');
    expect(result(position('plurality', 2), tied).margin).toEqual({ votes: '0', exact: true, bound: null });
    expect(result(position('plurality', 2, { seats: 2 }), [[marks('a'), 9]]).margin).toMatchObject({ votes: '1' });
    expect(result(position('plurality', 1), [[marks('a'), 9]]).margin).toBeNull();
    expect(result(position('plurality', 2), []).margin).toBeNull();
  });

  test('counts the votes that a required majority is exceeded or missed by', () => {
    const of = position('plurality', 3, { majorityRequired: HALF });
    // 6 of 11: one less is not more than half. 5 of 11: one more is.
    const won = result(of, markings('6 a, 5 b'));
    expect(won.margin).toMatchObject({ votes: '1', exact: true });
    const missed = result(of, markings('4 a, 4 b, 3 c'));
    expect(missed.margin).toMatchObject({ votes: '2', exact: true });
  });

  test('of scores and quadratic votes is a lower bound, of points exact', () => {
    const votes: Votes = [[values({ a: 5, b: 1 }), 2]];
    expect(result(position('score', 2), votes).margin).toEqual({ votes: '4', exact: false, bound: 'lower' });
    expect(result(position('quadratic', 2), votes).margin).toEqual({ votes: '4', exact: false, bound: 'lower' });
    expect(result(position('cumulative', 2), votes).margin).toEqual({ votes: '4', exact: true, bound: null });
  });

  test('of an instant runoff is at most half of what the last two are apart', () => {
    const won = result(position('ranked_choice', 3), rankings('5 a, 2 ba, 1 cb'));
    expect(won.finalTwo).toEqual([
      { candidateId: 'a', votesWon: 5, weightWon: '5' },
      { candidateId: 'b', votesWon: 3, weightWon: '3' },
    ]);
    expect(won.margin).toEqual({ votes: '1', exact: false, bound: 'upper' });
    expect(won.runnerUp).toBe('b');
    expect(won.rounds).toHaveLength(1);
  });

  test('of a referendum is the change of answers after which it comes out otherwise', () => {
    const rules = {
      threshold: { numerator: 2, denominator: 3, inclusive: false, base: 'yes_no' as const },
      turnoutQuorum: null,
      approvalQuorum: null,
    };
    const of = position('referendum', [{ referendumRole: 'yes' }, { referendumRole: 'no' }], { rules });
    const outcome = (yes: number, no: number) =>
      result(of, [
        [marks('a'), yes],
        [marks('b'), no],
      ]);
    expect(outcome(9, 2)).toMatchObject({ referendum: { outcome: 'passed' }, margin: { votes: '2', exact: true } });
    expect(outcome(8, 4)).toMatchObject({ referendum: { outcome: 'rejected' }, margin: { votes: '1', exact: true } });
  });
});

describe('pairs', () => {
  test('who is preferred to every other is named, though somebody else is elected', () => {
    // c is everybody's second choice and has the fewest first ones.
    const won = result(position('ranked_choice', 3), rankings('4 acb, 3 bca, 2 c'));
    expect(won.pairwise).toEqual({
      candidateIds: ['a', 'b', 'c'],
      table: [
        ['0', '4', '4'],
        ['3', '0', '3'],
        ['5', '6', '0'],
      ],
      condorcetWinner: 'c',
    });
    expect(won.winners).toEqual(['a']);
  });

  test('a circle has no such winner, and above fifty candidates there is no table', () => {
    const circle = result(position('ranked_choice', 3), rankings('1 abc, 1 bca, 1 cab'));
    expect(circle.pairwise?.condorcetWinner).toBeNull();
    expect(result(position('ranked_choice', 51), [[ranking('a'), 1]]).pairwise).toBeNull();
    expect(result(position('ranked_choice', 50), [[ranking('a'), 1]]).pairwise).not.toBeNull();
  });

  test('are exact beyond what a plain number holds', () => {
    const huge = 10n ** 15n + 1n;
    const won = result(
      position('ranked_choice', 2),
      [
        [ranking('ab'), 1_000_000, huge],
        [ranking('b'), 1, 1n],
      ],
      { wholeWeights: false },
    );
    expect(won.pairwise?.table).toEqual([
      ['0', '1000000000000001'],
      ['0.000001', '0'],
    ]);
  });
});

test('first choices pass withdrawn candidates over, and leave out who has none', () => {
  const won = result(position('ranked_choice', [{ withdrawn: true }, {}, {}]), rankings('2 ab, 1 b'));
  expect(won.firstChoices).toEqual([{ candidateId: 'b', votesWon: 3, weightWon: '3' }]);
});

describe('rounds of many candidates', () => {
  const many = (candidates: number) => ({
    of: position(
      'ranked_choice',
      Array.from({ length: candidates }, (_, index) => ({ id: `c${String(index).padStart(4, '0')}` })),
    ),
    votes: [
      [{ length: 1, candidates: [0], values: [1] }, 1],
      [{ length: 1, candidates: [candidates - 1], values: [1] }, 1],
    ] as Votes,
  });

  test('a round lists at most two hundred, the highest, and sums up the others', () => {
    const { of, votes } = many(201);
    const [first] = counted(of, votes).rounds(PLAIN, 1).rounds;
    expect(first?.tallies).toHaveLength(200);
    expect(first?.tallies.map(({ candidateId }) => candidateId)).toContain('c0200');
    expect(first?.others).toEqual({ candidates: 1, votesWon: 0, weightWon: '0' });
    expect(first?.transfers).toEqual([]);
  });

  test('up to two thousand tallies stand in the result, more are read in pages that have every round once', () => {
    const few = many(62);
    expect(result(few.of, few.votes)).toMatchObject({ roundsOmitted: false });
    const { of, votes } = many(300);
    const count = counted(of, votes);
    expect(count.report(PLAIN)).toMatchObject({ rounds: null, roundsOmitted: true });
    const numbers: number[] = [];
    for (let from: number | null = 1; from !== null; ) {
      const page = count.rounds(PLAIN, from);
      const tallies = page.rounds.reduce((sum, round) => sum + round.tallies.length, 0);
      expect(tallies).toBeLessThanOrEqual(2_000);
      expect(page.rounds.length).toBeGreaterThan(0);
      numbers.push(...page.rounds.map(({ round }) => round));
      from = page.nextRound;
    }
    expect(numbers).toEqual(Array.from({ length: 299 }, (_, index) => index + 1));
  });
});
