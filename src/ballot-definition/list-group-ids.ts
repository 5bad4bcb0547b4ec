import type { Executor } from '#src/database/client.ts';
import { nameKeyOf } from './group-name.ts';
import { listGroups } from './repository.ts';

/** The IDs of an event's groups, for checking a reference to one. */
export async function listGroupIds(executor: Executor, eventId: string): Promise<Set<string>> {
  return new Set((await listGroups(executor, eventId)).map((group) => group.id));
}

/** The IDs of an event's groups by the key of their names, for rows that people wrote. */
export async function listGroupIdsByName(executor: Executor, eventId: string): Promise<Map<string, string>> {
  return new Map((await listGroups(executor, eventId)).map(({ id, name }) => [nameKeyOf(name), id]));
}
