import { inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import {
  type PaymentMismatch,
  type ProviderPayment,
  type ProviderState,
  paymentMismatch,
} from '#src/payment-providers/provider.ts';
import { DAY_MS, MINUTE_MS } from '#src/platform/clock.ts';
import { notFound } from '#src/platform/errors.ts';
import {
  type AttemptRef,
  isOpen,
  lockAttempt,
  moveAttempt,
  type NewAttempt,
  noteOnAttempt,
} from './attempt-repository.ts';
import { findBusinessEver } from './business-repository.ts';
import type { AttemptStatus, EndReason, PaymentAttempt } from './payment.ts';
import type { PaymentDeps } from './payment-deps.ts';
import { type PaymentFact, raiseAttention, recordPayment } from './record-payment.ts';
import { findRefund, giveBack, insertRefund, markRefunded, moveRefund, takeBack } from './refund-payment.ts';

/** A delayed method may take days: its attempt does not end with its page. */
const PROCESSING_MS = 30 * DAY_MS;

/**
 * Applies what a provider says to an attempt, and answers what it became: the one way in which webhooks, reads, second
 * calls and reconciliation change it (completions 7.2). Said twice, late or out of order, it changes nothing twice and
 * nothing backwards.
 */
export async function settlePayment(deps: PaymentDeps, ref: AttemptRef, state: ProviderState): Promise<PaymentAttempt> {
  return inTransaction(deps.db, async (tx) => {
    const attempt = await lockAttempt(tx, ref);
    // Gone with its rehearsal.
    if (attempt === undefined) throw notFound();
    await apply(tx, deps, attempt, state);
    const after = await lockAttempt(tx, ref);
    if (after === undefined) throw new Error('an attempt is gone');
    return after;
  });
}

async function apply(tx: Transaction, deps: PaymentDeps, attempt: PaymentAttempt, state: ProviderState): Promise<void> {
  switch (state.kind) {
    case 'paid':
      return applyPaid(tx, deps, attempt, state.payment);
    case 'reversed':
      return applyReversed(tx, deps, attempt, state.payment);
    case 'processing':
      return awaitMoney(tx, deps, attempt);
    case 'failed':
      return end(tx, deps, attempt, 'failed', 'refused');
    case 'cancelled':
      return end(tx, deps, attempt, 'cancelled', 'payer_cancelled');
    case 'expired':
      return endUnpaid(tx, deps, attempt, state.refused);
    case 'unpaid':
      // Nothing can be paid any more, and this was the last ask.
      if ((await readNow(tx)) >= attempt.expiresAt) await endUnpaid(tx, deps, attempt, state.refused);
      return;
    case 'missing':
      if ((await readNow(tx)) >= attempt.expiresAt) await endUnpaid(tx, deps, attempt, false);
      return;
    default:
      throw new Error(`no rule for ${state satisfies never}`);
  }
}

/** The money is on its way; what has not come after 30 days does not come for this attempt. */
async function awaitMoney(tx: Transaction, deps: PaymentDeps, attempt: PaymentAttempt): Promise<void> {
  if (!isOpen(attempt.status)) return;
  const expiresAt = attempt.createdAt + PROCESSING_MS;
  if ((await readNow(tx)) >= expiresAt) return endUnpaid(tx, deps, attempt, false);
  await noteOnAttempt(tx, attempt, { expiresAt });
}

/** The page is over: `failed` where the provider's last word was a refusal, otherwise `cancelled` (completions 7.5). */
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
  await moveAndRecord(tx, deps, attempt, status, status, { ...changes, endReason, checkAt: null });
}

async function moveAndRecord(
  tx: Transaction,
  deps: PaymentDeps,
  attempt: PaymentAttempt,
  status: AttemptStatus,
  fact: PaymentFact,
  changes: Partial<NewAttempt>,
): Promise<PaymentAttempt> {
  const moved = await moveAttempt(tx, attempt, status, changes);
  if (moved === undefined) throw new Error(`a locked attempt could not go from ${attempt.status} to ${status}`);
  await recordPayment(tx, deps, moved, fact);
  return moved;
}

async function mismatchOf(
  tx: Transaction,
  deps: PaymentDeps,
  attempt: PaymentAttempt,
  payment: ProviderPayment,
): Promise<PaymentMismatch | null> {
  if (attempt.rehearsal) return null;
  const business = await findBusinessEver(tx, attempt.paymentBusinessId);
  if (business === undefined) throw new Error('a payment business is gone');
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
    // Fees are settled a while after the payment.
    const { feeMinor } = payment;
    if (attempt.feeMinor === null && feeMinor !== null) await noteOnAttempt(tx, attempt, { feeMinor });
    return;
  }
  const mismatch = await mismatchOf(tx, deps, attempt, payment);
  if (mismatch !== null) return alarm(tx, deps, attempt, payment, mismatch);
  if (isOpen(attempt.status)) {
    const nowMs = await readNow(tx);
    await moveAndRecord(tx, deps, attempt, 'succeeded', 'succeeded', {
      ...paidBy(payment, nowMs),
      succeededAt: nowMs,
      checkAt: nowMs + MINUTE_MS,
      checks: 0,
    });
    return;
  }
  // A second payment for the same thing, or one for an attempt that has ended: the money belongs to the payer.
  deps.log.warn({ attempt: attempt.id, status: attempt.status }, 'a payment came that pays for nothing: it goes back');
  if (attempt.providerPaymentId === null) await noteOnAttempt(tx, attempt, paidBy(payment, await readNow(tx)));
  await giveBack(tx, attempt, providerPaymentId, payment.reference ?? '');
}

