import { refuse } from '#src/http/refusals.ts';
import { enqueue } from '#src/jobs/queue.ts';
import {
  type BulkChange,
  guardChange,
  lockForChange,
  renewBallotDefinition,
  requireOwn,
} from '#src/voting-events/guard-change.ts';
import { aboutOf } from '#src/voting-events/voting-event.ts';
import { publish } from '#src/webhooks/record-event.ts';
import { viewCandidate } from './candidate.ts';
import { REMOVE_DELETED_ROWS } from './delete-rows.ts';
import { type BallotChangeDeps, isStanding, recordBallotChange } from './record-ballot-change.ts';
import { isAnyCandidatePaidFor, listCandidatesByIds, updateCandidates } from './repository.ts';

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
