import type { z } from 'zod';
import { differenceOf } from '#src/accounts/changes.ts';
import type { Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { NOTHING_FAULTY } from '#src/http/sound-parts.ts';
import { orNotFound } from '#src/platform/errors.ts';
import type { Organizer } from '#src/voting-events/access.ts';
import { changedFields, guardChange, lockForChange, renewBallotDefinition } from '#src/voting-events/guard-change.ts';
import type { LifeAction } from '#src/voting-events/lifecycle.ts';
import { type updateCandidateBody, viewCandidate } from './candidate.ts';
import { candidateIssues, changedLinks } from './candidate-issues.ts';
import {
  type BallotChangeDeps,
  isStanding,
  recordBallotChange,
  requireNoIssues,
  requireRoomForCandidate,
  sentOnly,
} from './record-ballot-change.ts';
import { findCandidate, updateCandidate } from './repository.ts';
import type { Candidate } from './types.ts';

type Body = z.output<typeof updateCandidateBody>;

/** Fields that voters see or tallies use. Once ballots exist, they are fixed for approved and withdrawn candidates (completions 3). */
const SHOWN: ReadonlySet<keyof Body> = new Set([
  ...(['name', 'positionIds', 'referendumRole', 'groupId', 'avatarUrl', 'sortOrder'] as const),
]);

/** The action in `LIFE` that decides when a field may change. */
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
export async function changeCandidate(
  tx: Transaction,
  deps: BallotChangeDeps & Pick<Deps, 'logRecorder'>,
  organizer: Organizer,
  id: string,
  body: Body,
): Promise<Candidate> {
  const eventId = organizer.event.id;
  const event = await lockForChange(tx, eventId);
  const before = orNotFound(await findCandidate(tx, eventId, id));
  const changed = changedFields(sentOnly(body), before);
  requireNoIssues(await candidateIssues(tx, eventId, changedLinks(before, body, NOTHING_FAULTY)));
  if (Object.keys(changed).length === 0) return before;
  for (const name of Object.keys(changed) as (keyof Body)[]) await guardChange(tx, event, actionOf(name, before));
  if (changed.status !== undefined && changed.status !== MOVES_WITH_BALLOTS[before.status])
    await guardChange(tx, event, 'change_ballot_rules');
  if (changed.status !== undefined) {
    // A rejected registration did not count against the limit: with any other status it counts again.
    const takesPlace = before.status === 'rejected' && before.source === 'registration';
    const stands = isStanding(changed.status) && !isStanding(before.status);
    await requireRoomForCandidate(tx, eventId, { stands, ...(takesPlace ? { source: 'registration' } : {}) });
  }
  const nowMs = event.lockedAt;
  const after = await updateCandidate(tx, eventId, id, { ...changed, updatedAt: nowMs });
  const renewed = await renewBallotDefinition(tx, eventId, nowMs);
  // Logs the change now, because it can change the minimum of choices: the log's job could miss a withdrawal and return.
  if (changed.status !== undefined) await deps.logRecorder.record(tx, renewed);
  const told = { type: 'candidate.updated', data: viewCandidate(after) } as const;
  const change = differenceOf(before, after);
  await recordBallotChange(tx, deps, organizer, 'candidate.updated', id, change, told);
  return after;
}
