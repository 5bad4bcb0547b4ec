import type { Executor } from '#src/database/client.ts';
import { listGroups } from './repository.ts';

/** The IDs of an event's groups, for checking a reference to one. */
export async function listGroupIds(executor: Executor, eventId: string): Promise<Set<string>> {
  return new Set((await listGroups(executor, eventId)).map((group) => group.id));
}
