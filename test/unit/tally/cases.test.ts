import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type {
  Fraction,
  ReferendumRole,
  ReferendumRules,
  TieBreak,
  VotingMethod,
} from '#src/ballot-definition/types.ts';
import { CountRefused } from '#src/tally/exact.ts';
import type { PositionResult } from '#src/tally/position-result.ts';
import { startCount } from '#src/tally/start-count.ts';
import type { PositionBallot, TallyPosition } from '#src/tally/types.ts';
import { scaled, WHOLE } from './counting.ts';

/** Published elections with known results lie beside the project, and are not part of it. */
const FOLDER = path.join(import.meta.dirname, '../../../../shared/cases/tally');

type Entries = readonly (readonly [number, number])[];

interface PublishedBallot {
  readonly count: number;
  readonly weight?: number;
  readonly ranking?: readonly number[];
  readonly selected?: readonly number[];
  readonly approved?: readonly number[];
  readonly points?: Entries;
  readonly scores?: Entries;
  readonly votes?: Entries;
}

interface PublishedRound {
  readonly tallies: Readonly<Record<string, number | string>>;
  readonly threshold?: number;
  readonly elected?: readonly number[];
  readonly eliminated?: readonly number[];
}

interface PublishedRule {
  readonly name: string;
  readonly minYesPct?: number;
  readonly minTurnoutPct?: number;
  readonly counts?: 'valid' | 'cast';
  readonly passed: boolean;
}

interface PublishedCase {
  /** File and, in a bundle, name of the contest. */
  readonly title: string;
  readonly method: VotingMethod;
  readonly variant?: string;
  readonly seats?: number;
  readonly settings?: {
    readonly stop?: string;
    readonly threshold?: string;
    readonly withdrawn?: readonly number[];
    readonly tieBreak?: { readonly order?: readonly number[] } | string;
  };
  readonly candidates: readonly string[];
  readonly ballots: readonly PublishedBallot[];
  readonly tieBreakOrder?: readonly number[];
  readonly referendumRoles?: readonly ReferendumRole[];
  readonly electorate?: number;
  readonly expected: {
    readonly invalid?: string;
    readonly winners?: readonly number[] | null;
    readonly tie?: readonly number[];
    readonly tiedForLastSeat?: readonly number[];
    readonly tallies?: Readonly<Record<string, number>>;
    readonly rounds?: readonly PublishedRound[];
    readonly finalRound?: Readonly<Record<string, number>>;
    readonly ballotsCast?: number;
    readonly rules?: readonly PublishedRule[];
  };
}

/** All published contests, or undefined where the folder is not there. */
function readPublishedCases(): PublishedCase[] | undefined {
  if (!existsSync(FOLDER)) return undefined;
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
  return files.sort().flatMap((name) => {
    const file = JSON.parse(readFileSync(path.join(FOLDER, name), 'utf8'));
    const contests: PublishedCase[] = file.cases ?? [file];
    return contests.map((contest) => ({
      ...file,
      ...contest,
      settings: { ...file.settings, ...contest.settings },
      title: file.cases === undefined ? name : `${name} ${Reflect.get(contest, 'name')}`,
    }));
  });
}

/** How far a contest whose source counts by another rule is compared. */
interface OtherRule {
  readonly reason: string;
  /** Only the first so many of the published rounds are compared. */
  readonly rounds?: number;
  /** The published winners follow from the other rule. */
  readonly winners?: 'other';
  /** Groups of ballots that cannot be cast here, and count for nobody there. */
  readonly leaveOut?: readonly number[];
}

const OTHER_RULES: Readonly<Record<string, OtherRule>> = {
  'irv-dominion-alaska-test-1000.json': {
    reason: 'undeclared write-ins go out first; and two who tie are told apart by their order, not by an earlier round',
    winners: 'other',
  },
  'irv-rctab-overvote-multiple-continuing.json': {
    reason:
      'whether an overvoted rank counts is decided while counting; the overvoted first choices are exhausted at once',
    leaveOut: [1],
  },
  'plurality-bundle.json bv1570_6hv7jf_undecided_plurality#0': {
    reason: 'three abstentions and no vote: the source elects the first candidate, here a seat needs a vote',
    winners: 'other',
  },
  'stv-minneapolis-2013-park-hare.json': {
    reason: 'Hare quota: the same until somebody reaches our lower Droop quota',
    rounds: 3,
  },
  'stv-rctab-fractional-threshold.json': {
    reason: 'quota of 7.2501 where ours is the whole 8: the same until the first surplus',
    rounds: 2,
  },
  'stv-rctab-multi-seat-writeins.json': {
    reason: 'undeclared write-ins go out first although they are third of four',
    rounds: 1,
    winners: 'other',
  },
  'stv-rctab-one-winner-per-round.json': {
    reason: 'quota of 2.2501 where ours is the whole 3, and one winner a round',
    rounds: 1,
  },
};

