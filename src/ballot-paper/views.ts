import type { BallotPaper, PaperPosition } from './paper.ts';
import { inOrder } from './shuffle.ts';
import type { Candidate, Group, Position, Sponsor } from './types.ts';
import type {
  BallotView,
  CandidateView,
  GroupView,
  PositionView,
  RegisteredCandidateView,
  SponsorView,
} from './view-schemas.ts';

/** How many candidates a ballot may mark: without a number of its own, as many as stand for the position. */
export function limitOf(position: Position, candidates: readonly Candidate[]): number {
  const standing = candidates.filter(
    ({ status, positionIds }) => status === 'approved' && positionIds.includes(position.id),
  );
  return position.maxSelections ?? Math.max(1, standing.length);
}

/** The organizer's shape of a position. */
export function viewPosition(position: Position, candidates: readonly Candidate[]): PositionView {
  const { number: _, ...rest } = position;
  return { ...pick(rest, POSITION_FIELDS), maxSelections: limitOf(position, candidates) };
}

const POSITION_FIELDS = [
  'id',
  'votingEventId',
  'title',
  'description',
  'votingMethod',
  'groupId',
  'sortOrder',
  'seats',
  'minSelections',
  'maxSelections',
  'scoreMin',
  'scoreMax',
  'cumulativePointBudget',
  'quadraticBaseCreditBudget',
  'quadraticTopUp',
  'tieBreak',
  'rules',
  'majorityRequired',
  'createdAt',
  'updatedAt',
] as const;

const CANDIDATE_FIELDS = [
  'id',
  'votingEventId',
  'name',
  'description',
  'email',
  'positionIds',
  'groupId',
  'referendumRole',
  'avatarUrl',
  'status',
  'source',
  'sortOrder',
  'createdAt',
  'updatedAt',
] as const;

function pick<Row extends object, Name extends keyof Row>(row: Row, names: readonly Name[]): Pick<Row, Name> {
  return Object.fromEntries(names.map((name) => [name, row[name]])) as Pick<Row, Name>;
}

export const viewCandidate = (candidate: Candidate): CandidateView => pick(candidate, CANDIDATE_FIELDS);

export const viewGroup = (group: Group): GroupView =>
  pick(group, ['id', 'votingEventId', 'name', 'description', 'createdAt', 'updatedAt']);

export const viewSponsor = (sponsor: Sponsor): SponsorView =>
  pick(sponsor, [
    'id',
    'votingEventId',
    'name',
    'logoUrl',
    'websiteUrl',
    'tier',
    'sortOrder',
    'createdAt',
    'updatedAt',
  ]);

/** What a registered candidate's own server gets back (contract, "Registered candidate"). */
export const viewRegisteredCandidate = (candidate: Candidate): RegisteredCandidateView =>
  pick(candidate, ['id', 'name', 'positionIds', 'avatarUrl', 'status']);

function viewBallotPosition(position: PaperPosition, groups: ReadonlyMap<string, { id: string; name: string }>) {
  return {
    id: position.id,
    title: position.title,
    description: position.description,
    votingMethod: position.votingMethod,
    group: position.groupId === null ? null : (groups.get(position.groupId) ?? null),
    seats: position.seats,
    minSelections: position.minSelections,
    maxSelections: position.selectionLimit,
    ...(position.votingMethod === 'score' ? { scoreMin: position.scoreMin, scoreMax: position.scoreMax } : {}),
    ...(position.votingMethod === 'cumulative' ? { cumulativePointBudget: position.cumulativePointBudget } : {}),
    ...(position.votingMethod === 'quadratic' ? { quadraticBaseCreditBudget: position.quadraticBaseCreditBudget } : {}),
  };
}

/** Candidates position by position, each position in its order; one who stands for several is listed at the first. */
function orderedCandidates(paper: BallotPaper, order: number | undefined): Candidate[] {
  const listed = paper.positions.flatMap((position) =>
    order === undefined ? position.candidates : inOrder(position.candidates, position.id, order),
  );
  return [...new Set(listed)];
}

/** The ballot as a voter sees it (contract, "Ballot"; completions 4.2). @param order of shuffled candidates */
export function viewBallot(paper: BallotPaper, order: number | undefined): BallotView {
  const groups = paper.groups.map((group) => ({ id: group.id, name: group.name }));
  const groupById = new Map(groups.map((group) => [group.id, group]));
  return {
    votingEventId: paper.event.id,
    positions: paper.positions.map((position) => viewBallotPosition(position, groupById)),
    candidates: orderedCandidates(paper, order).map((candidate) => ({
      id: candidate.id,
      name: candidate.name,
      description: candidate.description,
      positionIds: candidate.positionIds,
      group: candidate.groupId === null ? null : (groupById.get(candidate.groupId) ?? null),
      referendumRole: candidate.referendumRole,
      avatarUrl: candidate.avatarUrl,
    })),
    groups,
    sponsors: paper.sponsors.map((sponsor) => pick(sponsor, ['id', 'name', 'logoUrl', 'websiteUrl', 'tier'])),
  };
}
