import { and, asc, eq, inArray, isNotNull, lte, or, sql } from 'drizzle-orm';
import type { Executor } from '#src/database/client.ts';
import { nowMs } from '#src/database/columns.ts';
import { DAY_MS } from '#src/platform/clock.ts';
import type { RefundStatus } from './payment.ts';
import { paymentAttempts, paymentRefunds } from './tables.ts';

/** Money that a merchant holds and that is not theirs, as far as the service knows. */
export interface OwedPayment {
  readonly votingEventId: string;
  readonly attemptId: string;
  readonly providerPaymentId: string | null;
  readonly reference: string | null;
  /** In the currency's smallest unit; null where another amount was paid than was asked for. */
  readonly amountMinor: number | null;
  readonly currency: string;
  /** How its refund stands; null where none was asked for: another amount was paid than was asked for. */
  readonly refund: RefundStatus | null;
  /** Unix milliseconds. */
  readonly sinceMs: number;
}

const MOST_OWED = 1_000;

/**
 * Payments of a business that a person has to look at, oldest first: refunds that failed, that the provider refuses, that wait for
 * the merchant or that take more than a day, and payments of another amount than was asked for (completions 7.2 and 7.4).
 */
export async function listOwed(executor: Executor, businessId: string): Promise<OwedPayment[]> {
  const ofAttempt = and(
    eq(paymentAttempts.votingEventId, paymentRefunds.votingEventId),
    eq(paymentAttempts.id, paymentRefunds.attemptId),
  );
  const isLate = lte(paymentRefunds.createdAt, sql`${nowMs} - ${DAY_MS}::bigint`);
  const refunds = await executor
    .select({
      votingEventId: paymentRefunds.votingEventId,
      attemptId: paymentRefunds.attemptId,
      providerPaymentId: paymentRefunds.providerPaymentId,
      reference: paymentRefunds.reference,
      amountMinor: paymentRefunds.amountMinor,
      currency: paymentRefunds.currency,
      refund: paymentRefunds.status,
      sinceMs: paymentRefunds.createdAt,
    })
    .from(paymentRefunds)
    .innerJoin(paymentAttempts, ofAttempt)
    .where(
      and(
        eq(paymentAttempts.paymentBusinessId, businessId),
        or(
          inArray(paymentRefunds.status, ['failed', 'refused', 'attention']),
          and(inArray(paymentRefunds.status, ['due', 'pending']), isLate),
        ),
      ),
    )
    .orderBy(asc(paymentRefunds.createdAt))
    .limit(MOST_OWED);
  const mismatches = await executor
    .select({
      votingEventId: paymentAttempts.votingEventId,
      attemptId: paymentAttempts.id,
      providerPaymentId: paymentAttempts.providerPaymentId,
      reference: paymentAttempts.providerReference,
      amountMinor: sql<null>`NULL`,
      currency: paymentAttempts.currency,
      refund: sql<null>`NULL`,
      sinceMs: paymentAttempts.updatedAt,
    })
    .from(paymentAttempts)
    .where(
      and(
        eq(paymentAttempts.paymentBusinessId, businessId),
        eq(paymentAttempts.endReason, 'mismatch'),
        isNotNull(paymentAttempts.providerPaymentId),
      ),
    )
    .orderBy(asc(paymentAttempts.updatedAt))
    .limit(MOST_OWED);
  return [...refunds, ...mismatches].toSorted((left, right) => left.sinceMs - right.sinceMs);
}