const cases = readPublishedCases();

function candidateOrder(contest: PublishedCase): readonly number[] | undefined {
  const tieBreak = contest.settings?.tieBreak;
  return contest.tieBreakOrder ?? (typeof tieBreak === 'object' ? tieBreak.order : undefined);
}

/** The published order of candidates decides ties; without one, whoever shares a seat wins it jointly. */
function policyOf(contest: PublishedCase): TieBreak {
  const { tie, winners } = contest.expected;
  const decided = tie !== undefined && Array.isArray(winners);
  return contest.method === 'ranked_choice' || candidateOrder(contest) !== undefined || decided
    ? 'candidate_order'
    : 'joint';
}

function positionOf(contest: PublishedCase, rules: ReferendumRules | null = null): TallyPosition {
  const order = candidateOrder(contest);
  return {
    id: 'pos',
    title: contest.title,
    votingMethod: contest.method,
    seats: contest.seats ?? 1,
    tieBreak: policyOf(contest),
    rules,
    candidates: contest.candidates.map((name, index) => ({
      id: String(index),
      name,
      sortOrder: order === undefined ? index : order.indexOf(index),
      withdrawn: contest.settings?.withdrawn?.includes(index) ?? false,
      referendumRole: contest.referendumRoles?.[index] ?? null,
    })),
  };
}

function entriesOf(ballot: PublishedBallot): PositionBallot {
  const valued = ballot.points ?? ballot.scores ?? ballot.votes;
  if (valued !== undefined)
    return { length: valued.length, candidates: valued.map(([at]) => at), values: valued.map(([, value]) => value) };
  const named = ballot.ranking ?? ballot.selected ?? ballot.approved ?? [];
  const values = ballot.ranking === undefined ? named.map(() => 1) : named.map((_, place) => place + 1);
  return { length: named.length, candidates: named, values };
}

function countOf(contest: PublishedCase, rules: ReferendumRules | null = null): PositionResult {
  const count = startCount(positionOf(contest, rules));
  const leaveOut = OTHER_RULES[contest.title]?.leaveOut ?? [];
  for (const ballot of contest.ballots.filter((_, group) => !leaveOut.includes(group)))
    count.add(entriesOf(ballot), BigInt(ballot.weight ?? 1) * WHOLE, ballot.count);
  const electorateMicro = contest.electorate === undefined ? null : BigInt(contest.electorate) * WHOLE;
  return count.report({ lot: null, electorateMicro, wholeWeights: true, unitWeights: true });
}

function setOf(candidates: Iterable<string>): string {
  return [...candidates]
    .map(Number)
    .sort((a, b) => a - b)
    .join();
}

/** Some sources pass on the last surpluses after the last seat is filled, and list a round that decides nothing. */
function decidingRounds(contest: PublishedCase): readonly PublishedRound[] {
  const rounds = contest.expected.rounds ?? [];
  return (contest.seats ?? 1) > 1 ? rounds.filter((round) => round.elected ?? round.eliminated) : rounds;
}

