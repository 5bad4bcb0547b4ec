import { inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import type { ProviderState, RefundResult } from '#src/payment-providers/provider.ts';
import { pick } from '#src/platform/pick.ts';
import { type AttemptRef, findAttempt, lockAttempt, noteOnAttempt } from './attempt-repository.ts';
import { businessOf } from './business-repository.ts';
import { askBusiness } from './check-business.ts';
import { OWED, type PaymentAttempt, type PaymentBusiness } from './payment.ts';
import type { PaymentDeps } from './payment-deps.ts';
import { judgeAttention, recordPayment } from './record-payment.ts';
import {
  alarmForAttention,
  askAgain,
  findRefund,
  insertRefund,
  listRefunds,
  markRefunded,
  moveRefund,
  REFUND_EARLIER_MS,
  type Refund,
} from './refund-payment.ts';
import { settlePayment } from './settle-payment.ts';

/** A payment whose refunds are looked up at the provider. `row` is undefined if the service has stored no refund of it. */
interface BackPayment {
  readonly providerPaymentId: string;
  readonly reference: string;
  readonly sinceMs: number;
  /** The amount that was paid, and its currency. */
  readonly amountMinor: number;
  readonly currency: string;
  readonly row: Refund | undefined;
  /** Whether the stored rows say that the whole payment was reversed, or was or will be refunded. */
  readonly isBack: boolean;
}

/**
 * Compares the stored refunds of an attempt with the provider's list. A refund that succeeded may fail days later, and a refund that was
 * given up may succeed (completions 7.4). A voided ballot stays void in any case.
 * @param withParts whether to search also for the merchant's own refunds, which may be partial and may not be stored yet
 * @throws Error if a refund changed meanwhile; the caller retries
 */
export async function checkRefunds(deps: PaymentDeps, ref: AttemptRef, withParts = true): Promise<void> {
  const attempt = await findAttempt(deps.db, ref);
  if (attempt === undefined) return;
  const payments = await listBackPayments(deps, attempt, withParts);
  if (payments.length === 0) return;
  const business = await businessOf(deps.db, attempt);
  for (const payment of payments) {
    const { whole, partMinor } = await askBusiness(deps, business, (provider, credentials) =>
      provider.findRefunds(credentials, payment),
    );
    await noteParts(deps, attempt, payment, partMinor);
    if (whole === null) continue;
    if (payment.isBack) await apply(deps, attempt, payment, whole);
    else if (whole.kind === 'refunded') await settlePayment(deps, attempt, priceIsBack(attempt, payment, business));
  }
}

/** The reversed state of a payment that was refunded without the fees of its payer: the provider still reports it as successful. */
const priceIsBack = (
  { id, amountMinor, currency, paidAt, feeMinor }: PaymentAttempt,
  { providerPaymentId, reference }: BackPayment,
  { livemode }: PaymentBusiness,
): ProviderState => ({
  kind: 'reversed',
  cause: 'refund',
  backMinor: amountMinor,
  payment: { attemptId: id, providerPaymentId, reference, amountMinor, currency, paidAtMs: paidAt, feeMinor, livemode },
});

async function listBackPayments(
  deps: PaymentDeps,
  attempt: PaymentAttempt,
  withParts: boolean,
): Promise<BackPayment[]> {
  const rows = await listRefunds(deps.db, [attempt]);
  const { providerPaymentId, reversedAt } = attempt;
  const own = { amountMinor: attempt.paidMinor ?? attempt.amountMinor, currency: attempt.currency };
  const payments: BackPayment[] = rows
    .filter(({ status }) => status !== 'due')
    .map((row) => ({
      providerPaymentId: row.providerPaymentId,
      reference: row.reference,
      sinceMs: row.createdAt - REFUND_EARLIER_MS,
      ...(row.providerPaymentId === providerPaymentId ? own : pick(row, ['amountMinor', 'currency'])),
      row,
      isBack: true,
    }));
  const isKnown = rows.some((row) => row.providerPaymentId === providerPaymentId);
  const isBack = reversedAt !== null;
  if (!(isBack || withParts) || providerPaymentId === null || isKnown) return payments;
  const reference = attempt.providerReference ?? '';
  return [...payments, { providerPaymentId, reference, sinceMs: attempt.createdAt, ...own, row: undefined, isBack }];
}

/** Stores a partial refund. Only a full refund voids a ballot (completions 7.4): the part that stays is revenue of the event. */
async function noteParts(
  deps: PaymentDeps,
  ref: PaymentAttempt,
  payment: BackPayment,
  partMinor: number,
): Promise<void> {
  if (payment.providerPaymentId !== ref.providerPaymentId || partMinor === ref.partRefundedMinor) return;
  await inTransaction(deps.db, async (tx) => {
    const attempt = await lockAttempt(tx, ref);
    if (attempt === undefined || attempt.partRefundedMinor === partMinor) return;
    const nowMs = await readNow(tx);
    const partRefundedAt = partMinor === 0 ? null : (attempt.partRefundedAt ?? nowMs);
    // For a payment of a wrong amount, a person may have settled the case by this partial refund: keep `settledAt`.
    const settledAt = partMinor === 0 || attempt.endReason === 'amount_mismatch' ? attempt.settledAt : null;
    const changes = { partRefundedMinor: partMinor, partRefundedAt, settledAt, updatedAt: nowMs };
    await noteOnAttempt(tx, attempt, changes);
    await judgeAttention(tx, deps, attempt);
  });
}

async function apply(deps: PaymentDeps, ref: AttemptRef, payment: BackPayment, found: RefundResult): Promise<void> {
  await inTransaction(deps.db, async (tx) => {
    const attempt = await lockAttempt(tx, ref);
    if (attempt === undefined) return;
    const at = { votingEventId: ref.votingEventId, attemptId: ref.id, providerPaymentId: payment.providerPaymentId };
    const row = await findRefund(tx, at);
    if (row?.status !== payment.row?.status || row?.updatedAt !== payment.row?.updatedAt) {
      throw new Error('a refund moved on while the provider was asked about it');
    }
    const status = row?.status ?? 'refunded';
    if (found.kind === 'refunded' && status !== 'refunded') {
      await moveRefund(tx, at, 'refunded', found, [...OWED, 'failed']);
      await markRefunded(tx, deps, attempt, payment.providerPaymentId, await readNow(tx));
    } else if (found.kind === 'refused' && status === 'refunded') {
      await markFailed(tx, deps, attempt, payment, found.refundId ?? null);
    } else if (found.kind === 'attention' && OWED.includes(status) && status !== 'attention') {
      await moveRefund(tx, at, 'attention', found);
      alarmForAttention(deps, attempt.id);
    } else if (found.kind === 'refused' && (status === 'pending' || status === 'attention')) {
      // Run the refund's job now instead of at its next time. The job stores the refusal, raises an alarm and asks again.
      await askAgain(tx, at, await readNow(tx));
    }
  });
}

/** Stores that refunded money came back from the payer's bank. The refund is not retried: that would fail again, or pay twice. */
async function markFailed(
  tx: Transaction,
  deps: PaymentDeps,
  attempt: PaymentAttempt,
  { providerPaymentId, reference }: BackPayment,
  refundId: string | null,
): Promise<void> {
  const at = { votingEventId: attempt.votingEventId, attemptId: attempt.id, providerPaymentId };
  const { amountMinor, currency } = attempt;
  // A refund that the merchant made at the provider may have no row yet.
  await insertRefund(tx, { ...at, reference, amountMinor, currency, status: 'due' });
  await moveRefund(tx, at, 'failed', { refundId }, [...OWED, 'refunded']);
  const nowMs = await readNow(tx);
  // `refundedAt` describes the first payment: the failed refund of a duplicate payment does not change it.
  const refundedAt = attempt.providerPaymentId === providerPaymentId ? null : attempt.refundedAt;
  await noteOnAttempt(tx, attempt, { refundedAt, updatedAt: nowMs });
  await recordPayment(tx, deps, { ...attempt, refundedAt, updatedAt: nowMs }, 'refund_failed');
  await judgeAttention(tx, deps, attempt);
  deps.log.error(
    { attempt: attempt.id, alarm: 'refund_failed' },
    'a refund failed after it had succeeded: a person has to pay the payer back',
  );
}
