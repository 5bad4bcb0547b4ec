import { and, eq, isNull } from 'drizzle-orm';
import type { Executor, Transaction } from '#src/database/client.ts';
import { voterImports } from './tables.ts';

/** How far the import of one file into one event has come. */
export type ImportProgress = typeof voterImports.$inferSelect;

const ofImport = (eventId: string, fileHash: Buffer) =>
  and(eq(voterImports.votingEventId, eventId), eq(voterImports.fileHash, fileHash));

const NOTHING_DONE = { linesDone: 0, accepted: 0, rejected: 0, existing: 0, reportBytes: 0, finishedAt: null };

/** The progress of a file's import; a new one where it was never begun. */
export async function beginImport(
  executor: Executor,
  eventId: string,
  fileHash: Buffer,
  nowMs: number,
): Promise<ImportProgress> {
  const fresh: ImportProgress = { votingEventId: eventId, fileHash, ...NOTHING_DONE, startedAt: nowMs };
  const [inserted] = await executor.insert(voterImports).values(fresh).onConflictDoNothing().returning();
  if (inserted !== undefined) return inserted;
  const [found] = await executor.select().from(voterImports).where(ofImport(eventId, fileHash));
  return found ?? fresh;
}

/** Lets the next run of a file begin with its first line. */
export async function forgetImport(executor: Executor, eventId: string, fileHash: Buffer): Promise<void> {
  await executor.delete(voterImports).where(ofImport(eventId, fileHash));
}

/**
 * Takes the next lines of a file for this transaction: false when another process has taken them, or the import is over.
 * The row stays locked until the transaction ends, so that two runs of one file never deal with the same line.
 */
export async function holdImport(tx: Transaction, before: ImportProgress): Promise<boolean> {
  const rows = await tx
    .select({ linesDone: voterImports.linesDone })
    .from(voterImports)
    .where(
      and(
        ofImport(before.votingEventId, before.fileHash),
        eq(voterImports.linesDone, before.linesDone),
        eq(voterImports.startedAt, before.startedAt),
        isNull(voterImports.finishedAt),
      ),
    )
    .for('update');
  return rows.length === 1;
}

/** Writes how far the import has come; the row is held. */
export async function saveImport(tx: Transaction, after: ImportProgress): Promise<void> {
  await tx.update(voterImports).set(after).where(ofImport(after.votingEventId, after.fileHash));
}