/** The published rounds that a round of ours meets by its set of candidates; each must have one with the same tallies. */
function compareRounds(contest: PublishedCase, ours: PositionResult, limit: number, tolerance: bigint): number {
  const sameThreshold = /^Droop|^floor\((?:continuing|active)/.test(contest.settings?.threshold ?? '');
  let met = 0;
  for (const published of decidingRounds(contest).slice(0, limit)) {
    const set = setOf(Object.keys(published.tallies));
    const candidates = (ours.rounds ?? []).filter(
      (round) => setOf(round.tallies.map((row) => row.candidateId)) === set,
    );
    if (candidates.length === 0) {
      continue;
    }
    met += 1;
    const threshold = sameThreshold && published.threshold !== undefined ? String(published.threshold) : undefined;
    const agrees = candidates.some(
      (round) =>
        (threshold === undefined || round.threshold === threshold) &&
        round.tallies.every(({ candidateId, weightWon }) => {
          const difference = scaled(weightWon) - scaled(published.tallies[candidateId] ?? -1);
          return difference <= tolerance && difference >= -tolerance;
        }),
    );
    expect({ set, agrees, published: published.tallies, ours: candidates.map((round) => round.tallies) }).toMatchObject(
      { agrees: true },
    );
  }
  return met;
}

function compareRanked(contest: PublishedCase, ours: PositionResult): void {
  const other = OTHER_RULES[contest.title];
  const transferable = (contest.seats ?? 1) > 1;
  // The published transfers are cut at four decimals, ours at five: no tally of these small contests moves by a hundredth.
  const tolerance = transferable ? 10n ** 9n : 0n;
  const met = compareRounds(contest, ours, other?.rounds ?? Number.POSITIVE_INFINITY, tolerance);
  const { rounds, finalRound, winners } = contest.expected;
  expect(met).toBeGreaterThan(rounds === undefined ? -1 : 0);
  const last = ours.rounds?.at(-1)?.tallies ?? [];
  if (finalRound !== undefined) {
    for (const [candidate, votes] of Object.entries(finalRound))
      expect(last.find((row) => row.candidateId === candidate)?.votesWon).toBe(votes);
  }
  if (other?.winners !== 'other' && winners?.length) expect(setOf(ours.winners)).toBe(setOf(winners.map(String)));
  const stopsWhereOursDoes = !/^two candidates remain/.test(contest.settings?.stop ?? '');
  const published = Object.keys(rounds?.at(-1)?.tallies ?? {});
  if (!transferable && other === undefined && stopsWhereOursDoes && published.length > 1)
    expect(setOf(last.map((row) => row.candidateId))).toBe(setOf(published));
}

function compareSums(contest: PublishedCase, ours: PositionResult): void {
  const { tallies = {}, winners, tie, tiedForLastSeat } = contest.expected;
  for (const [candidate, sum] of Object.entries(tallies))
    expect(ours.candidates[Number(candidate)]?.votesWon).toBe(sum);
  const shared = tiedForLastSeat ?? (winners === null ? tie : undefined);
  if (shared !== undefined) expect(setOf(ours.tie?.candidateIds ?? [])).toBe(setOf(shared.map(String)));
  if (winners && OTHER_RULES[contest.title]?.winners !== 'other')
    expect(setOf(ours.winners)).toBe(setOf([...winners, ...(shared ?? [])].map(String)));
}

function percent(numerator: number, inclusive: boolean): Fraction {
  return { numerator, denominator: 100, inclusive };
}

/** The rules as the source ran them; quorums in the sources are reached by equality unless they say "more than". */
function rulesOf(published: PublishedRule): ReferendumRules {
  const { minYesPct, minTurnoutPct, name } = published;
  return {
    threshold: { ...percent(50, false), base: 'yes_no' },
    turnoutQuorum: minTurnoutPct === undefined ? null : percent(minTurnoutPct, !name.includes('> ')),
    approvalQuorum: minYesPct === undefined ? null : percent(minYesPct, true),
  };
}

function compareReferendum(contest: PublishedCase): void {
  const yes = contest.referendumRoles?.indexOf('yes') ?? -1;
  for (const published of contest.expected.rules ?? []) {
    const ours = countOf(contest, rulesOf(published));
    compareSums(contest, { ...ours, winners: [] });
    expect(ours.ballots + ours.abstentions).toBe(contest.ballots.reduce((sum, ballot) => sum + ballot.count, 0));
    expect({ rule: published.name, passed: ours.referendum?.outcome === 'passed' }).toEqual({
      rule: published.name,
      passed: published.passed,
    });
    expect(ours.winners.includes(String(yes))).toBe(published.passed);
  }
}

if (cases === undefined) {
  test('the published elections are not beside the project, so none of them is counted', () => {
    console.info('published elections: folder not found, 0 contests counted');
    expect(cases).toBeUndefined();
  });
} else {
  describe('published elections', () => {
    console.info(`published elections: ${cases.length} contests counted`);
    for (const [title, { reason }] of Object.entries(OTHER_RULES))
      console.info(`compared as far as the rules agree: ${title}: ${reason}`);
    test.each(cases)('$title is counted as published', (contest) => {
      if (contest.expected.invalid !== undefined) {
        compareRefusal(contest);
      } else if (contest.method === 'ranked_choice') {
        compareRanked(contest, countOf(contest));
      } else if (contest.method === 'referendum') {
        compareReferendum(contest);
      } else {
        compareSums(contest, countOf(contest));
      }
    });

    test('every contest named as having another rule is there', () => {
      const titles = cases.map((contest) => contest.title);
      expect(Object.keys(OTHER_RULES).filter((title) => !titles.includes(title))).toEqual([]);
    });
  });
}

/** A budget is checked when a ballot is cast; values that no ballot can have stop the count. */
function compareRefusal(contest: PublishedCase): void {
  if (/budget|> \d+$/.test(contest.expected.invalid ?? '')) {
    expect(countOf(contest).ballots).toBe(1);
  } else {
    expect(() => countOf(contest)).toThrow(CountRefused);
  }
}
