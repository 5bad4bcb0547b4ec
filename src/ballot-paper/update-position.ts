import type { z } from 'zod';
import { differenceOf } from '#src/accounts/record-change.ts';
import type { Transaction } from '#src/database/client.ts';
import { notFound } from '#src/platform/errors.ts';
import type { Organizer } from '#src/voting-events/access.ts';
import { lockForChange, renewPaper, requireNoBallots } from '#src/voting-events/guard-change.ts';
import { recordPaperChange, requireGroup, requirePayable, sentOnly, type TopUpDeps } from './paper-change.ts';
import { settle } from './position-settings.ts';
import { findPosition, updatePosition } from './repository.ts';
import type { updatePositionBody } from './schemas.ts';
import type { Position } from './types.ts';

/** What stays editable once ballots were cast: words, and where the position stands on the page. */
const ALWAYS_EDITABLE = new Set(['title', 'description', 'sortOrder']);

/** Changes a position. @throws ApiError 404, 409 `event_has_ballots` for what ballots depend on, 422 */
export async function changePosition(
  tx: Transaction,
  deps: TopUpDeps,
  organizer: Organizer,
  id: string,
  body: z.output<typeof updatePositionBody>,
): Promise<Position> {
  const eventId = organizer.event.id;
  const event = await lockForChange(tx, eventId);
  const before = await findPosition(tx, eventId, id);
  if (before === undefined) throw notFound();
  const sent = sentOnly(body);
  if (Object.keys(sent).some((name) => !ALWAYS_EDITABLE.has(name))) await requireNoBallots(tx, eventId);
  await requireGroup(tx, eventId, body.groupId);
  await requirePayable(tx, deps, organizer, event, body.quadraticTopUp);
  const nowMs = deps.clock.now();
  const settings = settle(body.votingMethod ?? before.votingMethod, sent, before);
  const after = await updatePosition(tx, eventId, id, { ...sent, ...settings, updatedAt: nowMs });
  await renewPaper(tx, eventId, nowMs);
  await recordPaperChange(tx, deps, organizer, 'position.updated', id, differenceOf(before, after));
  return after;
}
