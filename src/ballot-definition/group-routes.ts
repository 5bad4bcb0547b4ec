import { Hono } from 'hono';
import type { z } from 'zod';
import { differenceOf } from '#src/accounts/changes.ts';
import { type Transaction, violatedConstraint } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { created, list, ok } from '#src/http/answer.ts';
import { change } from '#src/http/answer-once.ts';
import { body } from '#src/http/body.ts';
import type { Env } from '#src/http/env.ts';
import { refuse } from '#src/http/refusals.ts';
import { takeIdempotencyKey } from '#src/http/replay.ts';
import { answer, costly } from '#src/http/send.ts';
import { notFound } from '#src/platform/errors.ts';
import { loadEvent, loadRow, type Organizer } from '#src/voting-events/access.ts';
import { changedFields, guardChange, lockForChange, touchBallotDefinition } from '#src/voting-events/guard-change.ts';
import { queueDeletion } from './delete-rows.ts';
import { createGroupBody, groupView, nameKeyOf, searchQuery, updateGroupBody, viewGroup } from './group.ts';
import { changing, creating, deleting, listing, reading } from './part-operations.ts';
import { type BallotChangeDeps, recordBallotChange, requireRoom, sentOnly } from './record-ballot-change.ts';
import { findGroup, insertGroup, listGroups, updateGroup } from './repository.ts';
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
async function createGroup(
  tx: Transaction,
  deps: BallotChangeDeps,
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
  await touchBallotDefinition(tx, eventId, nowMs);
  await recordBallotChange(tx, deps, organizer, 'group.created', group.id, { after: { name: group.name } });
  return group;
}

/** Renames or describes a group. @throws ApiError 404; 409 for a name in use; 409 `results_final` for a new name */
async function changeGroup(
  tx: Transaction,
  deps: BallotChangeDeps,
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
  await touchBallotDefinition(tx, eventId, nowMs);
  await recordBallotChange(tx, deps, organizer, 'group.updated', id, differenceOf(before, after));
  return after;
}

export function groupRouter(deps: Deps): Hono<Env> {
  const event = loadEvent(deps);
  const group = loadRow(deps, findGroup);
  const router = new Hono<Env>();
  router.on(...listing('Group', groupView, searchQuery), event, (c) =>
    costly(c, c.get('caller').accountId, async () =>
      list((await listGroups(deps.reads, c.get('target').event.id, c.get('query').search)).map(viewGroup)),
    ),
  );
  router.on(
    ...creating('Group', groupView, { refusals: ['name_in_use', 'plan_limit'], example: { name: 'North' } }),
    event,
    takeIdempotencyKey(),
    body(createGroupBody),
    (c) => change(c, async (tx) => created(viewGroup(await createGroup(tx, deps, c.get('target'), c.get('body'))))),
  );
  router.on(...reading('Group', groupView), group, async (c) => answer(c, ok(viewGroup(c.get('target').row))));
  router.on(
    ...changing('Group', groupView, {
      refusals: ['name_in_use', 'results_final'],
      example: { description: 'North of the river.' },
    }),
    group,
    body(updateGroupBody, undefined, ({ row }: { readonly row: Group }) => viewGroup(row)),
    (c) =>
      change(c, async (tx) =>
        ok(viewGroup(await changeGroup(tx, deps, c.get('target'), c.get('target').row.id, c.get('body')))),
      ),
  );
  router.on(...deleting('Group', ['event_has_ballots', 'results_final', 'group_in_use']), group, (c) =>
    change(c, (tx) => queueDeletion(tx, deps, c.get('target'), 'groups', c.get('target').row.id)),
  );
  return router;
}
