import { and, asc, eq, getTableColumns, inArray, isNotNull, isNull, lte, or, sql } from 'drizzle-orm';
import type { Executor } from '#src/database/client.ts';
import { nowMs } from '#src/database/columns.ts';
import { DAY_MS, HOUR_MS } from '#src/platform/clock.ts';
import { pick } from '#src/platform/pick.ts';
import type { PaymentAttempt } from './payment.ts';
import { paymentAttempts, paymentRefunds } from './tables.ts';

/** Money that a merchant holds but owes to a payer, as far as the service knows. */
export type OwedPayment = Awaited<ReturnType<typeof listOwed>>[number];

const MOST_OWED = 1_000;

/** Only a fault leaves a paid attempt neither fulfilled nor being refunded for this long (completions 7.4). */
const STALE_MS = 72 * HOUR_MS;
export const isStale = (
  { status, succeededAt }: Pick<PaymentAttempt, 'status' | 'succeededAt'>,
  atMs: number,
): boolean => status === 'succeeded' && succeededAt !== null && succeededAt <= atMs - STALE_MS;
const IS_STALE = and(
  eq(paymentAttempts.status, 'succeeded'),
  lte(paymentAttempts.succeededAt, sql`${nowMs} - ${STALE_MS}::bigint`),
);

/**
 * Payments of a business that a person has to look at, oldest first: refunds that failed, that the provider refuses, that wait for
 * the merchant or that take more than a day; payments that differ from the request; and stale attempts (completions 7.2 and 7.4).
 * Leaves out cases that a person has settled.
 */
export async function listOwed(executor: Executor, businessId: string) {
  const ofAttempt = and(
    eq(paymentAttempts.votingEventId, paymentRefunds.votingEventId),
    eq(paymentAttempts.id, paymentRefunds.attemptId),
  );
  const ofRefund = getTableColumns(paymentRefunds);
  const isLate = lte(paymentRefunds.createdAt, sql`${nowMs} - ${DAY_MS}::bigint`);
  const refunds = await executor
    .select({
      ...pick(ofRefund, ['votingEventId', 'attemptId', 'providerPaymentId', 'reference', 'amountMinor', 'currency']),
      refund: paymentRefunds.status,
      endReason: paymentAttempts.endReason,
      sinceMs: paymentRefunds.createdAt,
    })
    .from(paymentRefunds)
    .innerJoin(paymentAttempts, ofAttempt)
    .where(
      and(
        eq(paymentAttempts.paymentBusinessId, businessId),
        isNull(paymentAttempts.settledAt),
        or(
          inArray(paymentRefunds.status, ['failed', 'refused', 'attention']),
          and(inArray(paymentRefunds.status, ['due', 'pending']), isLate),
        ),
      ),
    )
    .orderBy(asc(paymentRefunds.createdAt))
    .limit(MOST_OWED);
  const others = await executor
    .select({
      ...pick(getTableColumns(paymentAttempts), ['votingEventId', 'providerPaymentId', 'currency', 'endReason']),
      attemptId: paymentAttempts.id,
      reference: paymentAttempts.providerReference,
      // Null if it was paid in another currency.
      amountMinor: paymentAttempts.paidMinor,
      // No refund was requested.
      refund: sql<null>`NULL`,
      sinceMs: paymentAttempts.updatedAt,
    })
    .from(paymentAttempts)
    .where(
      and(
        eq(paymentAttempts.paymentBusinessId, businessId),
        or(and(eq(paymentAttempts.endReason, 'amount_mismatch'), isNotNull(paymentAttempts.attentionAt)), IS_STALE),
      ),
    )
    .orderBy(asc(paymentAttempts.updatedAt))
    .limit(MOST_OWED);
  return [...refunds, ...others].toSorted((left, right) => left.sinceMs - right.sinceMs);
}
