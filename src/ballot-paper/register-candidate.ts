import type { z } from 'zod';
import type { Transaction } from '#src/database/client.ts';
import { forbidden } from '#src/platform/errors.ts';
import type { VoteCaller } from '#src/voting-events/access.ts';
import { lockForChange, renewPaper } from '#src/voting-events/guard-change.ts';
import { notOpen, statusAt } from '#src/voting-events/lifecycle.ts';
import { takeNumber } from '#src/voting-events/take-number.ts';
import { type PaperDeps, requireGroup, requireKnownPositions, requireRoom } from './paper-change.ts';
import { insertCandidate, listPositions } from './repository.ts';
import type { registerCandidateBody } from './schemas.ts';
import type { Candidate } from './types.ts';

/**
 * Registers a candidate that waits for the organizer's approval (contract, "Candidate registration body").
 * @throws ApiError 403 `registration_closed`, `event_closed`; 422 for unknown positions or group; 422 `plan_limit`
 */
export async function registerCandidate(
  tx: Transaction,
  deps: PaperDeps,
  caller: VoteCaller,
  body: z.output<ReturnType<typeof registerCandidateBody>>,
): Promise<Candidate> {
  const event = await lockForChange(tx, caller.event.id);
  const positions = await listPositions(tx, event.id);
  requireKnownPositions(body.positionIds, new Set(positions.map((position) => position.id)));
  await requireGroup(tx, event.id, body.groupId);
  if (!event.candidateSelfRegistration)
    throw forbidden('registration_closed', 'Candidates cannot register themselves for this event.');
  const nowMs = deps.clock.now();
  const status = statusAt(event, nowMs);
  if (status === 'closed') throw notOpen(status);
  const count = await requireRoom(tx, 'candidates', event.id);
  const candidate = await insertCandidate(tx, {
    votingEventId: event.id,
    id: deps.ids.sortable('cnd'),
    number: await takeNumber(tx, event.id, 'candidate'),
    name: body.name,
    email: body.email ?? null,
    positionIds: body.positionIds,
    groupId: body.groupId ?? null,
    avatarUrl: body.avatarUrl ?? null,
    status: 'pending',
    source: 'registration',
    sortOrder: count,
    createdAt: nowMs,
    updatedAt: nowMs,
  });
  await renewPaper(tx, event.id, nowMs);
  return candidate;
}
