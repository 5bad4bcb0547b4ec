import { inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import {
  type PaymentMismatch,
  type ProviderPayment,
  type ProviderState,
  paymentMismatch,
} from '#src/payment-providers/provider.ts';
import { DAY_MS, MINUTE_MS } from '#src/platform/clock.ts';
import { type AttemptRef, isOpen, type NewAttempt, noteOnAttempt, requireLocked } from './attempt-repository.ts';
import { businessOf } from './business-repository.ts';
import type { AttemptStatus, EndReason, PaymentAttempt, RefundStatus } from './payment.ts';
import type { PaymentDeps } from './payment-deps.ts';
import { judgeAttention, moveAndRecord, recordPayment } from './record-payment.ts';
import { findRefund, giveBack, insertRefund, markRefunded, moveRefund, takeBack } from './refund-payment.ts';

/** How long an attempt lives while its money is on the way: delayed methods take days, longer than the page lives. */
const PROCESSING_MS = 30 * DAY_MS;

/**
 * Applies a state that a provider reports for an attempt. Webhooks, reads, second calls and reconciliation all call this function
 * (completions 7.2). A repeated, late or out-of-order report has no second effect, and moves no attempt backwards.
 * @returns the attempt afterwards
 */
export async function settlePayment(deps: PaymentDeps, ref: AttemptRef, state: ProviderState): Promise<PaymentAttempt> {
  return inTransaction(deps.db, async (tx) => {
    await applyState(tx, deps, ref, state);
    return requireLocked(tx, ref);
  });
}

/** As `settlePayment`, in the caller's transaction. The attempt stays locked until that ends. */
export async function applyState(
  tx: Transaction,
  deps: PaymentDeps,
  ref: AttemptRef,
  state: ProviderState,
): Promise<void> {
  const attempt = await requireLocked(tx, ref);
  switch (state.kind) {
    case 'paid':
      return applyPaid(tx, deps, attempt, state.payment);
    case 'reversed':
      return applyReversed(tx, deps, attempt, state);
    case 'processing':
      return awaitMoney(tx, deps, attempt);
    case 'failed':
      return end(tx, deps, attempt, 'failed', 'refused');
    case 'cancelled':
      return end(tx, deps, attempt, 'cancelled', 'payer_cancelled');
    case 'expired':
      return endUnpaid(tx, deps, attempt, state.refused);
    case 'unpaid':
      // Until the page expires, the payer may still pay.
      if ((await readNow(tx)) >= attempt.expiresAt) await endUnpaid(tx, deps, attempt, state.refused);
      return;
    case 'missing':
      if ((await readNow(tx)) >= attempt.expiresAt) await endUnpaid(tx, deps, attempt, false);
      return;
    default:
      throw new Error(`no rule for ${state satisfies never}`);
  }
}

/** The money is on its way. The attempt waits for it until 30 days after its creation, and then ends. */
async function awaitMoney(tx: Transaction, deps: PaymentDeps, attempt: PaymentAttempt): Promise<void> {
  if (!isOpen(attempt.status)) return;
  const expiresAt = attempt.createdAt + PROCESSING_MS;
  if ((await readNow(tx)) >= expiresAt) return endUnpaid(tx, deps, attempt, false);
  await noteOnAttempt(tx, attempt, { expiresAt });
}

/** Ends an attempt whose page has expired: `failed` if the last try to pay was refused, otherwise `cancelled` (completions 7.5). */
function endUnpaid(tx: Transaction, deps: PaymentDeps, attempt: PaymentAttempt, refused: boolean): Promise<void> {
  return refused ? end(tx, deps, attempt, 'failed', 'refused') : end(tx, deps, attempt, 'cancelled', 'page_expired');
}

async function end(
  tx: Transaction,
  deps: PaymentDeps,
  attempt: PaymentAttempt,
  status: Extract<AttemptStatus, 'failed' | 'cancelled'>,
  endReason: EndReason,
  changes: Partial<NewAttempt> = {},
): Promise<void> {
  if (!isOpen(attempt.status)) return;
  await moveAndRecord(tx, deps, attempt, status, { ...changes, endReason, checkAt: null });
}

async function mismatchOf(
  tx: Transaction,
  deps: PaymentDeps,
  attempt: PaymentAttempt,
  payment: ProviderPayment,
): Promise<PaymentMismatch | null> {
  if (attempt.rehearsal) return null;
  const business = await businessOf(tx, attempt);
  const provider = deps.payments.of(business);
  return paymentMismatch(payment, {
    attemptId: attempt.id,
    references: Array.from({ length: attempt.pages }, (_, index) => provider.referenceFor(attempt.id, index + 1)),
    amountMinor: attempt.amountMinor,
    currency: attempt.currency,
    livemode: business.livemode,
  });
}

async function applyPaid(
  tx: Transaction,
  deps: PaymentDeps,
  attempt: PaymentAttempt,
  payment: ProviderPayment,
): Promise<void> {
  const { providerPaymentId } = payment;
  if (attempt.providerPaymentId === providerPaymentId) {
    // The provider may report the fee some time after the payment.
    const { feeMinor } = payment;
    if (attempt.feeMinor === null && feeMinor !== null) await noteOnAttempt(tx, attempt, { feeMinor });
    return;
  }
  const mismatch = await mismatchOf(tx, deps, attempt, payment);
  if (mismatch !== null) return alarm(tx, deps, attempt, payment, mismatch);
  if (isOpen(attempt.status)) {
    const nowMs = deps.clock.now();
    await moveAndRecord(tx, deps, attempt, 'succeeded', {
      ...paidBy(payment, nowMs),
      succeededAt: nowMs,
      checkAt: nowMs + MINUTE_MS,
      checks: 0,
    });
    return;
  }
  // A duplicate payment, or a payment for an attempt that has ended: refund it.
  deps.log.warn({ attempt: attempt.id, status: attempt.status }, 'a payment came that pays for nothing: it goes back');
  if (attempt.providerPaymentId === null) await noteOnAttempt(tx, attempt, paidBy(payment, await readNow(tx)));
  await giveBack(tx, attempt, providerPaymentId, payment.reference ?? '');
}

/** The columns of an attempt's first payment, stored whether or not the attempt succeeds. */
const paidBy = (payment: ProviderPayment, nowMs: number) => ({
  providerPaymentId: payment.providerPaymentId,
  providerReference: payment.reference,
  feeMinor: payment.feeMinor,
  paidAt: payment.paidAtMs ?? nowMs,
  paidMinor: payment.amountMinor,
});

/** Stores in a row of refunds what became of a payment: a later report has no second effect. @returns false if it has a row already */
const noteBeside = (
  tx: Transaction,
  { votingEventId, id: attemptId, currency }: PaymentAttempt,
  { providerPaymentId, reference }: ProviderPayment,
  row: { readonly status: RefundStatus; readonly amountMinor: number; readonly currency?: string },
): Promise<boolean> =>
  insertRefund(tx, { votingEventId, attemptId, providerPaymentId, reference: reference ?? '', currency, ...row });

/** Handles a payment that differs from the request. It buys nothing, and a person has to look at it. */
async function alarm(
  tx: Transaction,
  deps: PaymentDeps,
  attempt: PaymentAttempt,
  payment: ProviderPayment,
  mismatch: PaymentMismatch,
): Promise<void> {
  // Store the payment's ID on the attempt only if the payment belongs to the attempt.
  const { providerPaymentId, reference, amountMinor, currency } = payment;
  const isOwn = mismatch !== 'reference' && mismatch !== 'attempt';
  const paidMinor = currency === attempt.currency ? amountMinor : null;
  const isFirst = isOwn && attempt.providerPaymentId === null;
  // Store any other payment as a failed refund: money that a person has to pay back. A known case raises no second alarm.
  const row = { status: 'failed', amountMinor: amountMinor ?? 0, currency } as const;
  if (!isFirst && !(await noteBeside(tx, attempt, payment, row))) return;
  deps.log.error({ attempt: attempt.id, mismatch, alarm: 'payment_mismatch' }, 'a payment is not what was asked for');
  const known = isFirst ? { providerPaymentId, providerReference: reference, paidMinor, settledAt: null } : {};
  if (isOpen(attempt.status)) await end(tx, deps, attempt, 'failed', 'amount_mismatch', known);
  else if (isFirst) await noteOnAttempt(tx, attempt, { ...known, endReason: 'amount_mismatch' });
  await judgeAttention(tx, deps, attempt);
}

/** Handles money that went back: by a refund of the service or of the merchant, or by a dispute at the provider. */
async function applyReversed(
  tx: Transaction,
  deps: PaymentDeps,
  attempt: PaymentAttempt,
  { payment, backMinor }: Extract<ProviderState, { kind: 'reversed' }>,
): Promise<void> {
  const nowMs = await readNow(tx);
  const { providerPaymentId } = payment;
  const refund = { votingEventId: attempt.votingEventId, attemptId: attempt.id, providerPaymentId };
  // A failed refund is not moved, because the payment's state may be older than the failure; `checkRefunds` handles it.
  const ours = await moveRefund(tx, refund, 'refunded', { amountMinor: backMinor });
  if (ours !== undefined) return markRefunded(tx, deps, attempt, providerPaymentId, nowMs);
  // The stored refund is the service's own: its report is not a reversal.
  if ((await findRefund(tx, refund)) !== undefined) return;
  const isKnown = attempt.providerPaymentId !== null;
  // A person may have refunded a mismatched payment at the provider.
  const isMismatched = attempt.endReason === 'amount_mismatch' && attempt.providerPaymentId === providerPaymentId;
  if (!isMismatched && (await mismatchOf(tx, deps, attempt, payment)) !== null) return;
  if (attempt.status === 'fulfilled' && attempt.providerPaymentId === providerPaymentId) {
    if (attempt.reversedAt !== null) return;
    await takeBack(tx, deps, attempt, 'provider');
    await noteOnAttempt(tx, attempt, { reversedAt: nowMs, updatedAt: nowMs });
    await recordPayment(tx, deps, { ...attempt, reversedAt: nowMs, updatedAt: nowMs }, 'reversed');
    await judgeAttention(tx, deps, attempt);
    return;
  }
  // The service did not know the payment, or did not know that it went back. Store it, so that a later failure of the refund is noticed.
  const amountMinor = backMinor ?? payment.amountMinor ?? attempt.amountMinor;
  await noteBeside(tx, attempt, payment, { status: 'refunded', amountMinor });
  // The refund of a duplicate payment does not affect the first payment.
  if (isKnown && attempt.providerPaymentId !== providerPaymentId) return;
  const paid = isKnown ? {} : paidBy(payment, nowMs);
  if (attempt.status === 'failed' || attempt.status === 'cancelled') {
    if (!isKnown) await noteOnAttempt(tx, attempt, paid);
    return markRefunded(tx, deps, { ...attempt, ...paid }, providerPaymentId, nowMs);
  }
  const changes = { ...paid, endReason: 'refunded', checkAt: null } as const;
  const ended = await moveAndRecord(tx, deps, attempt, 'cancelled', changes);
  await markRefunded(tx, deps, ended, providerPaymentId, nowMs);
}
