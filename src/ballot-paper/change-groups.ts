import type { z } from 'zod';
import { differenceOf } from '#src/accounts/record-change.ts';
import { type Transaction, violatedConstraint } from '#src/database/client.ts';
import { refuse } from '#src/http/refusals.ts';
import { notFound } from '#src/platform/errors.ts';
import type { Organizer } from '#src/voting-events/access.ts';
import { changedFields, guardChange, lockForChange, touchPaper } from '#src/voting-events/guard-change.ts';
import { nameKeyOf } from './list-group-ids.ts';
import { type PaperDeps, recordPaperChange, requireRoom, sentOnly } from './paper-change.ts';
import { findGroup, insertGroup, updateGroup } from './repository.ts';
import type { createGroupBody, updateGroupBody } from './schemas.ts';
import type { Group } from './types.ts';

async function nameConflict<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (fault) {
    if (violatedConstraint(fault) === 'groups_name') throw refuse('name_in_use', { field: 'name' });
    throw fault;
  }
}

/** Adds a group. @throws ApiError 409 for a name in use, 422 `plan_limit` */
export async function createGroup(
  tx: Transaction,
  deps: PaperDeps,
  organizer: Organizer,
  body: z.output<typeof createGroupBody>,
): Promise<Group> {
  const eventId = organizer.event.id;
  const event = await lockForChange(tx, eventId);
  await requireRoom(tx, 'groups', eventId);
  const nowMs = event.lockedAt;
  const group = await nameConflict(
    insertGroup(tx, {
      votingEventId: eventId,
      id: deps.ids.sortable('grp'),
      name: body.name,
      nameKey: nameKeyOf(body.name),
      description: body.description ?? null,
      createdAt: nowMs,
      updatedAt: nowMs,
    }),
  );
  await touchPaper(tx, eventId, nowMs);
  await recordPaperChange(tx, deps, organizer, 'group.created', group.id, { after: { name: group.name } });
  return group;
}

/** Renames or describes a group. @throws ApiError 404; 409 for a name in use; 409 `results_final` for a new name */
export async function changeGroup(
  tx: Transaction,
  deps: PaperDeps,
  organizer: Organizer,
  id: string,
  body: z.output<typeof updateGroupBody>,
): Promise<Group> {
  const eventId = organizer.event.id;
  const event = await lockForChange(tx, eventId);
  const before = await findGroup(tx, eventId, id);
  if (before === undefined) throw notFound();
  const changed = changedFields(sentOnly(body), before);
  if (Object.keys(changed).length === 0) return before;
  await guardChange(tx, event, changed.name === undefined ? 'change_words' : 'change_names');
  const nowMs = event.lockedAt;
  const renamed = changed.name === undefined ? {} : { nameKey: nameKeyOf(changed.name) };
  const after = await nameConflict(updateGroup(tx, eventId, id, { ...changed, ...renamed, updatedAt: nowMs }));
  await touchPaper(tx, eventId, nowMs);
  await recordPaperChange(tx, deps, organizer, 'group.updated', id, differenceOf(before, after));
  return after;
}
