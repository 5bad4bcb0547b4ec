import type { z } from 'zod';
import { differenceOf } from '#src/accounts/record-change.ts';
import type { Transaction } from '#src/database/client.ts';
import { notFound } from '#src/platform/errors.ts';
import type { Organizer } from '#src/voting-events/access.ts';
import { changedFields, guardChange, lockForChange, renewPaper } from '#src/voting-events/guard-change.ts';
import type { LifeAction } from '#src/voting-events/life.ts';
import { recordPaperChange, requireGroup, requirePayable, sentOnly, type TopUpDeps } from './paper-change.ts';
import { settle } from './position-settings.ts';
import { findPosition, listCandidates, updatePosition } from './repository.ts';
import type { updatePositionBody } from './schemas.ts';
import type { Position } from './types.ts';
import { limitOf } from './views.ts';

type Body = z.output<typeof updatePositionBody>;

/** What a field belongs to in the life of an event; every other one is what ballots depend on. */
const ACTION_BY_FIELD: { readonly [Field in keyof Body]?: LifeAction } = {
  description: 'change_words',
  title: 'change_names',
  sortOrder: 'change_names',
};

/** Changes a position. @throws ApiError 404; 422; 409 as `LIFE` says */
export async function changePosition(
  tx: Transaction,
  deps: TopUpDeps,
  organizer: Organizer,
  id: string,
  body: Body,
): Promise<Position> {
  const eventId = organizer.event.id;
  const event = await lockForChange(tx, eventId);
  const before = await findPosition(tx, eventId, id);
  if (before === undefined) throw notFound();
  const sent = sentOnly(body);
  const shown = { ...before, maxSelections: await shownLimit(tx, before) };
  const changed = changedFields(sent, sent.maxSelections === null ? before : shown);
  await requireGroup(tx, eventId, changed.groupId);
  await requirePayable(tx, deps, organizer, event, changed.quadraticTopUp);
  const settings = settle(changed.votingMethod ?? before.votingMethod, changed, before);
  if (Object.keys(changed).length === 0) return before;
  for (const name of Object.keys(changed) as (keyof Body)[]) {
    await guardChange(tx, event, ACTION_BY_FIELD[name] ?? 'change_ballot_rules');
  }
  const nowMs = event.lockedAt;
  const after = await updatePosition(tx, eventId, id, { ...changed, ...settings, updatedAt: nowMs });
  await renewPaper(tx, eventId, nowMs);
  await recordPaperChange(tx, deps, organizer, 'position.updated', id, differenceOf(before, after));
  return after;
}

/** A limit that follows the candidates is shown as their number; that number sent back is no limit of its own. */
async function shownLimit(tx: Transaction, position: Position): Promise<number> {
  if (position.maxSelections !== null) return position.maxSelections;
  return limitOf(position, await listCandidates(tx, position.votingEventId));
}
