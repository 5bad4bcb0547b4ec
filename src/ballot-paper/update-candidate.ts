import type { z } from 'zod';
import { differenceOf } from '#src/accounts/record-change.ts';
import type { Transaction } from '#src/database/client.ts';
import { notFound } from '#src/platform/errors.ts';
import type { Organizer } from '#src/voting-events/access.ts';
import { lockForChange, renewPaper, requireNoBallots } from '#src/voting-events/guard-change.ts';
import { checkReferendumRole } from './create-candidate.ts';
import { type PaperDeps, recordPaperChange, requireGroup, requireKnownPositions, sentOnly } from './paper-change.ts';
import { findCandidate, listPositions, updateCandidate } from './repository.ts';
import type { updateCandidateBody } from './schemas.ts';
import type { Candidate } from './types.ts';
import { viewCandidate } from './views.ts';

type Body = z.output<typeof updateCandidateBody>;

/** Positions, roles and the order that may break ties are what ballots depend on; so is a candidacy that ballots may name. */
function touchesBallots(before: Candidate, body: Body): boolean {
  const leavesBallot = before.status === 'approved' && (body.status === 'pending' || body.status === 'rejected');
  return (
    body.positionIds !== undefined || body.referendumRole !== undefined || body.sortOrder !== undefined || leavesBallot
  );
}

/**
 * Changes a candidate. Once ballots were cast, one that must go is set `withdrawn`: its votes stay, ranked counts skip it.
 * @throws ApiError 404, 409 `event_has_ballots`, 422
 */
export async function changeCandidate(
  tx: Transaction,
  deps: PaperDeps,
  organizer: Organizer,
  id: string,
  body: Body,
): Promise<Candidate> {
  const eventId = organizer.event.id;
  await lockForChange(tx, eventId);
  const before = await findCandidate(tx, eventId, id);
  if (before === undefined) throw notFound();
  if (touchesBallots(before, body)) await requireNoBallots(tx, eventId);
  if (body.positionIds !== undefined || body.referendumRole !== undefined) {
    const positions = await listPositions(tx, eventId);
    const positionIds = body.positionIds ?? before.positionIds;
    requireKnownPositions(positionIds, new Set(positions.map((position) => position.id)));
    checkReferendumRole(
      body.referendumRole === undefined ? before.referendumRole : body.referendumRole,
      positionIds,
      positions,
    );
  }
  await requireGroup(tx, eventId, body.groupId);
  const nowMs = deps.clock.now();
  const after = await updateCandidate(tx, eventId, id, { ...sentOnly(body), updatedAt: nowMs });
  await renewPaper(tx, eventId, nowMs);
  const told = { type: 'candidate.updated', data: viewCandidate(after) } as const;
  const change = differenceOf(before, after);
  await recordPaperChange(tx, deps, organizer, 'candidate.updated', id, change, told);
  return after;
}
