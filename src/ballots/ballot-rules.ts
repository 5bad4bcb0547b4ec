import type { BallotDefinition, BallotPosition } from '#src/ballot-definition/ballot-definition.ts';
import { type Candidate, ENTRY_KINDS } from '#src/ballot-definition/types.ts';
import type { SoundParts } from '#src/http/sound-parts.ts';
import type { Issue } from '#src/platform/errors.ts';
import type { CastBody } from './ballot.ts';
import type { PackedPosition } from './ballot-encoding.ts';

export type BallotEntry = Readonly<CastBody['votes'][number]>;

/** A quadratic position on which a ballot costs more credits than the visitor has. */
export interface CreditShortage {
  readonly positionId: string;
  readonly required: number;
  readonly available: number;
}

export type Judgement =
  | { readonly valid: true; readonly positions: readonly PackedPosition[] }
  | {
      readonly valid: false;
      readonly issues: readonly Issue[];
      readonly notInGroup: boolean;
      /** The first position on which the ballot costs too many credits. */
      readonly credits: CreditShortage | undefined;
    };

/** The group of a voter who is not identified yet: accepts entries for every position. */
export const ANY_GROUP = Symbol('any group');
type VoterGroup = string | null | typeof ANY_GROUP;

/** An entry as sent, without its missing or malformed fields; undefined if no field is readable. */
type SentEntry = SoundParts<BallotEntry> | undefined;

interface Mark {
  readonly index: number;
  readonly entry: SoundParts<BallotEntry>;
  /** Undefined if the entry names no candidate of the position; rank and value are still validated. */
  readonly candidate: Candidate | undefined;
}

/**
 * Validates the entries of a ballot by the rules of each position's method and reports all issues at once (completions 4.8). Pure.
 * @param voterGroup the voter's group; null for none, as in polls; `ANY_GROUP` before the group is known
 * @param budgets credits that a visitor may spend per quadratic position, if not the position's base credits
 */
export function judgeBallot(
  definition: BallotDefinition,
  entries: readonly SentEntry[],
  voterGroup: VoterGroup,
  budgets: ReadonlyMap<string, number> = NO_BUDGETS,
): Judgement {
  const issues: Issue[] = [];
  const groupIssues: Issue[] = [];
  const shortages: CreditShortage[] = [];
  const marks = new Map<BallotPosition, Mark[]>();
  const named = new Map<BallotPosition, Set<Candidate>>();
  entries.forEach((entry, index) => {
    const field = (name: string): string => `votes[${index}].${name}`;
    if (entry === undefined) return;
    const position = entry.positionId === undefined ? undefined : definition.positionById.get(entry.positionId);
    const known = entry.candidateId === undefined ? undefined : definition.candidateById.get(entry.candidateId);
    if (position === undefined) {
      if (entry.positionId !== undefined)
        issues.push({ field: field('positionId'), message: 'is not a position of this event' });
      if (entry.candidateId !== undefined && known?.status !== 'approved')
        issues.push({ field: field('candidateId'), message: 'is not a candidate of this event' });
      return;
    }
    if (!isOpenTo(position, voterGroup))
      groupIssues.push({ field: field('positionId'), message: 'is not open to the group of this voter' });
    const candidate = known !== undefined && standsIn(position, known) ? known : undefined;
    if (candidate === undefined && entry.candidateId !== undefined)
      issues.push({ field: field('candidateId'), message: 'is not a candidate for this position' });
    const before = named.getOrInsertComputed(position, () => new Set());
    if (candidate !== undefined && before.has(candidate))
      issues.push({ field: field('candidateId'), message: 'stands twice for the same position' });
    else if (candidate !== undefined) before.add(candidate);
    issues.push(...judgeEntry(position, entry, index));
    marks.getOrInsertComputed(position, () => []).push({ index, entry, candidate });
  });
  // An entry with an unreadable position may belong to a position that seems to have too few choices, which is then not reported.
  const areAllRead = entries.every((entry) => entry?.positionId !== undefined);
  for (const [position, own] of marks) {
    issues.push(...judgeSelections(position, own, areAllRead));
    if (position.votingMethod === 'ranked_choice') issues.push(...judgeRanks(own));
    if (position.votingMethod === 'cumulative') issues.push(...judgePoints(position, own));
    if (position.votingMethod === 'quadratic') shortages.push(...judgeCredits(position, own, budgets));
  }
  const open = definition.positions.filter((position) => isOpenTo(position, voterGroup));
  if (areAllRead) issues.push(...judgeLeftOut(definition.positions, marks));
  const areCreditsAlone = groupIssues.length + issues.length === 0;
  issues.push(...shortages.map((shortage) => ({ field: 'votes', message: describeShortage(shortage) })));
  const all = [...groupIssues, ...issues];
  if (all.length > 0) {
    const credits = areCreditsAlone ? shortages[0] : undefined;
    return { valid: false, issues: all, notInGroup: groupIssues.length > 0, credits };
  }
  return { valid: true, positions: open.map((position) => packPosition(position, marks.get(position) ?? [])) };
}

export const describeShortage = ({ positionId, required, available }: CreditShortage): string =>
  `costs ${required} credits of ${available} for position ${positionId}`;

/** Whether `position.candidates` contains the candidate, without a search through that list. */
function standsIn(position: BallotPosition, candidate: Candidate): boolean {
  if (candidate.status !== 'approved' || !candidate.positionIds.includes(position.id)) return false;
  // A referendum counts only candidates with the role yes, no or abstain.
  return position.votingMethod !== 'referendum' || candidate.referendumRole !== null;
}

