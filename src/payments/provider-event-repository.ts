import { and, desc, eq, sql } from 'drizzle-orm';
import type { Database, Executor } from '#src/database/client.ts';
import { nowMs } from '#src/database/columns.ts';
import { deleteInChunks } from '#src/database/in-chunks.ts';
import { providerEvents } from './tables.ts';

export type ProviderEvent = typeof providerEvents.$inferSelect;
type NewProviderEvent = typeof providerEvents.$inferInsert;

/** Stores a message; false when it came before. */
export async function insertProviderEvent(executor: Executor, row: NewProviderEvent): Promise<boolean> {
  const rows = await executor
    .insert(providerEvents)
    .values(row)
    .onConflictDoNothing()
    .returning({ eventKey: providerEvents.eventKey });
  return rows.length === 1;
}

function at(paymentBusinessId: string, eventKey: string) {
  return and(eq(providerEvents.paymentBusinessId, paymentBusinessId), eq(providerEvents.eventKey, eventKey));
}

export async function findProviderEvent(
  executor: Executor,
  paymentBusinessId: string,
  eventKey: string,
): Promise<ProviderEvent | undefined> {
  const [row] = await executor.select().from(providerEvents).where(at(paymentBusinessId, eventKey));
  return row;
}

export async function endProviderEvent(
  executor: Executor,
  paymentBusinessId: string,
  eventKey: string,
  outcome: NonNullable<ProviderEvent['outcome']>,
): Promise<void> {
  await executor
    .update(providerEvents)
    .set({ outcome, processedAt: sql`${nowMs}` })
    .where(at(paymentBusinessId, eventKey));
}

/** The message of a business that came last. */
export async function findNewestEvent(executor: Executor, businessId: string): Promise<ProviderEvent | undefined> {
  const [row] = await executor
    .select()
    .from(providerEvents)
    .where(eq(providerEvents.paymentBusinessId, businessId))
    .orderBy(desc(providerEvents.receivedAt))
    .limit(1);
  return row;
}

const MATCHED_AT_ONCE = 1_000;

/** Messages that named no known attempt, newest first. */
export async function listUnmatchedEvents(executor: Executor): Promise<ProviderEvent[]> {
  return executor
    .select()
    .from(providerEvents)
    .where(eq(providerEvents.outcome, 'unmatched'))
    .orderBy(desc(providerEvents.receivedAt))
    .limit(MATCHED_AT_ONCE);
}

/** Forgets processed messages that are older than a moment. */
export async function dropProviderEvents(db: Database, beforeMs: number): Promise<void> {
  await deleteInChunks(db, 'provider_events', sql`received_at < ${beforeMs} AND processed_at IS NOT NULL`);
}
