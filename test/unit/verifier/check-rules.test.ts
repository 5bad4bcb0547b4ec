import { expect, test } from 'vitest';
import type { CommittedVote } from '#src/ballot-log/leaf.ts';
import { createRandom } from '#test/second-count/random-elections.ts';
import { readBallotDefinition } from '../../../verifier/ballot-definition.ts';
import { brokenRule } from '../../../verifier/check-rules.ts';
import type { OpenedVote } from '../../../verifier/recount.ts';
import { verifyLog } from '../../../verifier/verify-log.ts';
import { EVENT, leafOf, openingAt, serve, signHead, someBallots, storeLog } from './stored-log.ts';

const CANDIDATES = ['cnd_a', 'cnd_b', 'cnd_c'];

function positionOf(settings: Readonly<Record<string, unknown>>, withdrawn: readonly string[] = []) {
  const [position] = readBallotDefinition({
    v: 2,
    positions: [
      {
        id: 'pos_1',
        title: 'Chair',
        seats: 1,
        tieBreak: 'joint',
        groupId: null,
        minSelections: 0,
        maxSelections: 3,
        ...settings,
      },
    ],
    candidates: CANDIDATES.map((id, sortOrder) => ({
      ...{ id, sortOrder, positionIds: ['pos_1'], status: withdrawn.includes(id) ? 'withdrawn' : 'approved' },
    })),
  });
  if (position === undefined) throw new Error('no position');
  return position;
}

const choose = (...marks: Partial<OpenedVote>[]): OpenedVote[] =>
  marks.map((mark, index) => ({ positionId: 'pos_1', candidateId: CANDIDATES[index] ?? '', ...mark }));

test('fewer choices break no rule where fewer candidates stood for a while', () => {
  const position = { ...positionOf({ votingMethod: 'approval', minSelections: 3 }), least: 2 };
  expect([brokenRule(position, choose({}, {})), typeof brokenRule(position, choose({}))]).toEqual([
    undefined,
    'string',
  ]);
});

test('a position that is left out breaks no rule, whatever it asks for', () => {
  expect(brokenRule(positionOf({ votingMethod: 'approval', minSelections: 2 }), [])).toBeUndefined();
});

test.each([
  ['plurality', {}, [choose({})], [choose({ value: 1 }), choose({ rank: 1 })]],
  ['approval', { minSelections: 2, maxSelections: 2 }, [choose({}, {})], [choose({}), choose({}, {}, {})]],
  ['referendum', { maxSelections: 1 }, [choose({})], [choose({}, {})]],
  [
    ...['score', { scoreMin: -1, scoreMax: 5 }],
    ...[
      [choose({ value: -1 }, { value: 0 }, { value: 5 })],
      [{ value: 6 }, { value: -2 }, { value: 1.5 }, {}, { value: 1, rank: 1 }].map((mark) => choose(mark)),
    ],
  ],
  [
    ...['cumulative', { cumulativePointBudget: 10 }],
    ...[
      [choose({ value: 4 }, { value: 6 })],
      [choose({ value: 4 }, { value: 7 }), choose({ value: 0 }), choose({ value: -1 }, { value: 11 })],
    ],
  ],
  [
    ...['quadratic', { quadraticBaseCreditBudget: 10 }],
    ...[[choose({ value: 3 }, { value: 1 })], [choose({ value: 3 }, { value: 2 }), choose({ value: 0 })]],
  ],
  [
    ...['ranked_choice', {}],
    ...[
      [choose({ rank: 1 }, { rank: 3 })],
      [choose({ rank: 1 }, { rank: 1 }), choose({ rank: 4 }), choose({ rank: 0 }), choose({})],
    ],
  ],
] as [string, object, OpenedVote[][], OpenedVote[][]][])('%s', (votingMethod, settings, kept, broken) => {
  const position = positionOf({ votingMethod, ...settings });
  for (const votes of kept) expect([votes, brokenRule(position, votes)]).toEqual([votes, undefined]);
  for (const votes of broken) expect([votes, typeof brokenRule(position, votes)]).toEqual([votes, 'string']);
});

test('credits may have been bought where they are sold, and a limit that follows the candidates counts those who withdrew', () => {
  const sold = { pricingModel: 'ratio', currency: 'EUR', pricePerCreditMinor: 1, minCredits: 1, maxCredits: 9 };
  const quadratic = (quadraticTopUp: object | null) =>
    positionOf({ votingMethod: 'quadratic', quadraticBaseCreditBudget: 10, quadraticTopUp });
  expect(brokenRule(quadratic(sold), choose({ value: 9 }))).toBeUndefined();
  expect(brokenRule(quadratic(null), choose({ value: 9 }))).toBe('81 credits of 10');
  const approval = positionOf({ votingMethod: 'approval', maxSelections: null }, ['cnd_c']);
  expect(brokenRule(approval, choose({}, {}, {}))).toBeUndefined();
  const bound = positionOf({ votingMethod: 'approval', maxSelections: 2 }, ['cnd_c']);
  expect(brokenRule(bound, choose({}, {}, {}))).toBe('3 choices where at most 2 are allowed');
});

test('a ballot that breaks a rule is found, though the service signs it', async () => {
  const below = createRandom(3);
  const ballots = someBallots(below, 4);
  const honest = storeLog(ballots);
  const [first] = ballots;
  if (first === undefined) throw new Error('no ballot');
  const pos1 = (candidateId: string, more: object = {}): CommittedVote => ({
    positionId: 'pos_1',
    candidateId,
    ...more,
  });
  const pos2 = (candidateId: string, rank: number): CommittedVote => ({ positionId: 'pos_2', candidateId, rank });
  const [a, b] = ['cnd_a', 'cnd_b'] as const;
  const cases: CommittedVote[][] = [
    [pos1(a), pos1(b)],
    [pos1(a, { value: 5 })],
    [pos2(a, 1), pos2(b, 1)],
    [pos2(a, 9)],
  ];
  for (const votes of cases) {
    const broken = { ...first, votes };
    const entries = honest.entries.with(1, leafOf(broken));
    const openings = honest.openings.with(0, openingAt(1, broken));
    const log = { ...honest, entries, openings, checkpoint: signHead(entries) };
    const { checks } = await verifyLog({ read: serve(log), event: EVENT });
    const failed = checks.find(({ name, status }) => name === 'openings' && status === 'failed');
    expect([votes, failed?.detail]).toEqual([votes, expect.stringContaining('breaks a rule')]);
  }
});
