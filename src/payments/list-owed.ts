import {
  and,
  asc,
  eq,
  getTableColumns,
  gt,
  inArray,
  isNotNull,
  isNull,
  lte,
  not,
  or,
  type SQL,
  sql,
} from 'drizzle-orm';
import type { Executor } from '#src/database/client.ts';
import { nowMs } from '#src/database/columns.ts';
import { DAY_MS, HOUR_MS } from '#src/platform/clock.ts';
import { pick } from '#src/platform/pick.ts';
import type { AttemptRef } from './attempt-repository.ts';
import { OWED, type PaymentAttempt } from './payment.ts';
import { paymentAttempts, paymentRefunds } from './tables.ts';

/** Money that a merchant has but owes to a payer, as far as the service knows. */
export type OwedPayment = Awaited<ReturnType<typeof listOwed>>[number];

const MOST_OWED = 1_000;

/** A paid attempt that is neither fulfilled nor being refunded for so long has met a fault (completions 7.4). */
const STALE_MS = 72 * HOUR_MS;
export const isStale = (
  { status, succeededAt }: Pick<PaymentAttempt, 'status' | 'succeededAt'>,
  atMs: number,
): boolean => status === 'succeeded' && succeededAt !== null && succeededAt <= atMs - STALE_MS;
const IS_STALE = and(
  eq(paymentAttempts.status, 'succeeded'),
  lte(paymentAttempts.succeededAt, sql`${nowMs} - ${STALE_MS}::bigint`),
);

const OF_ATTEMPT = and(
  eq(paymentAttempts.votingEventId, paymentRefunds.votingEventId),
  eq(paymentAttempts.id, paymentRefunds.attemptId),
);
const hasRefund = (condition: SQL | undefined): SQL =>
  sql`EXISTS (SELECT 1 FROM ${paymentRefunds} WHERE ${and(OF_ATTEMPT, condition)})`;

/** The first payment differs from the request. Once its refund is stored, the refund is the case instead. */
const IS_MISMATCHED = and(
  eq(paymentAttempts.endReason, 'amount_mismatch'),
  isNotNull(paymentAttempts.providerPaymentId),
  isNull(paymentAttempts.settledAt),
  not(hasRefund(eq(paymentRefunds.providerPaymentId, paymentAttempts.providerPaymentId))),
);
const IS_PARTLY_BACK = and(
  gt(paymentAttempts.partRefundedMinor, 0),
  isNull(paymentAttempts.settledAt),
  isNull(paymentAttempts.refundedAt),
  isNull(paymentAttempts.reversedAt),
);
const IS_UNSETTLED = and(eq(paymentRefunds.status, 'failed'), isNull(paymentRefunds.settledAt));
const IS_OVERDUE = and(
  inArray(paymentRefunds.status, [...OWED]),
  lte(paymentRefunds.createdAt, sql`${nowMs} - ${STALE_MS}::bigint`),
);

/** Whether any payment of an attempt, first or duplicate, needs a person (completions 7.4). */
export async function hasOpenCase(executor: Executor, { votingEventId, id }: AttemptRef): Promise<boolean> {
  const isOpen = or(IS_STALE, IS_MISMATCHED, IS_PARTLY_BACK, hasRefund(or(IS_UNSETTLED, IS_OVERDUE)));
  const rows = await executor
    .select({ id: paymentAttempts.id })
    .from(paymentAttempts)
    .where(and(eq(paymentAttempts.votingEventId, votingEventId), eq(paymentAttempts.id, id), isOpen));
  return rows.length > 0;
}

/** The refunds of an attempt that ask for a person (completions 7.4). The refunds of its other payments go on by themselves. */
export const listAskingRefunds = (executor: Executor, { votingEventId, id }: AttemptRef) =>
  executor
    .select(getTableColumns(paymentRefunds))
    .from(paymentRefunds)
    .innerJoin(paymentAttempts, OF_ATTEMPT)
    .where(
      and(
        eq(paymentRefunds.votingEventId, votingEventId),
        eq(paymentRefunds.attemptId, id),
        or(
          IS_UNSETTLED,
          IS_OVERDUE,
          and(IS_PARTLY_BACK, eq(paymentRefunds.providerPaymentId, paymentAttempts.providerPaymentId)),
        ),
      ),
    );

/**
 * Payments of a business that a person has to look at, oldest first (completions 7.2 and 7.4): refunds that failed, that the provider
 * refuses, that wait for the merchant or that take more than a day; payments that differ from the request; and stale attempts. Cases that a
 * person has settled are left out.
 */
export async function listOwed(executor: Executor, businessId: string) {
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
    .innerJoin(paymentAttempts, OF_ATTEMPT)
    .where(
      and(
        eq(paymentAttempts.paymentBusinessId, businessId),
        isNull(paymentRefunds.settledAt),
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
      // Null if the payment was in another currency.
      amountMinor: paymentAttempts.paidMinor,
      // No refund was requested.
      refund: sql<null>`NULL`,
      sinceMs: paymentAttempts.updatedAt,
    })
    .from(paymentAttempts)
    .where(
      and(
        eq(paymentAttempts.paymentBusinessId, businessId),
        or(and(isNotNull(paymentAttempts.attentionAt), IS_MISMATCHED), IS_STALE),
      ),
    )
    .orderBy(asc(paymentAttempts.updatedAt))
    .limit(MOST_OWED);
  return [...refunds, ...others].toSorted((left, right) => left.sinceMs - right.sinceMs);
}
