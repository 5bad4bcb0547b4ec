import { readNow } from '#src/database/database-clock.ts';
import { isAttemptId, type ListedPayment, type ListedReversal, type OddRow } from '#src/payment-providers/provider.ts';
import { PaymentProviderUnavailable } from '#src/payment-providers/provider-fault.ts';
import { DAY_MS } from '#src/platform/clock.ts';
import { ApiError } from '#src/platform/errors.ts';
import { summariseFault } from '#src/platform/log.ts';
import { askProvider } from './ask-provider.ts';
import { findAttemptById, findAttemptOfPayments, noteOnAttempt } from './attempt-repository.ts';
import { listBusinessesSince, noteComparison } from './business-repository.ts';
import { askBusiness, mailBusinessOwner } from './check-business.ts';
import { checkRefunds } from './check-refunds.ts';
import type { PaymentAttempt, PaymentBusiness } from './payment.ts';
import type { PaymentDeps } from './payment-deps.ts';
import { applyEvent, attemptOf, listUnmatchedEvents } from './receive-provider-event.ts';
import { listRefunds } from './refund-payment.ts';

/** How far back the lists are compared. For about this long, payers may dispute a payment; a refund may fail weeks after its success. */
const LOOK_BACK_MS = 120 * DAY_MS;
/** Payments for ended attempts are searched this far back, so that a later sweep makes up for a missed one. */
const LATE_PAYMENTS_MS = 3 * DAY_MS;

/** Makes up for lost webhooks: asks about each attempt whose state differs from the provider's lists (completions 7.2). */
export async function sweepPayments(deps: PaymentDeps): Promise<void> {
  const nowMs = await readNow(deps.db);
  // A recovery may bring back an attempt that the database did not know when its message came: look for it again.
  for (const event of await listUnmatchedEvents(deps.db))
    await orWarn(deps, event.paymentBusinessId, () => applyEvent(deps, event));
  for (const business of await listBusinessesSince(deps.db, nowMs - LOOK_BACK_MS)) {
    const done = [
      await orWarn(deps, business.id, () => sweepReversals(deps, business, nowMs - LOOK_BACK_MS)),
      await orWarn(deps, business.id, () => sweepLatePayments(deps, business, nowMs - LATE_PAYMENTS_MS)),
    ];
    await noteOutcome(deps, business, done.includes(false));
  }
}

/** Logs a failure, so that an unavailable provider does not stop the sweep of the other businesses. @returns whether the work succeeded */
async function orWarn(deps: PaymentDeps, businessId: string, work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (fault) {
    const expected = fault instanceof PaymentProviderUnavailable || fault instanceof ApiError;
    deps.log[expected ? 'warn' : 'error'](
      { business: businessId, fault: summariseFault(fault) },
      'payments were not held against the lists of their provider',
    );
    return false;
  }
}

const FAILURES_TO_ALARM = 2;

/** Raises an alarm if the comparison fails on two consecutive days, because nothing then makes up for lost messages. */
async function noteOutcome(deps: PaymentDeps, business: PaymentBusiness, failed: boolean): Promise<void> {
  const failures = await noteComparison(deps.db, business.id, failed);
  if (failures < FAILURES_TO_ALARM) return;
  deps.log.error(
    { business: business.id, failures, alarm: 'comparison_failing' },
    'the payments of a business could not be held against the lists of its provider for days',
  );
  if (failures === FAILURES_TO_ALARM) await mailBusinessOwner(deps.db, business, 'comparison');
}

/** Yields the readable rows of a list. An unreadable row that names a payment of this service raises an alarm; others are skipped. */
async function* readable<Row extends object>(
  deps: PaymentDeps,
  business: PaymentBusiness,
  rows: AsyncGenerator<Row | OddRow>,
): AsyncGenerator<Exclude<Row, OddRow>> {
  let skipped = 0;
  for await (const row of rows) {
    if (!('names' in row)) {
      yield row as Exclude<Row, OddRow>;
      continue;
    }
    const attempt = await attemptNamed(deps, business, row);
    if (attempt === undefined) skipped += 1;
    else
      deps.log.error(
        { business: business.id, attempt, alarm: 'payment_unread' },
        'a row of a provider’s list names a payment of ours and cannot be read',
      );
  }
  if (skipped > 0) deps.log.info({ business: business.id, skipped }, 'rows of other shops could not be read');
}

async function attemptNamed(
  deps: PaymentDeps,
  business: PaymentBusiness,
  { names }: OddRow,
): Promise<string | undefined> {
  const { attemptOfReference } = deps.payments.of(business);
  const named = names.flatMap((name) => (isAttemptId(name) ? [name] : (attemptOfReference(name) ?? [])));
  return named[0] ?? (await findAttemptOfPayments(deps.db, business.id, names))?.id;
}

async function sweepReversals(deps: PaymentDeps, business: PaymentBusiness, sinceMs: number): Promise<void> {
  const found = new Map<string, ListedReversal[]>();
  await askBusiness(deps, business, async (provider, credentials) => {
    for await (const reversal of readable(deps, business, provider.listReversals(credentials, sinceMs))) {
      const attempt = await attemptOf(deps, { ...reversal, paymentBusinessId: business.id, attemptId: null });
      if (attempt === undefined) continue;
      found.getOrInsert(attempt.id, []).push(reversal);
    }
  });
  // A failure for one attempt must not stop the comparison of the other attempts.
  const faults: unknown[] = [];
  for (const [id, listed] of found) await makeUp(deps, id, listed).catch((fault) => faults.push(fault));
  if (faults.length > 0) throw faults[0];
}

