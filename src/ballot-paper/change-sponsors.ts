import type { z } from 'zod';
import { differenceOf } from '#src/accounts/record-change.ts';
import type { Transaction } from '#src/database/client.ts';
import { notFound } from '#src/platform/errors.ts';
import type { Organizer } from '#src/voting-events/access.ts';
import { changedFields, lockForChange, touchPaper } from '#src/voting-events/guard-change.ts';
import { type PaperDeps, recordPaperChange, requireRoom, sentOnly } from './paper-change.ts';
import { deleteSponsor, findSponsor, insertSponsor, updateSponsor } from './repository.ts';
import type { createSponsorBody, updateSponsorBody } from './schemas.ts';
import type { Sponsor } from './types.ts';

/** Adds a sponsor. @throws ApiError 422 `plan_limit` */
export async function createSponsor(
  tx: Transaction,
  deps: PaperDeps,
  organizer: Organizer,
  body: z.output<typeof createSponsorBody>,
): Promise<Sponsor> {
  const eventId = organizer.event.id;
  const event = await lockForChange(tx, eventId);
  const count = await requireRoom(tx, 'sponsors', eventId);
  const nowMs = event.lockedAt;
  const sponsor = await insertSponsor(tx, {
    votingEventId: eventId,
    id: deps.ids.sortable('spn'),
    name: body.name,
    logoUrl: body.logoUrl ?? null,
    websiteUrl: body.websiteUrl ?? null,
    tier: body.tier ?? null,
    sortOrder: body.sortOrder ?? count,
    createdAt: nowMs,
    updatedAt: nowMs,
  });
  await touchPaper(tx, eventId, nowMs);
  await recordPaperChange(tx, deps, organizer, 'sponsor.created', sponsor.id, { after: { name: sponsor.name } });
  return sponsor;
}

/** Changes a sponsor. @throws ApiError 404 */
export async function changeSponsor(
  tx: Transaction,
  deps: PaperDeps,
  organizer: Organizer,
  id: string,
  body: z.output<typeof updateSponsorBody>,
): Promise<Sponsor> {
  const eventId = organizer.event.id;
  const event = await lockForChange(tx, eventId);
  const before = await findSponsor(tx, eventId, id);
  if (before === undefined) throw notFound();
  const changed = changedFields(sentOnly(body), before);
  if (Object.keys(changed).length === 0) return before;
  const nowMs = event.lockedAt;
  const after = await updateSponsor(tx, eventId, id, { ...changed, updatedAt: nowMs });
  await touchPaper(tx, eventId, nowMs);
  await recordPaperChange(tx, deps, organizer, 'sponsor.updated', id, differenceOf(before, after));
  return after;
}

/** Deletes a sponsor at once (204). @throws ApiError 404 */
export async function removeSponsor(tx: Transaction, deps: PaperDeps, organizer: Organizer, id: string): Promise<void> {
  const eventId = organizer.event.id;
  const event = await lockForChange(tx, eventId);
  const before = await findSponsor(tx, eventId, id);
  if (before === undefined) throw notFound();
  await deleteSponsor(tx, eventId, id);
  await touchPaper(tx, eventId, event.lockedAt);
  await recordPaperChange(tx, deps, organizer, 'sponsor.deleted', id, { before: { name: before.name } });
}
