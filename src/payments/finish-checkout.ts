import { inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import type { Answer } from '#src/http/answer.ts';
import type { Claim } from '#src/http/claim.ts';
import { refuse } from '#src/http/refusals.ts';
import { monotonicMs } from '#src/platform/clock.ts';
import { ApiError, notFound } from '#src/platform/errors.ts';
import { askProvider, payerPatience, providerUnavailable } from './ask-provider.ts';
import { findAttempt, isOpen, lockAttempt, moveAttempt } from './attempt-repository.ts';
import {
  answerPlace,
  confirmationCodePlace,
  type EndReason,
  type PaymentAttempt,
  type PaymentPurpose,
} from './payment.ts';
import type { Fulfilled, PaymentDeps } from './payment-deps.ts';
import { recordPayment } from './record-payment.ts';
import { giveBack } from './refund-payment.ts';
import { openPage, paymentRequired } from './start-checkout.ts';

/** A timer may ring so much early. */
const TIMER_MS = 50;

/**
 * The second call of a checkout: verifies the payment and gives what it was for (contract, "Checkout flow" 5 and 6).
 * The first request makes it happen; everybody gets the same body, the first with 201 (credits 200), the others with 200.
 * @throws ApiError 404 for an attempt of another event or purpose; 409 `payment_failed`, `payment_cancelled`,
 *   `payment_expired`; 403 `payment_unavailable`; 429 where many ask for the same payment; 500 `payment_provider_unavailable`
 */
export async function finishCheckout(
  deps: PaymentDeps,
  order: { readonly votingEventId: string; readonly purpose: PaymentPurpose; readonly attemptId: string },
  claim: Claim | undefined,
): Promise<Answer> {
  const found = await findAttempt(deps.db, { votingEventId: order.votingEventId, id: order.attemptId });
  if (found === undefined || found.purpose !== order.purpose) throw notFound();
  // One patience for all: its turn, how the payment stands at the provider, and then perhaps a page.
  const until = payerPatience();
  const turn = await deps.leases.payments.take(found.id).catch((fault: unknown) => {
    // The call before has waited for a silent provider all that time.
    throw monotonicMs() >= until - TIMER_MS ? providerUnavailable() : fault;
  });
  try {
    const attempt = await askProvider(deps, found, { until });
    if (isOpen(attempt.status)) {
      // Its claim stores nothing: after the payment the same request has another answer.
      return attempt.page === null
        ? await openPage(deps, attempt, undefined, until)
        : paymentRequired(attempt, attempt.page, true);
    }
    return answerSettled(deps, attempt.status === 'succeeded' ? await fulfilPayment(deps, attempt, claim) : attempt);
  } finally {
    turn.end();
  }
}

function answerSettled(deps: PaymentDeps, outcome: PaymentAttempt | Answer): Answer {
  if (!('purpose' in outcome)) return outcome;
  if (outcome.status === 'fulfilled') return repeatedAnswer(deps, outcome);
  throw endedError(outcome);
}

/** What the first second call was answered. */
function repeatedAnswer(deps: PaymentDeps, attempt: PaymentAttempt): Answer {
  if (attempt.answer === null) throw new Error('a fulfilled attempt has an answer');
  const text = deps.secrets.open(attempt.answer, answerPlace(attempt.id)).toString('utf8');
  return { status: 200, body: JSON.parse(text) as unknown };
}

/** Why an ended attempt gives nothing (completions 1.6). */
function endedError(attempt: PaymentAttempt): ApiError {
  const details = attempt.endReason === null ? {} : { cause: attempt.endReason };
  if (attempt.status === 'failed') return refuse('payment_failed', details);
  if (attempt.endReason === 'expired') {
    return refuse('payment_expired', details);
  }
  return refuse('payment_cancelled', details);
}

/**
 * Gives what was paid for, once: the attempt's row is locked, and the effect, the new status and the answer are one
 * transaction. What cannot be given is paid back.
 */
async function fulfilPayment(
  deps: PaymentDeps,
  ref: PaymentAttempt,
  claim: Claim | undefined,
): Promise<PaymentAttempt | Answer> {
  return inTransaction(deps.db, async (tx) => {
    const attempt = await lockAttempt(tx, ref);
    if (attempt === undefined) throw notFound();
    if (attempt.status !== 'succeeded') return attempt;
    const fulfilled = await tryToFulfil(tx, deps, attempt);
    if (fulfilled instanceof ApiError) return cancelAndGiveBack(tx, deps, attempt, endReason(fulfilled));
    const body = { data: fulfilled.data };
    const moved = await moveAttempt(tx, attempt, 'fulfilled', {
      answer: deps.secrets.seal(JSON.stringify(body), answerPlace(attempt.id)),
      confirmationCode:
        fulfilled.confirmationCode === undefined
          ? null
          : deps.secrets.seal(fulfilled.confirmationCode, confirmationCodePlace(attempt.id)),
      checkAt: null,
    });
    if (moved === undefined) throw new Error('a locked attempt could not be fulfilled');
    await recordPayment(tx, deps, moved, 'fulfilled');
    const answer: Answer = { status: deps.fulfilments[attempt.purpose].firstStatus, body };
    await claim?.store(tx, answer);
    return answer;
  });
}

/** In a savepoint: what was half given is undone when it cannot be given whole. */
async function tryToFulfil(tx: Transaction, deps: PaymentDeps, attempt: PaymentAttempt): Promise<Fulfilled | ApiError> {
  const paidAtMs = attempt.paidAt ?? (await readNow(tx));
  return orRefusal(() => tx.transaction((inner) => deps.fulfilments[attempt.purpose].fulfil(inner, attempt, paidAtMs)));
}

/** Why what was paid for cannot be given as things stand; undefined when it can. */
export async function fulfilmentRefusal(
  tx: Transaction,
  deps: PaymentDeps,
  attempt: PaymentAttempt,
): Promise<ApiError | undefined> {
  return (await orRefusal(() => deps.fulfilments[attempt.purpose].check(tx, attempt))) ?? undefined;
}

/** A refusal is an answer here; what may pass, such as a database that is away, is not. */
async function orRefusal<T>(work: () => Promise<T>): Promise<T | ApiError> {
  try {
    return await work();
  } catch (fault) {
    if (fault instanceof ApiError && fault.code !== 'internal' && fault.code !== 'rate_limited') return fault;
    throw fault;
  }
}

/** What the attempt says of a refusal to give what was paid for. */
export function endReason({ code, details }: ApiError): EndReason {
  const reason = details?.['reason'];
  if (reason === 'event_closed' || reason === 'already_voted') return reason;
  return code === 'not_found' ? 'event_gone' : 'not_accepted';
}

/** The attempt ends `cancelled`, and a job gives the money back (completions 7.4). */
export async function cancelAndGiveBack(
  tx: Transaction,
  deps: PaymentDeps,
  attempt: PaymentAttempt,
  endReason: EndReason,
): Promise<PaymentAttempt> {
  const moved = await moveAttempt(tx, attempt, 'cancelled', { endReason, checkAt: null });
  if (moved === undefined || moved.providerPaymentId === null) throw new Error('only a paid attempt is given back');
  await recordPayment(tx, deps, moved, 'cancelled');
  await giveBack(tx, moved, moved.providerPaymentId, moved.providerReference ?? '');
  return moved;
}
