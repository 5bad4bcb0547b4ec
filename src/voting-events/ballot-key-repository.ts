import { and, eq, inArray, isNull, sql } from 'drizzle-orm';
import type pg from 'pg';
import type { Executor, Transaction } from '#src/database/client.ts';
import { nowMs } from '#src/database/columns.ts';
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

/** The row of a key; undefined once it is destroyed. */
export async function findKeyRow(
  executor: Executor,
  name: KeyName,
): Promise<{ readonly wrapped: string | null; readonly retiredAt: number | null } | undefined> {
  const columns = { wrapped: ballotKeys.wrapped, retiredAt: ballotKeys.retiredAt };
  const [row] = await executor.select(columns).from(ballotKeys).where(named(name));
  return row;
}

/** A key in files is marked, and goes with its files; one in the database goes at once. */
export async function retireKeys(tx: Transaction, eventId: string): Promise<void> {
  await tx.execute(sql`DELETE FROM ballot_keys WHERE voting_event_id = ${eventId} AND wrapped IS NOT NULL`);
  await tx
    .update(ballotKeys)
    .set({ retiredAt: nowMs })
    .where(and(eq(ballotKeys.votingEventId, eventId), isNull(ballotKeys.retiredAt)));
}

/**
 * Keys that nothing needs any more. One whose event may still take ballots is left out, whatever its row says: a key that is
 * gone cannot be had back.
 */
export async function listRetiredKeys(
  executor: Executor,
  eventId: string | undefined,
): Promise<(KeyName & { readonly inFiles: boolean; readonly seenIn: readonly string[] })[]> {
  const { rows } = await executor.execute<{ event: string; id: string; in_files: boolean; seen_in: string[] }>(sql`
    SELECT k.voting_event_id AS event, k.id, k.wrapped IS NULL AS in_files, k.seen_in
    FROM ballot_keys k LEFT JOIN voting_events e ON e.id = k.voting_event_id AND e.deleted_at IS NULL
    WHERE k.retired_at IS NOT NULL AND (${eventId ?? null}::text IS NULL OR k.voting_event_id = ${eventId ?? null})
      AND (e.id IS NULL OR e.ballot_key IS DISTINCT FROM k.id
        OR is_final(e, now_ms()))
    ORDER BY k.voting_event_id, k.id`);
  return rows.map((row) => ({ eventId: row.event, id: row.id, inFiles: row.in_files, seenIn: row.seen_in }));
}

/** A folder that lacks the file of a key from now on lacks it for good. */
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

/** Those of some IDs that name a key which is not destroyed. */
export async function listKeyNames(executor: Executor, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await executor
    .select({ id: ballotKeys.id })
    .from(ballotKeys)
    .where(inArray(ballotKeys.id, [...ids]));
  return new Set(rows.map(({ id }) => id));
}
