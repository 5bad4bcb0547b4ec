import { setTimeout as delay } from 'node:timers/promises';
import { inTransaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { refuse } from '#src/http/refusals.ts';
import type { PaymentProvider, ProviderCredentials, ProviderState } from '#src/payment-providers/provider.ts';
import { PaymentProviderRefused, PaymentProviderUnavailable } from '#src/payment-providers/provider-fault.ts';
import { monotonicMs, SECOND_MS } from '#src/platform/clock.ts';
import { ApiError, invalidField, orNotFound } from '#src/platform/errors.ts';
import { summariseFault } from '#src/platform/log.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { elsewhere } from '#src/platform/turns.ts';
import { orLate, repeat } from '#src/platform/within.ts';
import {
  type AttemptRef,
  endAsking,
  findAttempt,
  isAnswerYoung,
  isOpen,
  renewAsking,
  takeAsking,
} from './attempt-repository.ts';
import { businessOf } from './business-repository.ts';
import { askBusiness } from './check-business.ts';
import type { PaymentAttempt } from './payment.ts';
import type { PaymentDeps } from './payment-deps.ts';
import { applyState } from './settle-payment.ts';

/** Calls per minute to one business's provider, over all processes. The provider's limit is higher, but the merchant needs the rest. */
const CALLS_PER_MINUTE = 600;
const BURST = 60;
/** The part of the budget that is kept for requests that begin or finish a payment; mere reads may not use it. */
const RESERVED = 30;

type BudgetDeps = Pick<PaymentDeps, 'rateLimiter'>;
const keyOf = (businessId: string): string => `provider:${businessId}`;

/** Whether a business's budget has a call left. @param isRead whether this is a mere read, which may not use reserved calls */
function hasCall({ rateLimiter }: BudgetDeps, businessId: string, isRead: boolean): boolean {
  const state = rateLimiter?.look(keyOf(businessId), CALLS_PER_MINUTE, monotonicMs(), BURST);
  return state === undefined || (state.retryAfterSeconds === undefined && (!isRead || state.remaining >= RESERVED));
}

export function countCall({ rateLimiter }: BudgetDeps, businessId: string): void {
  rateLimiter?.take(keyOf(businessId), CALLS_PER_MINUTE, monotonicMs(), BURST);
}

/** From this age on, a provider's answer is too old, and the service asks the provider again (completions 7.2). */
const ASK_AGAIN_MS = 2 * SECOND_MS;
/** The lease to ask ends this long after its last renewal, in case its owner has died or could not end it. */
const LEASE_MS = 3 * SECOND_MS;
const RENEWED_EVERY_MS = SECOND_MS;
/** Default deadline of a caller that waits for a provider, by the monotonic clock. */
export const payerPatience = (): number => monotonicMs() + TIME_LIMITS.payerMs;
/** A waiting caller looks again after the first time, and then after twice as long each time, because many may wait for one payment. */
const LOOK_AGAIN_MS = { first: 40, most: 640 };

/** The answer to a provider's refusal (completions 1.6): 422 if the client can correct a field, otherwise 403. */
function refusedError({ field }: PaymentProviderRefused): ApiError {
  return field === null ? refuse('payment_unavailable') : invalidField(field, 'is refused by the payment provider');
}

/**
 * Calls a provider, and maps its failures to API errors. An answer after `until` is discarded; the next caller then asks again.
 * @param until deadline of the caller, by the monotonic clock
 * @param isFirst whether this is the first call of a checkout, which gets the provider's refusal as its answer
 * @throws ApiError 500 `payment_provider_unavailable` if the provider does not answer, or refuses a later call; if it refuses a first
 *   call, 422 on a field or 403 `payment_unavailable`
 */
export async function callProvider<T>(
  deps: Pick<PaymentDeps, 'log'>,
  until: number,
  call: () => Promise<T>,
  isFirst = false,
): Promise<T> {
  const late = (): ApiError => {
    deps.log.warn('a payment provider keeps its caller waiting');
    return refuse('payment_provider_unavailable');
  };
  try {
    return await orLate(elsewhere(call()), Math.max(0, until - monotonicMs()), late);
  } catch (fault) {
    if (fault instanceof PaymentProviderUnavailable) {
      deps.log.warn({ fault: summariseFault(fault), provider: fault.provider }, 'a payment provider does not answer');
      throw refuse('payment_provider_unavailable');
    }
    if (fault instanceof PaymentProviderRefused) {
      const { provider, status, code } = fault;
      deps.log.warn({ fault: summariseFault(fault), provider, status, code }, 'a payment provider refuses');
      throw isFirst ? refusedError(fault) : refuse('payment_provider_unavailable');
    }
    throw fault;
  }
}

interface AskOptions {
  readonly always?: boolean;
  readonly isRead?: boolean;
  readonly until?: number;
}

/**
 * Asks the provider for the state of an attempt, and applies it. Over all processes, one caller at a time asks: concurrent callers
 * wait for its answer, which is used for two seconds.
 * @param options.until deadline of the caller, by the monotonic clock
 * @param options.isRead whether this is a mere read, which may not use the calls reserved for beginning or finishing a payment
 * @param options.always whether to ask even if the attempt has ended or the last answer is recent, for example after a webhook
 * @throws ApiError as `callProvider` does
 */
export async function askProvider(
  deps: PaymentDeps,
  attempt: PaymentAttempt,
  { always = false, isRead = false, until = payerPatience() }: AskOptions = {},
): Promise<PaymentAttempt> {
  // No provider knows the payments of a rehearsal.
  if (attempt.rehearsal) return attempt;
  let current = attempt;
  let waitMs = LOOK_AGAIN_MS.first;
  while (always || isOpen(current.status)) {
    // If the budget is used up, answer with the stored state: clients that poll must not exhaust the merchant's limit at the provider.
    const mayAsk = () => always || hasCall(deps, attempt.paymentBusinessId, isRead);
    if (!mayAsk()) return current;
    const asking = { againAfterMs: always ? 0 : ASK_AGAIN_MS, leaseMs: LEASE_MS };
    const taken = await takeAsking(deps.db, attempt, asking);
    if (taken !== undefined) {
      if (mayAsk()) {
        countCall(deps, attempt.paymentBusinessId);
        return askAndSettle(deps, taken, until);
      }
      // Other callers have used up the budget meanwhile.
      await endAsking(deps.db, attempt, false);
      return current;
    }
    current = await requireAttempt(deps, attempt);
    // If no other caller is asking, use a recent answer. Without a recent answer, the other caller has failed: try to ask.
    if (current.askingUntil === null && !always && (await isAnswerYoung(deps.db, attempt, ASK_AGAIN_MS)))
      return current;
    if (monotonicMs() > until) throw refuse('payment_provider_unavailable');
    await elsewhere(delay(waitMs));
    waitMs = Math.min(2 * waitMs, LOOK_AGAIN_MS.most);
  }
  return current;
}

async function requireAttempt(deps: PaymentDeps, ref: AttemptRef): Promise<PaymentAttempt> {
  const attempt = await findAttempt(deps.db, ref);
  if (attempt === undefined) throw new Error('an attempt is gone');
  return attempt;
}

/** @param attempt as `takeAsking` returned it: it has a page that was made meanwhile */
async function askAndSettle(deps: PaymentDeps, attempt: PaymentAttempt, until: number): Promise<PaymentAttempt> {
  let isOver = false;
  const over = new AbortController();
  const failed = 'another caller may ask the payment provider meanwhile';
  repeat(RENEWED_EVERY_MS, over.signal, deps.log, failed, () => renewAsking(deps.db, attempt, LEASE_MS));
  try {
    const states = await callProvider(deps, until, () => readStates(deps, attempt));
    const settled = await inTransaction(deps.db, async (tx) => {
      for (const state of states) await applyState(tx, deps, attempt, state);
      return orNotFound(await endAsking(tx, attempt, true));
    });
    isOver = true;
    return settled;
  } finally {
    over.abort();
    if (!isOver) await endAsking(deps.db, attempt, false);
  }
}

const WEIGHT: Readonly<Record<ProviderState['kind'], number>> = {
  paid: 0,
  reversed: 1,
  processing: 2,
  unpaid: 3,
  failed: 4,
  cancelled: 5,
  expired: 5,
  missing: 6,
};

const refusals = (state: ProviderState): number => ('refused' in state && state.refused ? 1 : 0);

/** The states of all paid or reversed pages of an attempt; if there is none, the one state from which a payment is most likely. */
async function readStates(deps: PaymentDeps, attempt: PaymentAttempt): Promise<ProviderState[]> {
  // The process died before it requested a page. So no provider knows the attempt, and it cannot be paid.
  if (attempt.pages === 0) return [{ kind: 'missing' }];
  const business = await businessOf(deps.db, attempt);
  const states = await askBusiness(deps, business, async (provider, credentials) => {
    const found: ProviderState[] = [];
    const pages = Array.from({ length: attempt.pages }, (_, index) => provider.referenceFor(attempt.id, index + 1));
    for (const reference of new Set(pages)) {
      found.push(await readPage(deps, provider, credentials, attempt, reference));
    }
    return found;
  });
  const money = states.filter((state) => state.kind === 'paid' || state.kind === 'reversed');
  if (money.length > 0) return money;
  return states
    .toSorted((left, right) => WEIGHT[left.kind] - WEIGHT[right.kind] || refusals(right) - refusals(left))
    .slice(0, 1);
}

async function readPage(
  deps: PaymentDeps,
  provider: PaymentProvider,
  credentials: ProviderCredentials,
  attempt: PaymentAttempt,
  reference: string,
): Promise<ProviderState> {
  const handle = { reference, page: attempt.page };
  const state = await provider.readCheckout(credentials, handle);
  const overdue = state.kind === 'unpaid' && (await readNow(deps.db)) >= attempt.expiresAt;
  // Closes an expired page at the provider before the attempt ends, so that no payer pays afterwards.
  return overdue && provider.expireCheckout !== undefined ? provider.expireCheckout(credentials, handle) : state;
}

/** Reads an attempt; if unpaid, asks the provider first, at most every two seconds. @throws ApiError 404; 403 `payment_unavailable` */
export async function findUpToDate(deps: PaymentDeps, votingEventId: string, id: string): Promise<PaymentAttempt> {
  const attempt = orNotFound(await findAttempt(deps.db, { votingEventId, id }));
  try {
    return await askProvider(deps, attempt, { isRead: true });
  } catch (fault) {
    if (fault instanceof ApiError && fault.details?.['reason'] === 'payment_provider_unavailable') return attempt;
    throw fault;
  }
}
