import { inTransaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { findAttemptById } from '#src/payments/attempt-repository.ts';
import { findBusinessEver } from '#src/payments/business-repository.ts';
import { listOwed, type OwedPayment } from '#src/payments/list-owed.ts';
import { settleBody, settleByHand } from '#src/payments/manage-payment.ts';
import { invalidField, notFound, orNotFound } from '#src/platform/errors.ts';
import type { Answer } from './cli.ts';

const WHAT_TO_DO: Readonly<Record<NonNullable<OwedPayment['refund']> | 'mismatch' | 'stale', string>> = {
  failed: 'pay it back by hand',
  refused: 'the provider refuses: look there; it is asked again for 30 days',
  attention: 'open the refund at the provider',
  due: 'the provider does not answer: look there',
  pending: 'under way for more than a day: look at the provider',
  refunded: '',
  mismatch: 'another amount was paid than was asked for: look at the payment, and pay it back by hand',
  stale: 'paid 72 hours ago and neither given nor paid back: look at the service’s log',
};

/** Lists payments that need a person's action, such as failed refunds or wrong amounts. @throws ApiError 404 */
export async function showOwed(deps: Deps, businessId: string): Promise<Answer> {
  if ((await findBusinessEver(deps.db, businessId)) === undefined) throw notFound();
  const owed = (await listOwed(deps.db, businessId)).map((payment) => ({
    attempt: payment.attemptId,
    event: payment.votingEventId,
    payment: payment.providerPaymentId,
    reference: payment.reference,
    amountMinor: payment.amountMinor,
    currency: payment.currency,
    refund: payment.refund,
    since: payment.sinceMs,
    next: WHAT_TO_DO[payment.refund ?? (payment.endReason === null ? 'stale' : 'mismatch')],
  }));
  return { value: { businessId, payments: owed }, shown: owed, refused: owed.length > 0 };
}

/** Marks an owed payment as settled by a person. @throws ApiError 404; 409 `nothing_to_settle`; 422 for an invalid note */
export async function settle(deps: Deps, paymentId: string, note: string): Promise<Answer> {
  const { data: sent } = settleBody.safeParse({ note });
  if (sent === undefined) throw invalidField('note', 'must be 1 to 500 characters');
  const attempt = orNotFound(await findAttemptById(deps.db, paymentId));
  await inTransaction(deps.db, (tx) => settleByHand(tx, deps, attempt, sent.note, { keyId: null }));
  return { value: { payment: paymentId, settled: true } };
}
