import { describe, expect, test } from 'vitest';
import { ApiError } from '#src/platform/errors.ts';
import { refusalError } from '#src/voters/eligibility.ts';
import { requireMailable } from '#src/voting-events/lifecycle.ts';
import { type MissingPart, missingForOpening, NO_POSITION, type OpeningFacts } from '#src/voting-events/opening.ts';

const POSITION = {
  ...{ id: 'pos_1', title: 'Chair', isReferendum: false, groupId: null, groupHasVoters: false },
  ...{ minSelections: 0, budget: null, candidates: 2, roleless: 0, withoutRole: [] },
};
const READY: OpeningFacts = {
  ...{ type: 'election', selfRegistration: false, hasVoters: true, isCopying: false, isUnready: false },
  ...{ hasTopUps: false, isPriced: false, isKeyless: false, hasStart: false, positions: [POSITION] },
};
const ofGroup = (groupHasVoters: boolean) => ({ ...POSITION, id: 'pos_2', groupId: 'grp_1', groupHasVoters });

describe('an event opens when a voter could cast a ballot', () => {
  test.each<[string, Partial<OpeningFacts>, string[]]>([
    ['it has positions and candidates', {}, []],
    ['one of its positions is open to somebody', { positions: [ofGroup(false), POSITION] }, []],
    ['a group that is asked for has voters', { positions: [ofGroup(true)] }, []],
    ['all groups that are asked for are empty', { positions: [ofGroup(false)] }, ['no_open_position']],
    ['the whole roll is empty: it can be filled', { positions: [ofGroup(false)], hasVoters: false }, []],
    ['voters may register into an empty group', { positions: [ofGroup(false)], selfRegistration: true }, []],
    ['a poll asks for a group', { type: 'poll', positions: [ofGroup(true)] }, ['no_open_position']],
    ['a poll asks for a group, and for none', { type: 'poll', positions: [ofGroup(true), POSITION] }, []],
    ['it has no position', { positions: [] }, ['no_position']],
    ['two faults of two positions', { positions: [ofGroup(false), { ...POSITION, candidates: 0 }] }, ['no_candidate']],
    ['as many choices as candidates', { positions: [{ ...POSITION, minSelections: 2 }] }, []],
    ['more choices than candidates', { positions: [{ ...POSITION, minSelections: 3 }] }, ['bounds_cannot_be_met']],
    ['more than its budget', { positions: [{ ...POSITION, minSelections: 2, budget: 1 }] }, ['bounds_cannot_be_met']],
    ['an unready business, and nothing asks for money', { isUnready: true }, []],
    ['an unready business and a price', { isUnready: true, isPriced: true }, ['business_not_ready']],
    ['an unready business and credits to buy', { isUnready: true, hasTopUps: true }, ['business_not_ready']],
    ['a price and a ready business', { isPriced: true, hasTopUps: true }, []],
    ['no key, and voters being copied', { isKeyless: true, isCopying: true }, ['copy_running', 'keys_unavailable']],
  ])('%s', (_case, facts, reasons) => {
    expect(missingForOpening({ ...READY, ...facts }).map(({ reason }) => reason)).toEqual(reasons);
  });
});

describe('mails before the opening', () => {
  const refusalOf = (missing: MissingPart[], beforeOpening: boolean, startsAt: number | null = 2_000): unknown => {
    const times = { startsAt, endsAt: null, openedAt: null, closedAt: null, rehearsalSince: null };
    try {
      requireMailable({ ...times, ready: missing.length === 0, missing }, 1_000, beforeOpening);
    } catch (fault) {
      return fault instanceof ApiError ? fault.details?.['reason'] : fault;
    }
    return 'mailed';
  };

  test('go out when they are asked for, the start is set, and nothing is missing', () => {
    expect([
      refusalOf([], true),
      refusalOf([], false),
      refusalOf([NO_POSITION], true),
      refusalOf([NO_POSITION], false),
      refusalOf([], true, null),
    ]).toEqual(['mailed', 'event_not_open', 'not_ready', 'event_not_open', 'event_not_open']);
  });
});

test('a locked voter waits for the whole seconds that are left, and at least one', () => {
  expect([0, 1, 1_000, 1_001, 59_999].map((ms) => refusalError('locked', ms).retryAfterSeconds)).toEqual([
    1, 1, 1, 2, 60,
  ]);
});
