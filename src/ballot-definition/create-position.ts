import type { z } from 'zod';
import type { Transaction } from '#src/database/client.ts';
import { NOTHING_FAULTY } from '#src/http/sound-parts.ts';
import type { Organizer } from '#src/voting-events/access.ts';
import { guardChange, lockForChange, renewBallotDefinition, takeNumber } from '#src/voting-events/guard-change.ts';
import type { createPositionBody } from './position.ts';
import { positionBodyIssues } from './position-issues.ts';
import { settle } from './position-settings.ts';
import {
  recordBallotChange,
  requireNoIssues,
  requireRoom,
  requireTopUp,
  sentOnly,
  type TopUpDeps,
} from './record-ballot-change.ts';
import { insertPosition } from './repository.ts';
import type { Position } from './types.ts';

/** Adds a position. @throws ApiError 422 for settings of another method; 409 `event_has_ballots`, `results_final`; 422 `plan_limit` */
export async function createPosition(
  tx: Transaction,
  deps: TopUpDeps,
  organizer: Organizer,
  body: z.output<typeof createPositionBody>,
): Promise<Position> {
  const eventId = organizer.event.id;
  const event = await lockForChange(tx, eventId);
  requireTopUp(deps, organizer, body.quadraticTopUp);
  requireNoIssues(await positionBodyIssues(tx, deps, event, undefined, body, NOTHING_FAULTY));
  const settings = settle(body.votingMethod, sentOnly(body), undefined);
  await guardChange(tx, event, 'change_ballot_rules');
  const count = await requireRoom(tx, 'positions', eventId);
  const nowMs = event.lockedAt;
  const position = await insertPosition(tx, {
    ...settings,
    votingEventId: eventId,
    id: deps.ids.sortable('pos'),
    number: await takeNumber(tx, eventId, 'position'),
    title: body.title,
    description: body.description ?? null,
    groupId: body.groupId ?? null,
    sortOrder: body.sortOrder ?? count,
    tieBreak: body.tieBreak ?? 'joint',
    createdAt: nowMs,
    updatedAt: nowMs,
  });
  await renewBallotDefinition(tx, eventId, nowMs);
  await recordBallotChange(tx, deps, organizer, 'position.created', position.id, {
    after: { title: position.title, votingMethod: position.votingMethod },
  });
  return position;
}
