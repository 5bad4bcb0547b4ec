import { inTransaction } from '#src/database/client.ts';
import type { Answer } from '#src/http/answer.ts';
import type { Claim } from '#src/http/idempotent-request.ts';
import { refuse } from '#src/http/refusals.ts';
import { monotonicMs } from '#src/platform/clock.ts';
import { type ApiError, notFound } from '#src/platform/errors.ts';
import { elsewhere } from '#src/platform/turns.ts';
import { askProvider, payerPatience } from './ask-provider.ts';
import { findAttempt, isOpen, noteOnAttempt, requireLocked } from './attempt-repository.ts';
import { givePaid } from './give-paid.ts';
import { answerPlace, type PaymentAttempt, type PaymentPurpose } from './payment.ts';
import type { PaymentDeps } from './payment-deps.ts';
import { openPage, paymentRequired } from './start-checkout.ts';

/** A timer may fire up to this much too early. */
const TIMER_MS = 50;

/**
 * The second call of a checkout: verifies the payment and fulfils the purchase (contract, "Checkout flow" 5 and 6).
 * The first such request fulfils the attempt and gets 201 (credits: 200); later requests get the same body with 200.
 * @throws ApiError 404 for an attempt of another event or purpose; 409 `payment_failed`, `payment_cancelled`,
 *   `payment_expired`; 403 `payment_unavailable`; 429 if too many callers wait for the same payment; 500 `payment_provider_unavailable`
 */
export async function finishCheckout(
  deps: PaymentDeps,
  order: { readonly votingEventId: string; readonly purpose: PaymentPurpose; readonly attemptId: string },
  claim: Claim | undefined,
): Promise<Answer> {
  const found = await findAttempt(deps.db, { votingEventId: order.votingEventId, id: order.attemptId });
  if (found === undefined || found.purpose !== order.purpose) throw notFound();
  // One deadline for everything: waiting for the turn, asking the provider, and perhaps requesting a page.
  const until = payerPatience();
  const turn = await elsewhere(deps.leases.payments.take(found.id)).catch((fault: unknown) => {
    // The earlier call waited for an unresponsive provider until the deadline of this call.
    throw monotonicMs() >= until - TIMER_MS ? refuse('payment_provider_unavailable') : fault;
  });
  try {
    const attempt = await askProvider(deps, found, { until });
    if (isOpen(attempt.status)) {
      // Store no answer under the Idempotency-Key, because the same request gets another answer after the payment.
      return attempt.page === null
        ? await openPage(deps, attempt, undefined, { until })
        : paymentRequired(attempt, attempt.page, true);
    }
    return await answerSettled(deps, attempt, claim);
  } finally {
    turn.end();
  }
}

/** Gives the first caller the status of a first answer, even if the service itself fulfilled the attempt earlier. */
async function answerSettled(deps: PaymentDeps, attempt: PaymentAttempt, claim: Claim | undefined): Promise<Answer> {
  if (attempt.answeredAt !== null) return storedAnswer(deps, attempt, 200);
  const isPaid = attempt.status === 'succeeded' || attempt.status === 'fulfilled';
  const outcome = isPaid ? await answerFirst(deps, attempt, claim) : attempt;
  if ('purpose' in outcome) throw endedError(outcome);
  return outcome;
}

/** Fulfils a paid attempt, unless it is fulfilled already. Under the lock, only one caller gets the status of a first answer. */
async function answerFirst(
  deps: PaymentDeps,
  ref: PaymentAttempt,
  claim: Claim | undefined,
): Promise<PaymentAttempt | Answer> {
  return inTransaction(deps.db, async (tx) => {
    const locked = await requireLocked(tx, ref);
    const attempt = locked.status === 'succeeded' ? await givePaid(tx, deps, locked) : locked;
    if (attempt.status !== 'fulfilled') return attempt;
    if (attempt.answeredAt !== null) return storedAnswer(deps, attempt, 200);
    const answer = storedAnswer(deps, attempt, deps.fulfilments[attempt.purpose].firstStatus);
    await noteOnAttempt(tx, attempt, { answeredAt: deps.clock.now() });
    await claim?.store(tx, answer);
    return answer;
  });
}

function storedAnswer(deps: PaymentDeps, attempt: PaymentAttempt, status: 200 | 201): Answer {
  if (attempt.answer === null) throw new Error('a fulfilled attempt has an answer');
  const text = deps.secrets.open(attempt.answer, answerPlace(attempt.id)).toString('utf8');
  return { status, body: JSON.parse(text) as unknown };
}

/** The refusal for an attempt that ended without fulfilment (completions 1.6). */
function endedError(attempt: PaymentAttempt): ApiError {
  const details = attempt.endReason === null ? {} : { cause: attempt.endReason };
  if (attempt.status === 'failed') return refuse('payment_failed', details);
  if (attempt.endReason === 'page_expired') {
    return refuse('payment_expired', details);
  }
  return refuse('payment_cancelled', details);
}
