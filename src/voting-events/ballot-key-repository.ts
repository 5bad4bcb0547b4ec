import { and, asc, eq, gt, inArray, isNotNull, sql } from 'drizzle-orm';
import type pg from 'pg';
import { type Executor, firstOf, type Transaction } from '#src/database/client.ts';
import { nowMs } from '#src/database/columns.ts';
import type { TaggedRows } from '#src/database/tagged-rows.ts';
import { type DecidingRow, isTagged, tagOfRow } from '#src/platform/row-tag.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { KeyName } from './key-places.ts';
import { ballotKeys } from './tables.ts';

const named = ({ eventId, id }: KeyName) => and(eq(ballotKeys.votingEventId, eventId), eq(ballotKeys.id, id));

export async function insertKeyRow(
  tx: Transaction,
  row: KeyName & { readonly wrapped: string | null; readonly nowMs: number },
): Promise<void> {
  await tx
    .insert(ballotKeys)
    .values({ votingEventId: row.eventId, id: row.id, wrapped: row.wrapped, createdAt: row.nowMs });
}

/** The row of a key; undefined once the key is destroyed. */
export function findKeyRow(executor: Executor, name: KeyName) {
  const columns = { wrapped: ballotKeys.wrapped, retiredAt: ballotKeys.retiredAt };
  return firstOf(executor.select(columns).from(ballotKeys).where(named(name)));
}

const retiredRow = ({ eventId, id }: KeyName): DecidingRow => ['ballot_keys', eventId, id];

/** Marks keys for destruction. Unless keys may be in files (`inFiles`), deletes keys in the database at once. @param only the ID of one */
export async function retireKeys(
  tx: Transaction,
  secrets: Secrets,
  eventId: string,
  inFiles: boolean,
  only?: string,
): Promise<void> {
  const meant = only === undefined ? eq(ballotKeys.votingEventId, eventId) : named({ eventId, id: only });
  if (!inFiles) await tx.delete(ballotKeys).where(and(meant, isNotNull(ballotKeys.wrapped)));
  const rows = await tx.select({ id: ballotKeys.id }).from(ballotKeys).where(meant);
  for (const { id } of rows)
    await tx
      .update(ballotKeys)
      .set({ retiredAt: nowMs, retiredTag: tagOfRow(secrets, retiredRow({ eventId, id })) })
      .where(named({ eventId, id }));
}

/** Keys that the service retired. Leaves out keys that other SQL marked, because destruction is final. */
export async function listRetiredKeys(executor: Executor, secrets: Secrets, eventId: string | undefined) {
  const { votingEventId, id, seenIn, retiredAt, retiredTag: tag, wrapped } = ballotKeys;
  const rows = await executor
    .select({ eventId: votingEventId, id, seenIn, tag, inFiles: sql<boolean>`${wrapped} IS NULL` })
    .from(ballotKeys)
    .where(and(isNotNull(retiredAt), eventId === undefined ? undefined : eq(votingEventId, eventId)))
    .orderBy(asc(votingEventId), asc(id));
  return rows.filter((row) => isTagged(secrets, row.tag, retiredRow(row)));
}

/** Tags of retirements whose keys still exist in some folder. A folder may be unreachable for longer than a secret key stays listed. */
export const taggedKeys: TaggedRows = {
  ...{ name: 'keys of elections to be destroyed', table: 'ballot_keys', column: 'retired_tag' },
  async read(db, after, limit) {
    const { votingEventId: eventId, id, retiredTag } = ballotKeys;
    const meant = and(gt(id, after), isNotNull(retiredTag));
    const rows = await db
      .select({ eventId, id, retiredTag })
      .from(ballotKeys)
      .where(meant)
      .orderBy(asc(id))
      .limit(limit);
    return rows.map((row) => ({ id: row.id, tag: row.retiredTag ?? Buffer.of(), row: retiredRow(row) }));
  },
};

/** Records that, from now on, the absence of a key's file in a folder means destruction, and not an unmounted disk. */
export async function noteSeen(
  client: Pick<pg.Client | pg.Pool, 'query'>,
  { eventId, id }: KeyName,
  folder: string,
): Promise<void> {
  await client.query(
    'UPDATE ballot_keys SET seen_in = seen_in || $3 WHERE voting_event_id = $1 AND id = $2 AND NOT $3 = ANY (seen_in)',
    [eventId, id, folder],
  );
}

export async function deleteKeyRow(executor: Executor, name: KeyName): Promise<void> {
  await executor.delete(ballotKeys).where(named(name));
}

/** Those of `ids` that have a row, which means that their keys are not destroyed. */
export async function listKeyNames(executor: Executor, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await executor
    .select({ id: ballotKeys.id })
    .from(ballotKeys)
    .where(inArray(ballotKeys.id, [...ids]));
  return new Set(rows.map(({ id }) => id));
}
