import { describe, expect, test } from 'vitest';
import type { ReferendumRules } from '#src/ballot-definition/types.ts';
import type { PositionResult } from '#src/tally/position-result.ts';
import type { ReportOptions } from '#src/tally/types.ts';
import { markings, marks, position, result, type Votes, WHOLE } from './counting.ts';

const HALF = { numerator: 1, denominator: 2, inclusive: false, base: 'yes_no' } as const;
const TWO_THIRDS = { numerator: 2, denominator: 3, inclusive: true, base: 'yes_no' } as const;

const OPTIONS = [{ referendumRole: 'yes' }, { referendumRole: 'no' }, { referendumRole: 'abstain' }] as const;

function refer(
  votes: Votes,
  rules: Partial<ReferendumRules> = {},
  options: Partial<ReportOptions> = {},
): PositionResult {
  const all = { threshold: HALF, turnoutQuorum: null, approvalQuorum: null, ...rules };
  return result(position('referendum', OPTIONS, { rules: all }), votes, options);
}

function yesNo(yes: number, no: number, abstain = 0, empty = 0): Votes {
  return [
    [marks('a'), yes],
    [marks('b'), no],
    [marks('c'), abstain],
    [marks(''), empty],
  ];
}

describe('the threshold', () => {
  test('more than half of yes and no passes; abstaining is neither', () => {
    const passed = refer(yesNo(3, 2, 10, 4));
    expect(passed.referendum).toEqual({
      yes: '3',
      no: '2',
      abstain: '10',
      electorate: null,
      rules: [{ name: 'threshold', required: '1/2', actual: '3/5', met: true }],
      outcome: 'passed',
    });
    expect(passed).toMatchObject({ winners: ['a'], totalVotes: 15, ballots: 15, abstentions: 4, tie: null });
  });

  test('exactly half is not more than half: rejected, and no wins', () => {
    expect(refer(yesNo(5, 5))).toMatchObject({ winners: ['b'], tie: null, referendum: { outcome: 'rejected' } });
  });

  test('two thirds reached exactly pass where the rule is inclusive, and not where it is exclusive', () => {
    expect(refer(yesNo(2, 1), { threshold: TWO_THIRDS }).referendum?.outcome).toBe('passed');
    const exclusive = { ...TWO_THIRDS, inclusive: false };
    expect(refer(yesNo(2, 1), { threshold: exclusive }).referendum?.outcome).toBe('rejected');
  });

  test('a share that no division tells from two thirds is still below them', () => {
    const votes: Votes = [
      [marks('a'), 1, 2_000_000_000_000_000_000n - 1n],
      [marks('b'), 1, 1_000_000_000_000_000_000n],
    ];
    expect(refer(votes, { threshold: TWO_THIRDS }, { wholeWeights: false }).referendum?.outcome).toBe('rejected');
  });

  test('without a yes and a no it is not met, whatever is required', () => {
    const nothing = { numerator: 0, denominator: 1, inclusive: true, base: 'yes_no' } as const;
    expect(refer(yesNo(0, 0, 3), { threshold: nothing })).toMatchObject({
      winners: ['b'],
      referendum: { outcome: 'rejected', rules: [{ actual: '0/0', met: false }] },
    });
  });

  test('a referendum that nobody answered has no winner', () => {
    expect(refer(yesNo(0, 0, 0, 7))).toMatchObject({ winners: [], ballots: 0, abstentions: 7 });
  });
});

describe('the quorums', () => {
  const half = { ...HALF, inclusive: true };
  const ROLL = { electorateMicro: 20n * WHOLE };

  test('turnout counts every ballot, empty ones and abstaining ones too', () => {
    const met = refer(yesNo(3, 2, 4, 1), { turnoutQuorum: half }, ROLL);
    expect(met.referendum).toMatchObject({
      electorate: '20',
      outcome: 'passed',
      rules: [{ name: 'threshold' }, { name: 'turnout_quorum', required: '1/2', actual: '10/20', met: true }],
    });
    expect(refer(yesNo(3, 2, 4, 0), { turnoutQuorum: half }, ROLL)).toMatchObject({
      winners: [],
      referendum: { outcome: 'no_quorum' },
    });
    expect(refer(yesNo(3, 2, 4, 1), { turnoutQuorum: HALF }, ROLL).referendum?.outcome).toBe('no_quorum');
  });

  test('approval counts the yes votes against the whole roll', () => {
    const quorum = { approvalQuorum: half };
    expect(refer(yesNo(10, 2), quorum, ROLL).referendum).toMatchObject({
      outcome: 'passed',
      rules: [{ name: 'threshold' }, { name: 'approval_quorum', actual: '10/20', met: true }],
    });
    expect(refer(yesNo(9, 0, 11), quorum, ROLL).referendum?.outcome).toBe('no_quorum');
  });

  test('a missed quorum outweighs a rejection', () => {
    expect(refer(yesNo(1, 5), { turnoutQuorum: half }, ROLL)).toMatchObject({
      winners: [],
      referendum: { outcome: 'no_quorum' },
    });
  });

  test('without a roll, or with an empty one, a quorum is never met', () => {
    const anything = { numerator: 0, denominator: 1, inclusive: true };
    for (const electorateMicro of [null, 0n]) {
      const referendum = refer(yesNo(9, 1), { turnoutQuorum: anything }, { electorateMicro }).referendum;
      expect(referendum).toMatchObject({
        outcome: 'no_quorum',
        rules: [{ met: true }, { actual: '10/0', met: false }],
      });
    }
  });
});

describe('weights and roles', () => {
  test('a decision is by weight, with the weights as exact decimals', () => {
    const votes: Votes = [
      [marks('a'), 1, 2_500_000n],
      [marks('b'), 2, WHOLE],
    ];
    expect(refer(votes, {}, { wholeWeights: false })).toMatchObject({
      winners: ['a'],
      totalVotes: 3,
      referendum: { yes: '2.5', no: '2', rules: [{ actual: '2.5/4.5' }] },
    });
  });

  test('several options of one role are added up, and all of them win together', () => {
    const rows = [{ referendumRole: 'yes' }, { referendumRole: 'yes' }, { referendumRole: 'no' }] as const;
    const rules = { threshold: HALF, turnoutQuorum: null, approvalQuorum: null };
    const of = position('referendum', rows, { rules });
    const won = result(of, markings('2 a, 2 b, 3 c'));
    expect(won).toMatchObject({ winners: ['a', 'b'], referendum: { yes: '4', no: '3', outcome: 'passed' } });
  });

  test('an option that was withdrawn keeps its votes in the decision and does not win', () => {
    const rows = [{ referendumRole: 'yes', withdrawn: true }, { referendumRole: 'no' }] as const;
    const rules = { threshold: HALF, turnoutQuorum: null, approvalQuorum: null };
    const won = result(position('referendum', rows, { rules }), markings('2 a, 1 b'));
    expect(won).toMatchObject({ winners: [], referendum: { yes: '2', outcome: 'passed' } });
  });

  test('a referendum without rules is refused at the start', () => {
    expect(() => result(position('referendum', OPTIONS), [])).toThrow('rules');
  });
});
