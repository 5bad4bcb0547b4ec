import { markRehearsalText } from '#src/http/rehearsal.ts';
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

/**
 * Candidates position by position, each position in its order; one who stands for several is listed at the first. Where all
 * of a position are listed already, it is not shuffled: a hundred positions may share a thousand candidates.
 */
function* orderedCandidates(paper: BallotPaper, order: string | undefined): Generator<Candidate> {
  const listed = new Set<Candidate>();
  for (const { id, candidates } of paper.positions) {
    if (candidates.every((candidate) => listed.has(candidate))) continue;
    for (const candidate of order === undefined ? candidates : inOrder(candidates, id, order)) {
      if (listed.has(candidate)) continue;
      listed.add(candidate);
      yield candidate;
    }
  }
}

type Groups = ReadonlyMap<string, { readonly id: string; readonly name: string }>;

function viewBallotCandidate(candidate: Candidate, groups: Groups): BallotView['candidates'][number] {
  return {
    id: candidate.id,
    name: candidate.name,
    description: candidate.description,
    positionIds: [...candidate.positionIds],
    group: candidate.groupId === null ? null : (groups.get(candidate.groupId) ?? null),
    referendumRole: candidate.referendumRole,
    avatarUrl: candidate.avatarUrl,
  };
}

/** The ballot of a paper as JSON text; what is the same in every order of its candidates is made once. */
export class BallotText {
  readonly #paper: BallotPaper;
  readonly #groups: Groups;
  readonly #candidates = new Map<Candidate, string>();

  constructor(paper: BallotPaper) {
    this.#paper = paper;
    this.#groups = new Map(paper.groups.map(({ id, name }) => [id, { id, name }]));
  }

  /**
   * The answer as a voter sees it (contract, "Ballot"; completions 4.2), in pieces.
   * @param order of shuffled candidates
   */
  *write(order: string | undefined): Generator<string> {
    const { event, positions, sponsors } = this.#paper;
    const view: Omit<BallotView, 'candidates'> = {
      votingEventId: event.id,
      positions: positions.map((position) => viewBallotPosition(position, this.#groups)),
      groups: [...this.#groups.values()],
      sponsors: sponsors.map((sponsor) => pick(sponsor, ['id', 'name', 'logoUrl', 'websiteUrl', 'tier'])),
    };
    const begin = `{"data":${JSON.stringify(view).slice(0, -1)},"candidates":[`;
    yield event.rehearsalSince === null ? begin : markRehearsalText(begin);
    let first = true;
    for (const candidate of orderedCandidates(this.#paper, order)) {
      yield first ? this.#textOf(candidate) : `,${this.#textOf(candidate)}`;
      first = false;
    }
    yield ']}}';
  }

  #textOf(candidate: Candidate): string {
    const known = this.#candidates.get(candidate);
    if (known !== undefined) return known;
    const text = JSON.stringify(viewBallotCandidate(candidate, this.#groups));
    this.#candidates.set(candidate, text);
    return text;
  }
}
