import { z } from 'zod';
import type { Database, Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { queued } from '#src/http/answer.ts';
import { refuse } from '#src/http/refusals.ts';
import { defineJob, enqueue, type Job } from '#src/jobs/queue.ts';
import { orNotFound } from '#src/platform/errors.ts';
import { pick } from '#src/platform/pick.ts';
import type { Organizer } from '#src/voting-events/access.ts';
import { guardChange, lockForChange, renewBallotDefinition } from '#src/voting-events/guard-change.ts';
import { countRollChanges } from '#src/voting-events/repository.ts';
import { aboutOf } from '#src/voting-events/voting-event.ts';
import { publish } from '#src/webhooks/record-event.ts';
import { viewCandidate } from './candidate.ts';
import { type BallotChangeDeps, isStanding, recordBallotChange } from './record-ballot-change.ts';
import {
  countVotersIn,
  findCandidate,
  findGroup,
  findPosition,
  isAnyCandidatePaidFor,
  isGroupOfSomebody,
  isPaidFor,
  leaveGroup,
  listPositions,
  removeDeleted,
  takeStrayRoles,
  updateCandidate,
  updateGroup,
  updatePosition,
  withdrawPosition,
} from './repository.ts';
import type { Candidate } from './types.ts';

const payload = z.strictObject({ kind: z.enum(['positions', 'candidates', 'groups']), eventId: z.string() });
type RemoveDeletedRows = z.output<typeof payload>;
export type DeletedPart = RemoveDeletedRows['kind'];

export const REMOVE_DELETED_ROWS = {
  name: 'remove_deleted_rows',
  maxAttempts: 25,
  group: 'deletions',
  payload,
} as const;

/** Deletes rows whose deletion was answered with 202. @param leaveGroups removes voters from deleted groups, with new row MACs */
export function removeDeletedRowsJob(
  db: Database,
  leaveGroups: (db: Database, eventId: string) => Promise<void>,
): Job<RemoveDeletedRows> {
  return defineJob({
    ...REMOVE_DELETED_ROWS,
    async work({ kind, eventId }) {
      if (kind === 'groups') await leaveGroups(db, eventId);
      await removeDeleted(db, kind, eventId);
    },
  });
}

const hasNoPosition = ({ positionIds }: Candidate): boolean => positionIds.length === 0;
const viewDeleted = ({ id, name }: { readonly id: string; readonly name: string }) => ({ id, name });

/** The fields of a deleted row that the audit trail records. */
const AUDITED = {
  positions: ['title', 'votingMethod', 'groupId'],
  candidates: ['name', 'positionIds', 'groupId', 'status'],
  groups: ['name'],
} as const;

/**
 * Queues the deletion of a position, candidate or group (202): this transaction marks the row, which hides it from every
 * reader; a job deletes the row within seconds. Candidates that stood for no other position are deleted too. Webhooks report
 * these candidates, and the candidates that lost a position or their group.
 * @throws ApiError 404; 409 `event_has_ballots`, `results_final`; 409 `group_in_use` for a group that a position requires
 */
export async function queueDeletion(
  tx: Transaction,
  deps: BallotChangeDeps & Pick<Deps, 'secrets'>,
  organizer: Organizer,
  kind: DeletedPart,
  id: string,
): Promise<ReturnType<typeof queued>> {
  const eventId = organizer.event.id;
  const event = await lockForChange(tx, eventId);
  const [about, deletedAt] = [aboutOf(event), event.lockedAt];
  const find = { positions: findPosition, candidates: findCandidate, groups: findGroup }[kind];
  const row = orNotFound(await find(tx, eventId, id));
  await requireUnused(tx, eventId, kind, id);
  const depends =
    'status' in row ? isStanding(row.status) : kind === 'positions' || (await isGroupOfSomebody(tx, eventId, id));
  await guardChange(tx, event, depends ? 'change_ballot_rules' : 'change_names');
  const gone: { candidates?: string[] } = {};
  if (kind === 'positions') {
    await updatePosition(tx, eventId, id, { deletedAt });
    const touched = await withdrawPosition(tx, eventId, id, deletedAt);
    const [along, left] = [touched.filter(hasNoPosition), touched.filter((candidate) => !hasNoPosition(candidate))];
    const strayed = await takeStrayRoles(tx, eventId, deletedAt);
    const changed = new Map([...left, ...strayed].map((candidate) => [candidate.id, candidate]));
    gone.candidates = along.map(({ name }) => name);
    if (along.length > 0) await enqueue(tx, REMOVE_DELETED_ROWS, { kind: 'candidates', eventId });
    await publish(tx, deps, about, 'candidate.deleted', along.map(viewDeleted));
    await publish(tx, deps, about, 'candidate.updated', [...changed.values()].map(viewCandidate));
  } else if (kind === 'candidates') {
    await updateCandidate(tx, eventId, id, { deletedAt });
  } else {
    await updateGroup(tx, eventId, id, { deletedAt, nameKey: null });
    // Count here, not in the job that changes the voters: the job may run after the close, whose leaf commits to this number.
    await countRollChanges(tx, deps.secrets, event, { roll: await countVotersIn(tx, eventId, id) });
    const touched = await leaveGroup(tx, eventId, id, deletedAt);
    await publish(tx, deps, about, 'candidate.updated', touched.map(viewCandidate));
  }
  await enqueue(tx, REMOVE_DELETED_ROWS, { kind, eventId });
  await renewBallotDefinition(tx, eventId, deletedAt);
  const told =
    kind === 'candidates' && 'name' in row
      ? ({ type: 'candidate.deleted', data: viewDeleted(row) } as const)
      : undefined;
  const before = { ...pick(row as Record<string, unknown>, AUDITED[kind]), ...gone };
  await recordBallotChange(tx, deps, organizer, `${kind.slice(0, -1)}.deleted`, id, { before }, told);
  return queued(id);
}

/** Refuses to delete a group that a position requires, or a row that a paid registration refers to. @throws ApiError 409 */
async function requireUnused(tx: Transaction, eventId: string, kind: DeletedPart, id: string): Promise<void> {
  if (kind === 'groups') {
    const positionIds = (await listPositions(tx, eventId, { groupId: id })).map((position) => position.id);
    if (positionIds.length > 0) throw refuse('group_in_use', { positionIds });
  }
  const paid = kind === 'candidates' ? isAnyCandidatePaidFor(tx, eventId, [id]) : isPaidFor(tx, eventId, [id]);
  if (await paid) throw refuse('paid_registration');
}
