import type { Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { ApiError } from '#src/platform/errors.ts';
import { answerPlace, confirmationCodePlace, type EndReason, type PaymentAttempt } from './payment.ts';
import type { PaymentDeps } from './payment-deps.ts';
import { judgeAttention, moveAndRecord } from './record-payment.ts';
import { giveBack } from './refund-payment.ts';

/**
 * Fulfils a paid attempt, once: stores effect, status and answer in the caller's transaction, which has locked the attempt. If a rule
 * refuses the fulfilment, the payment is refunded (completions 7.3 and 7.4).
 * @param mayPass whether a refusal may be temporary; such a refusal leaves the attempt unchanged
 */
export async function givePaid(
  tx: Transaction,
  deps: PaymentDeps,
  attempt: PaymentAttempt,
  mayPass: (refusal: ApiError) => boolean = () => false,
): Promise<PaymentAttempt> {
  const paidAtMs = attempt.paidAt ?? (await readNow(tx));
  // Use a savepoint, so that a refusal rolls back a partial fulfilment.
  const fulfilled = await orRefusal(() =>
    tx.transaction((inner) => deps.fulfilments[attempt.purpose].fulfil(inner, attempt, paidAtMs)),
  );
  if (fulfilled instanceof ApiError) {
    return mayPass(fulfilled) ? attempt : cancelAndGiveBack(tx, deps, attempt, endReason(fulfilled));
  }
  const code = fulfilled.confirmationCode;
  const moved = await moveAndRecord(tx, deps, attempt, 'fulfilled', {
    answer: deps.secrets.seal(JSON.stringify({ data: fulfilled.data }), answerPlace(attempt.id)),
    confirmationCode: code === undefined ? null : deps.secrets.seal(code, confirmationCodePlace(attempt.id)),
    checkAt: null,
  });
  // If the attempt had attention only because it waited long, the attention ends now.
  if (moved.attentionAt !== null) await judgeAttention(tx, deps, moved);
  return moved;
}

/** The refusal that fulfilling a paid attempt would meet now; undefined if it would succeed. */
export async function fulfilmentRefusal(
  tx: Transaction,
  deps: PaymentDeps,
  attempt: PaymentAttempt,
): Promise<ApiError | undefined> {
  return (await orRefusal(() => deps.fulfilments[attempt.purpose].check(tx, attempt))) ?? undefined;
}

/** Returns a refusal as a value. Throws other errors, such as the temporary error of an unavailable database. */
async function orRefusal<T>(work: () => Promise<T>): Promise<T | ApiError> {
  try {
    return await work();
  } catch (fault) {
    if (fault instanceof ApiError && fault.code !== 'internal' && fault.code !== 'rate_limited') return fault;
    throw fault;
  }
}

/** The end reason of an attempt whose fulfilment was refused. */
export function endReason({ details }: ApiError): EndReason {
  const reason = details?.['reason'];
  return reason === 'already_voted' || reason === 'insufficient_credits' ? reason : 'event_over';
}

/** Ends a paid attempt as `cancelled`; a job refunds the money (completions 7.4). */
export async function cancelAndGiveBack(
  tx: Transaction,
  deps: PaymentDeps,
  attempt: PaymentAttempt,
  endReason: EndReason,
): Promise<PaymentAttempt> {
  const moved = await moveAndRecord(tx, deps, attempt, 'cancelled', { endReason, checkAt: null });
  if (moved.providerPaymentId === null) throw new Error('only a paid attempt is given back');
  await giveBack(tx, moved, moved.providerPaymentId, moved.providerReference ?? '');
  if (moved.attentionAt !== null) await judgeAttention(tx, deps, moved);
  return moved;
}