/** A position with a group is open to that group only, any other position to every voter. */
const isOpenTo = (position: BallotPosition, voterGroup: VoterGroup): boolean =>
  position.groupId === null || voterGroup === ANY_GROUP || position.groupId === voterGroup;

const NO_BUDGETS: ReadonlyMap<string, number> = new Map();

function judgeEntry(position: BallotPosition, { value, rank }: SoundParts<BallotEntry>, index: number): Issue[] {
  const issues: Issue[] = [];
  const refuse = (name: 'value' | 'rank', message: string): void => {
    issues.push({ field: `votes[${index}].${name}`, message });
  };
  switch (position.votingMethod) {
    case 'plurality':
    case 'approval':
    case 'referendum':
      if (value !== undefined && value !== 1) refuse('value', 'must be left out, or be 1');
      break;
    case 'score': {
      const { scoreMin, scoreMax } = position;
      if (value === undefined) refuse('value', 'is required');
      else if (!Number.isSafeInteger(value) || value < (scoreMin ?? 0) || value > (scoreMax ?? 0)) {
        refuse('value', `must be a whole number from ${scoreMin} to ${scoreMax}`);
      }
      break;
    }
    case 'cumulative':
    case 'quadratic':
      if (value === undefined) refuse('value', 'is required');
      else if (!Number.isSafeInteger(value) || value < 1) refuse('value', 'must be a positive whole number');
      break;
    case 'ranked_choice': {
      const last = position.candidates.length;
      if (value !== undefined) refuse('value', 'must be left out');
      if (rank === undefined) refuse('rank', 'is required');
      else if (!Number.isSafeInteger(rank) || rank < 1 || rank > last)
        refuse('rank', `must be a whole number from 1 to ${last}`);
      break;
    }
    default:
      throw new Error(`no ballot rule for ${position.votingMethod satisfies never}`);
  }
  if (rank !== undefined && position.votingMethod !== 'ranked_choice') refuse('rank', 'must be left out');
  return issues;
}

function judgeSelections(position: BallotPosition, marks: readonly Mark[], areAllRead: boolean): Issue[] {
  const limit = position.selectionLimit;
  const beyond = marks.slice(limit);
  const issues = beyond.map(({ index }) => ({
    field: `votes[${index}].candidateId`,
    message: `is more than the ${limit} that may be chosen for "${position.title}"`,
  }));
  const first = marks[0];
  if (areAllRead && first !== undefined && marks.length < position.selectionFloor) {
    issues.push({
      field: `votes[${first.index}].positionId`,
      message: `needs at least ${position.selectionFloor} choices for "${position.title}"`,
    });
  }
  return issues;
}

function judgeRanks(marks: readonly Mark[]): Issue[] {
  const seen = new Set<number>();
  return marks.flatMap(({ entry, index }) => {
    if (entry.rank === undefined) return [];
    if (seen.has(entry.rank))
      return [{ field: `votes[${index}].rank`, message: 'is used twice for the same position' }];
    seen.add(entry.rank);
    return [];
  });
}

function judgePoints(position: BallotPosition, marks: readonly Mark[]): Issue[] {
  const budget = position.cumulativePointBudget ?? 0;
  let total = 0;
  for (const { entry, index } of marks) {
    // A negative value, which is invalid anyway, must not lower the total.
    total += Math.max(0, entry.value ?? 0);
    if (total > budget)
      return [
        { field: `votes[${index}].value`, message: `takes "${position.title}" over its budget of ${budget} points` },
      ];
  }
  return [];
}

/** The shortage of a quadratic position, whose ballot costs more credits than the visitor has; none if the credits suffice. */
function judgeCredits(
  position: BallotPosition,
  marks: readonly Mark[],
  budgets: ReadonlyMap<string, number>,
): CreditShortage[] {
  const available = budgets.get(position.id) ?? position.quadraticBaseCreditBudget ?? 0;
  const required = costOf(marks.map(({ entry }) => entry));
  return required > available ? [{ positionId: position.id, required, available }] : [];
}

/** The cost of the votes of one quadratic position: the sum of squares, at most the largest safe integer, which no budget reaches. */
export function costOf(entries: readonly SoundParts<BallotEntry>[]): number {
  const cost = entries.reduce((sum, { value }) => sum + (value ?? 0) ** 2, 0);
  return Math.min(cost, Number.MAX_SAFE_INTEGER);
}

/** A ballot may leave out a position if the event has several, or if the position's selection floor is 0. */
function judgeLeftOut(
  positions: readonly BallotPosition[],
  marks: ReadonlyMap<BallotPosition, readonly Mark[]>,
): Issue[] {
  const [only] = positions;
  if (positions.length !== 1 || only === undefined || marks.has(only) || only.selectionFloor === 0) return [];
  return [{ field: 'votes', message: `must choose at least ${only.selectionFloor} for "${only.title}"` }];
}

function packPosition(position: BallotPosition, marks: readonly Mark[]): PackedPosition {
  const isRanked = ENTRY_KINDS[position.votingMethod] === 'rank';
  return {
    position: position.number,
    entries: marks.flatMap(({ candidate, entry }) =>
      candidate === undefined
        ? []
        : [{ candidate: candidate.number, value: (isRanked ? entry.rank : entry.value) ?? 1 }],
    ),
  };
}
