import type { z } from 'zod';
import { differenceOf } from '#src/accounts/changes.ts';
import type { Executor, Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { refuse } from '#src/http/refusals.ts';
import { type IsFaulty, type Judge, NOTHING_FAULTY, type SoundParts } from '#src/http/sound-parts.ts';
import { enqueue } from '#src/jobs/queue.ts';
import { mailWords } from '#src/mail/mail-words.ts';
import { type Issue, orNotFound } from '#src/platform/errors.ts';
import type { Organizer } from '#src/voting-events/access.ts';
import {
  type BulkChange,
  changedFields,
  guardChange,
  lockForChange,
  renewBallotDefinition,
  requireNoIssues,
  requireOwn,
  strangerIssues,
  takeNumber,
} from '#src/voting-events/guard-change.ts';
import type { LifeAction } from '#src/voting-events/lifecycle.ts';
import { givenOf } from '#src/voting-events/repository.ts';
import { aboutOf, type VotingEvent } from '#src/voting-events/voting-event.ts';
import { publish } from '#src/webhooks/record-event.ts';
import { type createCandidateBody, type updateCandidateBody, viewCandidate } from './candidate.ts';
import { roleMessage } from './definition-links.ts';
import { REMOVE_DELETED_ROWS } from './delete-rows.ts';
import {
  type BallotChangeDeps,
  type ChangePart,
  type CreatePart,
  groupIssues,
  isStanding,
  newRow,
  recordBallotChange,
  requireRoomForCandidate,
} from './record-ballot-change.ts';
import {
  findCandidate,
  insertCandidate,
  isAnyCandidatePaidFor,
  listBareReferendums,
  listCandidatesByIds,
  listPositions,
  updateCandidate,
  updateCandidates,
} from './repository.ts';
import type { Candidate, Position, ReferendumRole } from './types.ts';

type NewCandidate = z.output<typeof createCandidateBody>;
type Body = z.output<typeof updateCandidateBody>;

/** The fields of a candidate that refer to other rows of the event. */
interface CandidateLinks {
  readonly positionIds: readonly (string | undefined)[];
  readonly groupId: string | null | undefined;
  /** Undefined if the role is not to be checked. */
  readonly referendumRole: ReferendumRole | null | undefined;
}

/** The issue of a missing or needless role: a candidate has a role if, and only if, it stands for a referendum. */
function roleIssues({ referendumRole: role, positionIds }: CandidateLinks, positions: readonly Position[]): Issue[] {
  if (role === undefined) return [];
  const isNeeded = positions.some(({ votingMethod, id }) => votingMethod === 'referendum' && positionIds.includes(id));
  return (role !== null) === isNeeded ? [] : [{ field: 'referendumRole', message: roleMessage(isNeeded) }];
}

export async function candidateIssues(executor: Executor, eventId: string, links: CandidateLinks): Promise<Issue[]> {
  const positions = await listPositions(executor, eventId);
  return [
    ...strangerIssues('position', links.positionIds, positions),
    ...(await groupIssues(executor, eventId, links.groupId)),
    ...roleIssues(links, positions),
  ];
}

/** Like `candidateIssues`, for a registration. A referendum takes no registrations: only the organizer may set what a choice means. */
export async function registrationIssues(
  executor: Executor,
  eventId: string,
  { positionIds, groupId }: Omit<CandidateLinks, 'referendumRole'>,
): Promise<Issue[]> {
  const positions = await listPositions(executor, eventId);
  const referendums = new Set(positions.flatMap(({ votingMethod, id }) => (votingMethod === 'referendum' ? [id] : [])));
  return [
    ...strangerIssues('position', positionIds, positions),
    ...positionIds.flatMap((id, index) =>
      id === undefined || !referendums.has(id)
        ? []
        : [{ field: `positionIds[${index}]`, message: 'is a referendum, whose choices the organizer sets' }],
    ),
    ...(await groupIssues(executor, eventId, groupId)),
  ];
}

/** The links to check for a PATCH: positions and role only if one of them changes or the candidate is approved; a group if it was sent. */
export function changedLinks(before: Candidate, body: SoundParts<Body>, isFaulty: IsFaulty): CandidateLinks {
  const stands = body.status === 'approved' && before.status !== 'approved';
  const changed = changedFields(body, before);
  const isJudged = stands || 'positionIds' in changed || 'referendumRole' in changed;
  const { positionIds = before.positionIds, referendumRole = before.referendumRole, groupId } = body;
  if (!isJudged) return { positionIds: [], groupId, referendumRole: undefined };
  const isRoleKnown = !isFaulty('positionIds') && !isFaulty('referendumRole');
  return { positionIds, groupId, referendumRole: isRoleKnown ? referendumRole : undefined };
}

/** Checks the well-formed values of a new candidate even if the body's shape is refused, so that one answer names all faults. */
export const judgeCandidateParts =
  ({ db }: Pick<Deps, 'db'>): Judge<Organizer, NewCandidate> =>
  ({ event }, { positionIds = [], groupId, referendumRole = null }, isFaulty) => {
    const isRoleKnown = !isFaulty('positionIds') && !isFaulty('referendumRole');
    const role = isRoleKnown ? referendumRole : undefined;
    return candidateIssues(db, event.id, { positionIds, groupId, referendumRole: role });
  };

type ChangeDeps = BallotChangeDeps & Pick<Deps, 'logRecorder'>;

/** Adds an organizer's candidate, by default as `approved`. @throws ApiError 422; 409 `results_final`; 422 `plan_limit` */
export const createCandidate: CreatePart<Candidate, NewCandidate, ChangeDeps> = async (tx, deps, organizer, body) => {
  const event = await lockForChange(tx, organizer.event.id);
  const { id: eventId, lockedAt: nowMs } = event;
  const { positionIds, groupId, referendumRole = null } = body;
  requireNoIssues(await candidateIssues(tx, eventId, { positionIds, groupId, referendumRole }));
  await guardChange(tx, event, 'change_names');
  const status = body.status ?? 'approved';
  const count = await requireRoomForCandidate(tx, eventId, { source: 'organizer', stands: isStanding(status) });
  await deps.logRecorder.recordWaiting(tx, event);
  const candidate = await insertCandidate(tx, {
    ...body,
    ...newRow(deps, event, 'candidates'),
    number: await takeNumber(tx, eventId, 'candidate'),
    status,
    source: 'organizer',
    sortOrder: body.sortOrder ?? count,
  });
  await renewBallotDefinition(tx, eventId, nowMs);
  const after = { name: candidate.name, positionIds: candidate.positionIds };
  const told = { type: 'candidate.created', data: viewCandidate(candidate) } as const;
  await recordBallotChange(tx, deps, organizer, 'candidate.created', candidate.id, { after }, told);
  return candidate;
};

/** Yes, No and Abstain for a referendum. @param language of the event */
export function optionsOf(language: VotingEvent['language'], positionId: string) {
  const { options } = mailWords(language);
  return (['yes', 'no', 'abstain'] as const).map((referendumRole) => ({
    name: options[referendumRole],
    positionIds: [positionId],
    referendumRole,
  }));
}

/** Gives Yes, No and Abstain, in the event's language, to each referendum that has no candidate on the ballot. */
export async function giveOptions(tx: Transaction, deps: ChangeDeps, organizer: Organizer): Promise<void> {
  for (const positionId of await listBareReferendums(tx, organizer.event.id))
    for (const option of optionsOf(organizer.event.language, positionId))
      await createCandidate(tx, deps, organizer, option);
}

/** Fields that voters see or tallies use. Once ballots exist, they are fixed for approved and withdrawn candidates (completions 3). */
const SHOWN: ReadonlySet<keyof Body> = new Set([
  ...(['name', 'positionIds', 'referendumRole', 'groupId', 'avatarUrl', 'sortOrder'] as const),
]);

function actionOf(field: keyof Body, { status }: Candidate): LifeAction {
  if (field === 'status') return 'change_names';
  if (!SHOWN.has(field)) return 'change_words';
  return isStanding(status) ? 'change_ballot_rules' : 'change_names';
}

/** The only allowed new status once ballots exist: an approved candidate may become `withdrawn`, any other may become `approved`. */
const MOVES_WITH_BALLOTS: Readonly<Record<Candidate['status'], Candidate['status']>> = {
  approved: 'withdrawn',
  withdrawn: 'approved',
  pending: 'approved',
  rejected: 'approved',
};

/**
 * Changes a candidate. Once ballots exist, a candidate leaves only as `withdrawn`: its votes stay, but ranked tallies skip it.
 * @throws ApiError 404; 422; 409 if the event's phase forbids the change (`LIFE` in voting-events/lifecycle.ts)
 */
export const changeCandidate: ChangePart<Candidate, Body, ChangeDeps> = async (tx, deps, organizer, id, body) => {
  const event = await lockForChange(tx, organizer.event.id);
  const { id: eventId, lockedAt: nowMs } = event;
  const before = orNotFound(await findCandidate(tx, eventId, id));
  const changed = changedFields(givenOf(body), before);
  requireNoIssues(await candidateIssues(tx, eventId, changedLinks(before, body, NOTHING_FAULTY)));
  if (Object.keys(changed).length === 0) return before;
  for (const name of Object.keys(changed) as (keyof Body)[]) await guardChange(tx, event, actionOf(name, before));
  if (changed.positionIds !== undefined && (await isAnyCandidatePaidFor(tx, eventId, [id])))
    throw refuse('paid_registration');
  if (changed.status !== undefined && changed.status !== MOVES_WITH_BALLOTS[before.status])
    await guardChange(tx, event, 'change_ballot_rules');
  if (changed.status !== undefined) {
    // A rejected registration did not count against the limit: with any other status it counts again.
    const takesPlace = before.status === 'rejected' && before.source === 'registration';
    const stands = isStanding(changed.status) && !isStanding(before.status);
    await requireRoomForCandidate(tx, eventId, { stands, ...(takesPlace ? { source: 'registration' } : {}) });
  }
  if (changed.status !== undefined || changed.positionIds !== undefined)
    await deps.logRecorder.recordWaiting(tx, event);
  const after = await updateCandidate(tx, eventId, id, { ...changed, updatedAt: nowMs });
  await renewBallotDefinition(tx, eventId, nowMs);
  const told = { type: 'candidate.updated', data: viewCandidate(after) } as const;
  const change = differenceOf(before, after);
  await recordBallotChange(tx, deps, organizer, 'candidate.updated', id, change, told);
  return after;
};

/**
 * Rejects candidates, all or none, by the rules of a single change of status. Candidates already rejected do not change.
 * @throws ApiError 422 naming each unknown ID; 409 `event_has_ballots`, `results_final`
 */
export const rejectCandidates: BulkChange<BallotChangeDeps> = async (tx, deps, organizer, ids) => {
  const event = await lockForChange(tx, organizer.event.id);
  const named = requireOwn('candidate', ids, await listCandidatesByIds(tx, event.id, ids));
  const rows = named.filter(({ status }) => status !== 'rejected');
  if (rows.length === 0) return 0;
  await guardChange(tx, event, 'change_ballot_rules');
  const changed = rows.map(({ id }) => id);
  const nowMs = event.lockedAt;
  const after = await updateCandidates(tx, event.id, changed, { status: 'rejected', updatedAt: nowMs });
  await renewBallotDefinition(tx, event.id, nowMs);
  await publish(tx, deps, aboutOf(event), 'candidate.updated', after.map(viewCandidate));
  const told = { after: { count: rows.length, candidateIds: changed } };
  await recordBallotChange(tx, deps, organizer, 'candidates.rejected', event.id, told);
  return rows.length;
};

/** Queues deletions, all or none. @throws ApiError 422 naming each unknown ID; 409 `results_final`, `event_has_ballots` (also if paid) */
export const deleteCandidates: BulkChange<BallotChangeDeps> = async (tx, deps, organizer, ids) => {
  const event = await lockForChange(tx, organizer.event.id);
  const rows = requireOwn('candidate', ids, await listCandidatesByIds(tx, event.id, ids));
  // Stored ballots can name only candidates that are approved or withdrawn.
  const depends = rows.some(({ status }) => isStanding(status));
  await guardChange(tx, event, depends ? 'change_ballot_rules' : 'change_names');
  if (await isAnyCandidatePaidFor(tx, event.id, ids)) throw refuse('paid_registrations');
  const deletedAt = event.lockedAt;
  await updateCandidates(tx, event.id, ids, { deletedAt });
  await enqueue(tx, REMOVE_DELETED_ROWS, { kind: 'candidates', eventId: event.id });
  await renewBallotDefinition(tx, event.id, deletedAt);
  const gone = rows.map(({ id, name }) => ({ id, name }));
  await publish(tx, deps, aboutOf(event), 'candidate.deleted', gone);
  const told = { before: { count: rows.length, candidateIds: gone.map(({ id }) => id) } };
  await recordBallotChange(tx, deps, organizer, 'candidates.deleted', event.id, told);
  return rows.length;
};
