import type { z } from 'zod';
import { differenceOf } from '#src/accounts/changes.ts';
import { violatedConstraint } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { body } from '#src/http/body.ts';
import { refuse } from '#src/http/refusals.ts';
import { orNotFound } from '#src/platform/errors.ts';
import { changedFields, guardChange, lockForChange, touchBallotDefinition } from '#src/voting-events/guard-change.ts';
import { givenOf } from '#src/voting-events/repository.ts';
import { createGroupBody, groupView, nameKeyOf, searchQuery, updateGroupBody, viewGroup } from './group.ts';
import { partRouter } from './part-operations.ts';
import { type ChangePart, type CreatePart, newRow, recordBallotChange, requireRoom } from './record-ballot-change.ts';
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
const createGroup: CreatePart<Group, z.output<typeof createGroupBody>> = async (tx, deps, organizer, body) => {
  const event = await lockForChange(tx, organizer.event.id);
  await requireRoom(tx, 'groups', event.id);
  const row = { ...body, ...newRow(deps, event, 'groups'), nameKey: nameKeyOf(body.name) };
  const group = await nameConflict(insertGroup(tx, row));
  await touchBallotDefinition(tx, event.id, event.lockedAt);
  await recordBallotChange(tx, deps, organizer, 'group.created', group.id, { after: { name: group.name } });
  return group;
};

/** Changes a group's name or description. @throws ApiError 404; 409 for a name in use; 409 `results_final` for a new name */
const changeGroup: ChangePart<Group, z.output<typeof updateGroupBody>> = async (tx, deps, organizer, id, body) => {
  const event = await lockForChange(tx, organizer.event.id);
  const { id: eventId, lockedAt: nowMs } = event;
  const before = orNotFound(await findGroup(tx, eventId, id));
  const changed = changedFields(givenOf(body), before);
  if (Object.keys(changed).length === 0) return before;
  await guardChange(tx, event, changed.name === undefined ? 'change_words' : 'change_names');
  const renamed = changed.name === undefined ? {} : { nameKey: nameKeyOf(changed.name) };
  const after = await nameConflict(updateGroup(tx, eventId, id, { ...changed, ...renamed, updatedAt: nowMs }));
  await touchBallotDefinition(tx, eventId, nowMs);
  await recordBallotChange(tx, deps, organizer, 'group.updated', id, differenceOf(before, after));
  return after;
};

export const groupRouter = (deps: Deps) =>
  partRouter(deps, {
    ...{ name: 'Group', view: groupView, find: findGroup, show: viewGroup, query: searchQuery },
    list: async (reads, eventId, { search }) => (await listGroups(reads, eventId, search)).map(viewGroup),
    creation: {
      words: { refusals: ['name_in_use', 'plan_limit'], example: { name: 'North' } },
      body: body(createGroupBody),
      work: createGroup,
    },
    change: {
      words: { refusals: ['name_in_use', 'results_final'], example: { description: 'North of the river.' } },
      body: body(updateGroupBody, undefined, ({ row }) => viewGroup(row)),
      work: changeGroup,
    },
    deletion: { kind: 'groups', refusals: ['event_has_ballots', 'results_final', 'group_in_use'] },
  });