async function makeUp(deps: PaymentDeps, id: string, listed: readonly ListedReversal[]): Promise<void> {
  const attempt = await findAttemptById(deps.db, id);
  if (attempt === undefined || !(await differs(deps, attempt, listed))) return;
  deps.log.warn({ attempt: attempt.id }, 'a message about a refund or a dispute was lost, and is made up for');
  await askProvider(deps, attempt, { always: true });
  await checkRefunds(deps, attempt);
}

/** Sums the listed reversals of one payment: the finished ones, and all that have not failed. */
function sumReversals(whole: number, listed: readonly ListedReversal[]) {
  const sum = (some: readonly ListedReversal[]): number =>
    some.reduce((total, { amountMinor }) => total + (amountMinor ?? whole), 0);
  const doneMinor = sum(listed.filter(({ status }) => status === 'done'));
  const underWay = listed.filter(({ status }) => status !== 'failed');
  return {
    isBack: doneMinor >= whole,
    isUnderWay: sum(underWay) >= whole,
    partMinor: doneMinor < whole ? doneMinor : 0,
    hasRefund: listed.some(({ kind }) => kind === 'refund'),
  };
}

/** Whether the provider's list differs from the stored state of any of an attempt's payments. */
async function differs(
  deps: PaymentDeps,
  attempt: PaymentAttempt,
  listed: readonly ListedReversal[],
): Promise<boolean> {
  const rows = await listRefunds(deps.db, [attempt]);
  const whole = attempt.paidMinor ?? attempt.amountMinor;
  const isOf =
    (paymentId: string | null, reference: string | null) =>
    (one: ListedReversal): boolean =>
      (one.providerPaymentId !== null && one.providerPaymentId === paymentId) ||
      (one.reference !== null && one.reference === reference);
  const isOwn = isOf(attempt.providerPaymentId, attempt.providerReference);
  const others = rows.filter(({ providerPaymentId }) => providerPaymentId !== attempt.providerPaymentId);
  const isOther = others.map((row) => isOf(row.providerPaymentId, row.reference));
  const rest = listed.filter((one) => !isOwn(one) && !isOther.some((of) => of(one)));
  return (
    ownDiffers(
      attempt,
      rows.some((row) => row.providerPaymentId === attempt.providerPaymentId && row.status === 'failed'),
      sumReversals(whole, listed.filter(isOwn)),
    ) ||
    others.some((row, index) => {
      const own = listed.filter((one) => isOther[index]?.(one));
      const { isBack, isUnderWay, hasRefund } = sumReversals(row.amountMinor, own);
      if (isBack) return row.status !== 'refunded';
      return row.status === 'refunded' && hasRefund && !isUnderWay;
    }) ||
    // The list contains the refund of a payment that is not stored.
    (rest.length > 0 && sumReversals(whole, rest).isBack && attempt.refundedAt === null)
  );
}

function ownDiffers(
  attempt: PaymentAttempt,
  hasFailed: boolean,
  { isBack, isUnderWay, partMinor, hasRefund }: ReturnType<typeof sumReversals>,
): boolean {
  if (attempt.providerPaymentId === null) return false;
  const wentBack = attempt.refundedAt !== null || (attempt.reversedAt !== null && !hasFailed);
  if (isBack) return !wentBack;
  return wentBack ? hasRefund && !isUnderWay : partMinor !== attempt.partRefundedMinor;
}

/** Finds and settles payments that no webhook reported, such as payments for ended attempts. Also stores fees that came late. */
async function sweepLatePayments(deps: PaymentDeps, business: PaymentBusiness, sinceMs: number): Promise<void> {
  const found: PaymentAttempt[] = [];
  await askBusiness(deps, business, async (provider, credentials) => {
    for await (const payment of readable(deps, business, provider.listPayments(credentials, sinceMs))) {
      const attempt = await latePayment(deps, business, payment);
      if (attempt !== undefined) found.push(attempt);
    }
  });
  for (const attempt of found) await askProvider(deps, attempt, { always: true });
}

/** The attempt that a listed payment names; undefined if that payment is stored. */
async function latePayment(
  deps: PaymentDeps,
  business: PaymentBusiness,
  payment: ListedPayment,
): Promise<PaymentAttempt | undefined> {
  const { attemptId, providerPaymentId, paid, feeMinor } = payment;
  if (!paid || attemptId === null || !isAttemptId(attemptId)) return undefined;
  const attempt = await findAttemptById(deps.db, attemptId);
  if (attempt?.paymentBusinessId !== business.id) return undefined;
  if (attempt.providerPaymentId === providerPaymentId) {
    if (attempt.feeMinor === null && feeMinor !== null) await noteOnAttempt(deps.db, attempt, { feeMinor });
    return undefined;
  }
  const rows = await listRefunds(deps.db, [attempt]);
  return rows.some((row) => row.providerPaymentId === providerPaymentId) ? undefined : attempt;
}
