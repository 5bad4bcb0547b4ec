import { inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import type { Answer } from '#src/http/answer.ts';
import type { Claim } from '#src/http/idempotent-request.ts';
import { tooManyRequests } from '#src/http/rate-limit.ts';
import { refuse } from '#src/http/refusals.ts';
import type { CheckoutPage } from '#src/payment-providers/provider.ts';
import { PaymentProviderRefused } from '#src/payment-providers/provider-fault.ts';
import { providerKind } from '#src/payment-providers/registered.ts';
import { MINUTE_MS, monotonicMs, SECOND_MS } from '#src/platform/clock.ts';
import { ApiError } from '#src/platform/errors.ts';
import { pick } from '#src/platform/pick.ts';
import { worldChanged } from '#src/voting-events/guard-change.ts';
import { holdWorld } from '#src/voting-events/rehearsal.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { callProvider, countCall, payerPatience } from './ask-provider.ts';
import {
  type AttemptRef,
  findAttempt,
  findAttemptByRequest,
  insertAttempt,
  isOpen,
  listHolding,
  moveAttempt,
  type NewAttempt,
  noteOnAttempt,
  takePageNumber,
} from './attempt-repository.ts';
import { businessOf } from './business-repository.ts';
import { askBusiness, planBusinessCheck } from './check-business.ts';
import { findLinked } from './link-business.ts';
import { type PaymentAttempt, type PaymentBusiness, viewPaymentRequired } from './payment.ts';
import type { CheckoutDeps, PaymentDeps } from './payment-deps.ts';
import { recordPayment } from './record-payment.ts';
import { rehearsalPage } from './rehearse-payment.ts';
import { settlePayment } from './settle-payment.ts';

/** The purchase that a payer pays for. The caller has validated it, so that no payer pays for something that would be refused. */
interface CheckoutOrder extends Pick<PaymentAttempt, 'purpose' | 'amountMinor' | 'currency' | 'terms'> {
  /** The event as it was when the caller validated the order. */
  readonly event: Pick<VotingEvent, 'id' | 'accountId' | 'paymentBusinessId' | 'rehearsalSince'>;
  /** The data that the second call needs; clients send it only in the first call. */
  readonly request: Readonly<Record<string, unknown>>;
  /** The visitor of a poll, for the limit of checkouts per visitor; otherwise null. */
  readonly visitorId: string | null;
  /** Whether the event still sells this purchase at this price. @throws ApiError 403 `event_closed` if it has ended meanwhile */
  readonly isOffered: (tx: Transaction, event: VotingEvent) => Promise<boolean>;
  /** Reserves the credits for the attempt's ballot, until it is cast or the attempt ends. @throws ApiError 422 if there are too few */
  readonly hold?: (tx: Transaction, attemptId: string) => Promise<void>;
}

const CHECKOUTS_PER_HOUR = 10;
/** Each page may have its own reference, and the service asks the provider about each of them, one after the other. */
const MOST_PAGES = 5;

/**
 * The first call of a checkout: stores the order, requests a page from the provider, and answers 402 with its URL (contract,
 * "Checkout flow"). A retry with the same Idempotency-Key continues the same attempt.
 * @throws ApiError 429 after many checkouts of one visitor; 403 `payment_unavailable`; 422 on a field that the provider refuses;
 *   500 `payment_provider_unavailable`
 */
export async function startCheckout(
  deps: CheckoutDeps,
  order: CheckoutOrder,
  claim: Claim | undefined,
): Promise<Answer> {
  const attempt = (await resumable(deps, order, claim)) ?? (await createAttempt(deps, order, claim));
  if (attempt.status === 'pending' && attempt.page !== null) {
    const answer = paymentRequired(attempt, attempt.page);
    if (claim !== undefined)
      await inTransaction(deps.db, async (tx) => claim.store(tx, answer, keptMs(await readNow(tx), attempt.expiresAt)));
    return answer;
  }
  try {
    return await openPage(deps, attempt, claim, { isFirst: true });
  } catch (fault) {
    // Without an Idempotency-Key, a retry begins another attempt, which needs the credits that this attempt reserves: end this one.
    if (claim === undefined) await settlePayment(deps, attempt, { kind: 'expired', refused: false });
    throw fault;
  }
}

export function paymentRequired(attempt: PaymentAttempt, page: CheckoutPage, told = false): Answer {
  return { status: 402, body: { data: viewPaymentRequired(attempt, page, told ? attempt.status : undefined) } };
}

/** How long the answer is stored for retries: until the page expires, at least a second. */
function keptMs(nowMs: number, expiresAt: number): number {
  return Math.max(SECOND_MS, expiresAt - nowMs);
}

async function resumable(
  deps: CheckoutDeps,
  order: CheckoutOrder,
  claim: Claim | undefined,
): Promise<PaymentAttempt | undefined> {
  if (claim === undefined) return undefined;
  const known = await findAttemptByRequest(deps.db, order.event.id, claim.requestKeys);
  if (known === undefined) return undefined;
  const isWorn = known.page === null && known.pages >= MOST_PAGES;
  if (!isWorn && isOpen(known.status) && (await readNow(deps.db)) < known.expiresAt) return known;
  // The attempt has ended or expired, or many tries gave no page: this request may begin a new attempt.
  await noteOnAttempt(deps.db, known, { requestKey: null });
  if (isWorn) await settlePayment(deps, known, { kind: 'expired', refused: false });
  return undefined;
}

async function createAttempt(
  deps: CheckoutDeps,
  order: CheckoutOrder,
  claim: Claim | undefined,
): Promise<PaymentAttempt> {
  const { event } = order;
  const nowMs = deps.clock.now();
  limitVisitor(deps, order);
  const business = await findLinked(deps.db, event);
  const taken =
    business?.ready === true &&
    providerKind(business.provider).money.checkPrice(order.currency, order.amountMinor) === null;
  if (business === undefined || !taken) {
    deps.log.warn(
      { event: event.id, business: business?.id },
      'a payment business that is linked cannot take a payment',
    );
    throw refuse('payment_unavailable');
  }
  const rehearsal = event.rehearsalSince !== null;
  // Throws, before anything is stored, if the business is in the sandbox and no sandbox runs.
  if (!rehearsal) deps.payments.of(business);
  if (order.hold !== undefined && order.visitorId !== null) await endHolding(deps, event.id, order.visitorId);
  const row: NewAttempt = {
    votingEventId: event.id,
    id: deps.ids.sortable('pay'),
    accountId: event.accountId,
    paymentBusinessId: business.id,
    ...pick(order, ['purpose', 'amountMinor', 'currency', 'terms']),
    status: 'created',
    provider: business.provider,
    livemode: business.livemode && !rehearsal,
    rehearsal,
    request: { ...order.request },
    expiresAt: nowMs + providerKind(business.provider).pageLifeMs,
    requestKey: claim?.requestKeys[0] ?? null,
    checkAt: rehearsal ? null : nowMs + MINUTE_MS,
    createdAt: nowMs,
    updatedAt: nowMs,
  };
  const attempt = await inTransaction(deps.db, async (tx) => {
    const held = await holdWorld(tx, event);
    const inserted = await insertAttempt(tx, row);
    // Check again: after an edit or the end of the event, the order may be refused. Once the attempt exists, no such edit is possible.
    if (inserted !== undefined) {
      await deps.fulfilments[order.purpose].check(tx, inserted);
      if (!(await order.isOffered(tx, held))) throw worldChanged();
      await order.hold?.(tx, inserted.id);
    }
    return inserted;
  });
  // Another process has taken over this request's claim and has made the attempt. That process answers.
  if (attempt === undefined) throw refuse('payment_provider_unavailable');
  return attempt;
}

/** Ends earlier attempts that reserve the visitor's credits (completions 4.10). Their pages are closed first. */
async function endHolding(deps: CheckoutDeps, votingEventId: string, visitorId: string): Promise<void> {
  for (const attempt of await listHolding(deps.db, votingEventId, visitorId)) {
    // No provider knows the attempt: it is of a rehearsal, or its process ended before it requested a page.
    if (attempt.rehearsal || attempt.pages === 0) {
      await settlePayment(deps, attempt, { kind: 'expired', refused: false });
      continue;
    }
    if (attempt.page === null) continue;
    const business = await businessOf(deps.db, attempt);
    const { expireCheckout, referenceFor } = deps.payments.of(business);
    if (expireCheckout === undefined) continue;
    const handle = { reference: referenceFor(attempt.id, attempt.pages), page: attempt.page };
    countCall(deps, business.id);
    const state = await callProvider(deps, payerPatience(), () =>
      askBusiness(deps, business, (_provider, credentials) => expireCheckout(credentials, handle)),
    ).catch((fault: unknown) => {
      // The page could not be closed, so its credits stay reserved. The new attempt is refused only if too few are left.
      if (!(fault instanceof ApiError)) throw fault;
    });
    if (state !== undefined) await settlePayment(deps, attempt, state);
  }
}

function limitVisitor(deps: CheckoutDeps, { event, visitorId }: CheckoutOrder): void {
  if (visitorId === null) return;
  // Checkouts of a rehearsal are counted separately.
  const key = `checkout:${event.id}:${event.rehearsalSince}:${visitorId.toLowerCase()}`;
  const state = deps.rateLimiter.take(key, CHECKOUTS_PER_HOUR / 60, monotonicMs(), CHECKOUTS_PER_HOUR);
  if (state.retryAfterSeconds !== undefined) {
    throw tooManyRequests(state.retryAfterSeconds, 'This visitor has begun many checkouts.');
  }
}

/**
 * Requests a page for an attempt that has none, or needs another. The request runs outside of any transaction. Its content is stored
 * before, so that a retry can continue after a crash.
 * @param options.until deadline of the caller, by the monotonic clock
 * @param options.isFirst whether this is the first call of the checkout
 */
export async function openPage(
  deps: PaymentDeps,
  attempt: PaymentAttempt,
  claim: Claim | undefined,
  { until = payerPatience(), isFirst = false } = {},
): Promise<Answer> {
  const business = await businessOf(deps.db, attempt);
  const page = attempt.rehearsal
    ? rehearsalPage(deps, attempt)
    : await requestPage(deps, attempt, business, until, isFirst);
  return inTransaction(deps.db, async (tx) => {
    const expiresAt = page.expiresAtMs ?? attempt.createdAt + providerKind(attempt.provider).pageLifeMs;
    const moved = await moveAttempt(tx, attempt, 'pending', { page, expiresAt });
    // A report of the payment has changed the status meanwhile: store only the page.
    if (moved === undefined) await noteOnAttempt(tx, attempt, { page });
    const current = moved ?? (await findAttempt(tx, attempt)) ?? attempt;
    const answer = paymentRequired(current, page, moved === undefined);
    await claim?.store(tx, answer, keptMs(await readNow(tx), expiresAt));
    return answer;
  });
}

async function requestPage(
  deps: PaymentDeps,
  attempt: PaymentAttempt,
  business: PaymentBusiness,
  until: number,
  isFirst: boolean,
): Promise<CheckoutPage> {
  const { referenceFor } = deps.payments.of(business);
  const reference = referenceFor(attempt.id, await takePageNumber(deps.db, attempt));
  countCall(deps, business.id);
  const request = {
    attemptId: attempt.id,
    reference,
    ...pick(attempt, ['amountMinor', 'currency']),
    ...pick(attempt.terms, ['title', 'description', 'email', 'returnUrl', 'cancelUrl']),
    createdAtMs: attempt.createdAt,
  };
  const call = async (): Promise<CheckoutPage> => {
    try {
      return await askBusiness(deps, business, (provider, keys) => provider.createCheckout(keys, request));
    } catch (fault) {
      if (fault instanceof PaymentProviderRefused && (isFirst || !fault.blocksAccount)) {
        await endRefused(deps, attempt);
        const { field, blocksAccount, code, status } = fault;
        if (field === null && !blocksAccount) await planBusinessCheck(deps.db, business.id, code ?? String(status));
      }
      throw fault;
    }
  };
  return callProvider(deps, until, call, isFirst);
}

/** Ends an attempt whose page the provider refused. A retry then begins a new attempt instead of the same refused request. */
async function endRefused(deps: PaymentDeps, ref: AttemptRef): Promise<void> {
  await inTransaction(deps.db, async (tx) => {
    const changes = { endReason: 'refused', requestKey: null, checkAt: null } as const;
    const moved = await moveAttempt(tx, ref, 'failed', changes);
    if (moved !== undefined) await recordPayment(tx, deps, moved, 'failed');
  });
}