/** What is noted of the first payment of an attempt, however it ends. */
const paidBy = (payment: ProviderPayment, nowMs: number) => ({
  providerPaymentId: payment.providerPaymentId,
  providerReference: payment.reference,
  feeMinor: payment.feeMinor,
  paidAt: payment.paidAtMs ?? nowMs,
  paidMinor: payment.amountMinor,
});

/** A second payment went back before it was known of: noted, so that a late word of it gives nothing back. */
async function noteForeign(tx: Transaction, attempt: PaymentAttempt, payment: ProviderPayment): Promise<void> {
  const { providerPaymentId, reference } = payment;
  const { votingEventId, id: attemptId, amountMinor, currency } = attempt;
  const ref = { votingEventId, attemptId, providerPaymentId };
  if (await insertRefund(tx, { ...ref, reference: reference ?? '', amountMinor, currency }))
    await moveRefund(tx, ref, 'refunded', {});
}

/** Money that is not what was asked for never buys anything. A person has to look at it. */
async function alarm(
  tx: Transaction,
  deps: PaymentDeps,
  attempt: PaymentAttempt,
  payment: ProviderPayment,
  mismatch: PaymentMismatch,
): Promise<void> {
  deps.log.error({ attempt: attempt.id, mismatch, alarm: 'payment_mismatch' }, 'a payment is not what was asked for');
  // The payment's own ID is kept only where it belongs to this attempt at all.
  const { providerPaymentId, reference, amountMinor, currency } = payment;
  const isOwn = mismatch !== 'reference' && mismatch !== 'attempt';
  const paidMinor = currency === attempt.currency ? amountMinor : null;
  const isFirst = isOwn && attempt.providerPaymentId === null;
  const known = isFirst ? { providerPaymentId, providerReference: reference, paidMinor } : {};
  if (isOpen(attempt.status)) await end(tx, deps, attempt, 'failed', 'amount_mismatch', known);
  else if (isFirst) await noteOnAttempt(tx, attempt, { ...known, endReason: 'amount_mismatch' });
  const current = await lockAttempt(tx, attempt);
  if (current !== undefined) await raiseAttention(tx, deps, current);
}

/** The money went back: by our own refund, or by what the merchant or the payer's bank did at the provider. */
async function applyReversed(
  tx: Transaction,
  deps: PaymentDeps,
  attempt: PaymentAttempt,
  payment: ProviderPayment,
): Promise<void> {
  const nowMs = await readNow(tx);
  const { providerPaymentId } = payment;
  const refund = { votingEventId: attempt.votingEventId, attemptId: attempt.id, providerPaymentId };
  // One that failed is held against the list of refunds: the payment's own state may be of the refund that failed.
  const ours = await moveRefund(tx, refund, 'refunded', {});
  if (ours !== undefined) return markRefunded(tx, deps, attempt, providerPaymentId, nowMs);
  // Our own refund that is noted already: the provider's word of it reverses nothing.
  if ((await findRefund(tx, refund)) !== undefined) return;
  if (attempt.endReason === 'amount_mismatch' && attempt.providerPaymentId === providerPaymentId) {
    // A person looked at it, and gave it back at the provider.
    return markRefunded(tx, deps, attempt, providerPaymentId, nowMs);
  }
  if ((await mismatchOf(tx, deps, attempt, payment)) !== null) return;
  if (attempt.status === 'fulfilled') {
    if (attempt.providerPaymentId !== providerPaymentId) return noteForeign(tx, attempt, payment);
    if (attempt.reversedAt !== null) return;
    await takeBack(tx, deps, attempt, 'provider');
    await noteOnAttempt(tx, attempt, { reversedAt: nowMs, attentionAt: null, updatedAt: nowMs });
    await recordPayment(tx, deps, { ...attempt, reversedAt: nowMs, updatedAt: nowMs }, 'reversed');
    return;
  }
  if (attempt.status === 'failed' || attempt.status === 'cancelled') {
    // Learnt of the payment and of its way back at once: noted, so that a late word of the payment refunds nothing.
    const row = {
      ...refund,
      reference: payment.reference ?? '',
      amountMinor: attempt.amountMinor,
      currency: attempt.currency,
    };
    if (await insertRefund(tx, row)) {
      if (attempt.providerPaymentId === null) await noteOnAttempt(tx, attempt, paidBy(payment, nowMs));
      await moveRefund(tx, refund, 'refunded', {});
      await markRefunded(tx, deps, attempt, providerPaymentId, nowMs);
    }
    return;
  }
  const ended = await moveAndRecord(tx, deps, attempt, 'cancelled', 'cancelled', {
    ...(attempt.providerPaymentId === null ? paidBy(payment, nowMs) : { providerPaymentId }),
    endReason: 'refunded',
    refundedAt: nowMs,
    checkAt: null,
  });
  await recordPayment(tx, deps, ended, 'refunded');
}
