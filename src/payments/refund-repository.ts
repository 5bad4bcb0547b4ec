import { and, asc, eq, inArray, sql } from 'drizzle-orm';
import type { Executor } from '#src/database/client.ts';
import { nowMs } from '#src/database/columns.ts';
import { paymentRefunds } from './tables.ts';

export type Refund = typeof paymentRefunds.$inferSelect;

interface RefundRef {
  readonly votingEventId: string;
  readonly attemptId: string;
  readonly providerPaymentId: string;
}

function at(ref: RefundRef) {
  return and(
    eq(paymentRefunds.votingEventId, ref.votingEventId),
    eq(paymentRefunds.attemptId, ref.attemptId),
    eq(paymentRefunds.providerPaymentId, ref.providerPaymentId),
  );
}

/** Marks a payment as one that goes back; false when that was done before. */
export async function insertRefund(
  executor: Executor,
  row: RefundRef & { readonly reference: string; readonly amountMinor: number; readonly currency: string },
): Promise<boolean> {
  const rows = await executor
    .insert(paymentRefunds)
    .values({ ...row, status: 'due', createdAt: sql`${nowMs}`, updatedAt: sql`${nowMs}` })
    .onConflictDoNothing()
    .returning({ attemptId: paymentRefunds.attemptId });
  return rows.length === 1;
}

export async function findRefund(executor: Executor, ref: RefundRef): Promise<Refund | undefined> {
  const [row] = await executor.select().from(paymentRefunds).where(at(ref));
  return row;
}

/** The refunds of some attempts of an event, oldest first. */
export async function listRefunds(
  executor: Executor,
  votingEventId: string,
  attemptIds: readonly string[],
): Promise<Refund[]> {
  if (attemptIds.length === 0) return [];
  return executor
    .select()
    .from(paymentRefunds)
    .where(and(eq(paymentRefunds.votingEventId, votingEventId), inArray(paymentRefunds.attemptId, [...attemptIds])))
    .orderBy(asc(paymentRefunds.createdAt));
}

/** Money that is not back with its payer, and is asked for by the job. */
export const OWED: readonly Refund['status'][] = ['due', 'pending', 'attention', 'refused'];

const LOST_AT_ONCE = 500;

/**
 * Refunds that are owed and that no job will ask for: theirs used all its tries, or is gone. Known by the jobs' own keys,
 * oldest first.
 */
export async function listLostRefunds(executor: Executor): Promise<RefundRef[]> {
  const key = sql`'refund:' || ${paymentRefunds.attemptId} || ':' || ${paymentRefunds.providerPaymentId}`;
  return executor
    .select({
      votingEventId: paymentRefunds.votingEventId,
      attemptId: paymentRefunds.attemptId,
      providerPaymentId: paymentRefunds.providerPaymentId,
    })
    .from(paymentRefunds)
    .where(
      and(
        inArray(paymentRefunds.status, [...OWED]),
        sql`NOT EXISTS (SELECT 1 FROM graphile_worker.jobs j WHERE j.key IN (${key}, ${key} || ':again')
          AND (j.attempts < j.max_attempts OR j.locked_at IS NOT NULL))`,
      ),
    )
    .orderBy(asc(paymentRefunds.createdAt))
    .limit(LOST_AT_ONCE);
}

/** Moves a refund on; undefined when it stands nowhere where that may happen from. */
export async function moveRefund(
  executor: Executor,
  ref: RefundRef,
  status: Refund['status'],
  { refundId = null, amountMinor = null }: { readonly refundId?: string | null; readonly amountMinor?: number | null },
  from: readonly Refund['status'][] = OWED,
): Promise<Refund | undefined> {
  const [row] = await executor
    .update(paymentRefunds)
    .set({
      status,
      updatedAt: sql`${nowMs}`,
      ...(refundId === null ? {} : { refundId }),
      // A payer who bore the provider's fees has them back too; the rest of a payment that went back in parts is less.
      ...(amountMinor === null
        ? {}
        : { amountMinor: sql`greatest(${paymentRefunds.amountMinor}, ${amountMinor}::bigint)` }),
    })
    .where(and(at(ref), inArray(paymentRefunds.status, [...from])))
    .returning();
  return row;
}
