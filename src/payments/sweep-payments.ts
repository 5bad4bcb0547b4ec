import { readNow } from '#src/database/database-clock.ts';
import { isAttemptId, type ListedReversal, PaymentProviderUnavailable } from '#src/payment-providers/provider.ts';
import { DAY_MS } from '#src/platform/clock.ts';
import { ApiError } from '#src/platform/errors.ts';
import { summariseFault } from '#src/platform/log.ts';
import { askProvider } from './ask-provider.ts';
import { findAttemptById, findAttemptByPayment, noteOnAttempt } from './attempt-repository.ts';
import { listBusinessesSince, openCredentials } from './business-repository.ts';
import { checkRefunds } from './check-refunds.ts';
import type { PaymentAttempt, PaymentBusiness } from './payment.ts';
import type { PaymentDeps } from './payment-deps.ts';
import { listUnmatchedEvents, matchAgain } from './receive-provider-event.ts';
import { listRefunds } from './refund-payment.ts';

/** Payers may dispute a payment for about this long, and a refund may fail weeks after it had succeeded. */
const LOOK_BACK_MS = 120 * DAY_MS;
/** Late payments of attempts that had ended: a sweep that was missed is made up for by the next ones. */
const LATE_PAYMENTS_MS = 3 * DAY_MS;

/**
 * Makes up for messages that were lost: holds the refunds, disputes and late payments that each provider lists against what is
 * known here. Only an attempt that differs is asked about by itself (completions 7.2).
 */
export async function sweepPayments(deps: PaymentDeps): Promise<void> {
  const nowMs = await readNow(deps.db);
  for (const event of await listUnmatchedEvents(deps.db))
    await orWarn(deps, event.paymentBusinessId, () => matchAgain(deps, event));
  for (const business of await listBusinessesSince(deps.db, nowMs - LOOK_BACK_MS)) {
    await orWarn(deps, business.id, () => sweepReversals(deps, business, nowMs - LOOK_BACK_MS));
    await orWarn(deps, business.id, () => sweepLatePayments(deps, business, nowMs - LATE_PAYMENTS_MS));
  }
}

/** One provider that is away keeps no other waiting; its turn comes again with the next sweep. */
async function orWarn(deps: PaymentDeps, businessId: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (fault) {
    const expected = fault instanceof PaymentProviderUnavailable || fault instanceof ApiError;
    deps.log[expected ? 'warn' : 'error'](
      { business: businessId, fault: summariseFault(fault) },
      'payments were not held against the lists of their provider',
    );
  }
}

async function sweepReversals(deps: PaymentDeps, business: PaymentBusiness, sinceMs: number): Promise<void> {
  const provider = deps.payments.of(business);
  const found = new Map<string, { attempt: PaymentAttempt; listed: ListedReversal[] }>();
  for await (const reversal of provider.listReversals(openCredentials(deps.secrets, business), sinceMs)) {
    const attempt = await attemptOf(deps, business, reversal);
    if (attempt === undefined) continue;
    const known = found.get(attempt.id) ?? { attempt, listed: [] };
    known.listed.push(reversal);
    found.set(attempt.id, known);
  }
  for (const { attempt, listed } of found.values()) {
    if (!(await differs(deps, attempt, listed))) continue;
    deps.log.warn({ attempt: attempt.id }, 'a message about a refund or a dispute was lost, and is made up for');
    await askProvider(deps, attempt, { always: true });
    await checkRefunds(deps, attempt);
  }
}

async function attemptOf(
  deps: PaymentDeps,
  business: PaymentBusiness,
  { providerPaymentId, reference }: Pick<ListedReversal, 'providerPaymentId' | 'reference'>,
): Promise<PaymentAttempt | undefined> {
  const named = reference === null ? null : deps.payments.of(business).attemptOfReference(reference);
  const found =
    (named === null ? undefined : await findAttemptById(deps.db, named)) ??
    (providerPaymentId === null ? undefined : await findAttemptByPayment(deps.db, business.id, providerPaymentId));
  return found?.paymentBusinessId === business.id ? found : undefined;
}

/** What the listed refunds of an attempt's own payment give back, and what is under way besides; a dispute takes all of it. */
function sumReversals(attempt: PaymentAttempt, listed: readonly ListedReversal[]) {
  const sum = (some: readonly ListedReversal[]): number =>
    some.reduce(
      (total, { kind, amountMinor }) =>
        total + (kind === 'dispute' ? attempt.amountMinor : (amountMinor ?? attempt.amountMinor)),
      0,
    );
  const isOwn = ({ providerPaymentId, reference }: ListedReversal): boolean =>
    providerPaymentId === attempt.providerPaymentId || reference === attempt.providerReference;
  const done = listed.filter(({ status }) => status === 'done');
  const underWay = listed.filter(({ status }) => status !== 'failed');
  const { amountMinor: whole } = attempt;
  const ownMinor = sum(done.filter(isOwn));
  return {
    isBack: sum(done) >= whole,
    isUnderWay: sum(underWay) >= whole,
    partMinor: ownMinor < whole ? ownMinor : 0,
  };
}

/** Whether the provider's list says something else than what is known of an attempt. */
async function differs(
  deps: PaymentDeps,
  attempt: PaymentAttempt,
  listed: readonly ListedReversal[],
): Promise<boolean> {
  const rows = await listRefunds(deps.db, attempt.votingEventId, [attempt.id]);
  const failed = rows.some(({ status }) => status === 'failed');
  const wentBack = attempt.refundedAt !== null || (attempt.reversedAt !== null && !failed);
  const { isBack, isUnderWay, partMinor } = sumReversals(attempt, listed);
  if (!isBack && !wentBack) return partMinor !== attempt.partRefundedMinor;
  const dueOnly = rows.length > 0 && rows.every(({ status }) => status === 'refunded');
  return isBack ? !wentBack && !dueOnly : !isUnderWay && listed.some(({ kind }) => kind === 'refund');
}

/** Money that came for an attempt after it had ended, without a message: it goes back. Fees that are settled by now are kept. */
async function sweepLatePayments(deps: PaymentDeps, business: PaymentBusiness, sinceMs: number): Promise<void> {
  const provider = deps.payments.of(business);
  for await (const payment of provider.listPayments(openCredentials(deps.secrets, business), sinceMs)) {
    const { attemptId, providerPaymentId, paid } = payment;
    if (!paid || attemptId === null || !isAttemptId(attemptId)) continue;
    const attempt = await findAttemptById(deps.db, attemptId);
    if (attempt?.paymentBusinessId !== business.id) continue;
    if (attempt.providerPaymentId === providerPaymentId) {
      const { feeMinor } = payment;
      if (attempt.feeMinor === null && feeMinor !== null) await noteOnAttempt(deps.db, attempt, { feeMinor });
      continue;
    }
    const rows = await listRefunds(deps.db, attempt.votingEventId, [attempt.id]);
    if (rows.some((row) => row.providerPaymentId === providerPaymentId)) continue;
    await askProvider(deps, attempt, { always: true });
  }
}
