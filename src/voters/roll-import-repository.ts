import { and, eq, inArray, sql } from 'drizzle-orm';
import type { Database, Transaction } from '#src/database/client.ts';
import { deleteInChunks } from '#src/database/in-chunks.ts';
import { DAY_MS } from '#src/platform/clock.ts';
import type { ImportProgress } from './import-roll.ts';
import { rollImports } from './tables.ts';

const named = (eventId: string, requestKeys: readonly Buffer[]) =>
  and(eq(rollImports.votingEventId, eventId), inArray(rollImports.requestKey, [...requestKeys]));

/** How far an import has come that was begun under one of these names, held until the transaction ends. */
export async function holdImport(
  tx: Transaction,
  eventId: string,
  requestKeys: readonly Buffer[],
): Promise<ImportProgress | undefined> {
  if (requestKeys.length === 0) return undefined;
  const [row] = await tx
    .select({
      rowsDone: rollImports.rowsDone,
      accepted: rollImports.accepted,
      rejected: rollImports.rejected,
      rejectedCount: rollImports.rejectedCount,
    })
    .from(rollImports)
    .where(named(eventId, requestKeys))
    .for('update');
  return row;
}

/** Begins an import under the first of its names, unless another process has just done that. */
export async function beginImport(
  tx: Transaction,
  eventId: string,
  [requestKey]: readonly Buffer[],
  progress: ImportProgress,
  nowMs: number,
): Promise<void> {
  if (requestKey === undefined) throw new Error('an import without a name has no progress');
  const row = { votingEventId: eventId, requestKey, ...progress, startedAt: nowMs };
  await tx.insert(rollImports).values(row).onConflictDoNothing();
}

/** Writes how far an import has come; the row is held. An import without a name keeps nothing. */
export async function saveImport(
  tx: Transaction,
  eventId: string,
  requestKeys: readonly Buffer[],
  { rowsDone, accepted, rejected, rejectedCount }: ImportProgress,
): Promise<void> {
  if (requestKeys.length === 0) return;
  await tx.update(rollImports).set({ rowsDone, accepted, rejected, rejectedCount }).where(named(eventId, requestKeys));
}

export async function forgetImport(tx: Transaction, eventId: string, requestKeys: readonly Buffer[]): Promise<void> {
  if (requestKeys.length > 0) await tx.delete(rollImports).where(named(eventId, requestKeys));
}

/** Removes what no repeat can ask for any more: the key is kept for a day. */
export async function forgetOldImports(db: Database): Promise<void> {
  await deleteInChunks(db, 'roll_imports', sql`started_at <= now_ms() - ${DAY_MS}`);
}
