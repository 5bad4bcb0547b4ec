import { inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { HOUR_MS, MINUTE_MS, monotonicMs, SECOND_MS } from '#src/platform/clock.ts';
import { ApiError } from '#src/platform/errors.ts';
import { summariseFault } from '#src/platform/log.ts';
import { isFinalAt } from '#src/voting-events/lifecycle.ts';
import { holdEvent } from '#src/voting-events/repository.ts';
import { askProvider } from './ask-provider.ts';
import { DUE_AT_ONCE, isOpen, listDueAttempts, lockAttempt, noteOnAttempt } from './attempt-repository.ts';
import { cancelAndGiveBack, endReason, fulfilmentRefusal, givePaid } from './give-paid.ts';
import type { EndReason, PaymentAttempt, PaymentPurpose } from './payment.ts';
import type { PaymentDeps } from './payment-deps.ts';

/** Reasons of errors that the call to the provider has already logged. */
const EXPECTED: ReadonlySet<unknown> = new Set(['payment_provider_unavailable', 'payment_unavailable']);
const LONGEST_PAUSE_MS = HOUR_MS;
/** Longest pause between checks of a paid attempt that is not fulfilled. It is shorter, because the payer's money is involved. */
const LONGEST_PAUSE_PAID_MS = 15 * MINUTE_MS;

/** Attempts that are checked concurrently. An unresponsive provider blocks a check for up to nine seconds. */
const AT_ONCE = 4;
/** Time limit of one run; runs begin every minute. */
const RUN_MS = 40 * SECOND_MS;

/** Asks the providers about unpaid attempts that are due, and fulfils or refunds paid attempts whose second call does not come. */
export async function reconcilePayments(deps: PaymentDeps): Promise<void> {
  const until = monotonicMs() + RUN_MS;
  for (;;) {
    const due = await listDueAttempts(deps.db);
    const left = due.values();
    const lookAtSome = async (): Promise<void> => {
      for (const attempt of left) await reconcile(deps, attempt);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lookAtSome));
    if (due.length < DUE_AT_ONCE || monotonicMs() > until) return;
  }
}

async function reconcile(deps: PaymentDeps, attempt: PaymentAttempt): Promise<void> {
  try {
    await lookAt(deps, attempt);
  } catch (fault) {
    // An unavailable provider must not delay the other attempts. This attempt is checked again later.
    const expected = fault instanceof ApiError && EXPECTED.has(fault.details?.['reason']);
    if (!expected)
      deps.log.error({ attempt: attempt.id, fault: summariseFault(fault) }, 'a payment was not reconciled');
    await postpone(deps, attempt);
  }
}

async function lookAt(deps: PaymentDeps, attempt: PaymentAttempt): Promise<void> {
  const current = isOpen(attempt.status) ? await askProvider(deps, attempt, { always: true }) : attempt;
  if (current.status === 'succeeded') await endPaid(deps, current);
  await postpone(deps, current);
}

/** How long a paid attempt waits for its second call (completions 7.4). Later, credits and registrations are given, and votes refunded. */
const AWAITED_MS: Readonly<Record<PaymentPurpose, number>> = {
  vote: 72 * HOUR_MS,
  candidate_registration: 10 * MINUTE_MS,
  quadratic_credits: 10 * MINUTE_MS,
};
/** After this time, even a temporary refusal leads to a refund. */
const LONGEST_WAIT_MS = 72 * HOUR_MS;

/** Reasons of temporary refusals: the event may open or be reopened, or the visitor may buy credits. */
const PASSING: ReadonlySet<unknown> = new Set(['event_not_open', 'event_closed', 'insufficient_credits']);
const mayPass = (refusal: ApiError): boolean => PASSING.has(refusal.details?.['reason']);

/** Ends a paid attempt without its second call. Locks the attempt before the event, as the second call does, to avoid deadlocks. */
async function endPaid(deps: PaymentDeps, attempt: PaymentAttempt): Promise<void> {
  const waits = await inTransaction(deps.db, async (tx) => {
    const locked = await lockAttempt(tx, attempt);
    if (locked?.status !== 'succeeded') return false;
    const reason = await whyOver(tx, deps, locked);
    if (reason !== undefined) await cancelAndGiveBack(tx, deps, locked, reason);
    return reason === undefined;
  });
  // Fulfilling locks the event exclusively. In the same transaction, that could deadlock, because `whyOver` has taken a shared lock.
  if (waits) await inTransaction(deps.db, (tx) => endAwaited(tx, deps, attempt));
}

/** Why a paid attempt can no longer be fulfilled, if so. Locks the event, so that no reopening commits before the refund does. */
async function whyOver(tx: Transaction, deps: PaymentDeps, attempt: PaymentAttempt): Promise<EndReason | undefined> {
  const event = await holdEvent(tx, attempt.votingEventId);
  // The end of a round of a rehearsal does not end a real payment.
  const isOver =
    event === undefined ||
    ((event.rehearsalSince === null || attempt.rehearsal) && isFinalAt(event, await readNow(tx)));
  if (isOver) return 'event_over';
  const refusal = await fulfilmentRefusal(tx, deps, attempt);
  return refusal === undefined || mayPass(refusal) ? undefined : endReason(refusal);
}

/** Fulfils an attempt whose second call did not come in time. A vote is refunded instead, because only its payer may cast it. */
async function endAwaited(tx: Transaction, deps: PaymentDeps, ref: PaymentAttempt): Promise<void> {
  const attempt = await lockAttempt(tx, ref);
  if (attempt?.status !== 'succeeded') return;
  const waitedMs = (await readNow(tx)) - (attempt.succeededAt ?? attempt.updatedAt);
  if (waitedMs < AWAITED_MS[attempt.purpose]) return;
  if (attempt.purpose === 'vote') await cancelAndGiveBack(tx, deps, attempt, 'not_cast');
  else await givePaid(tx, deps, attempt, (refusal) => waitedMs < LONGEST_WAIT_MS && mayPass(refusal));
}

/** Schedules the next check after a growing pause, unless nothing can change any more. */
async function postpone(deps: PaymentDeps, attempt: PaymentAttempt): Promise<void> {
  await inTransaction(deps.db, async (tx) => {
    const current = await lockAttempt(tx, attempt);
    if (current === undefined || current.checkAt === null) return;
    const checks = current.checks + 1;
    const longestMs = current.status === 'succeeded' ? LONGEST_PAUSE_PAID_MS : LONGEST_PAUSE_MS;
    const pauseMs = Math.min(MINUTE_MS * 2 ** Math.min(checks, 10), longestMs);
    // Check at the latest right after the page expires, or after the wait for the second call ends.
    const nowMs = await readNow(tx);
    const next = nowMs + pauseMs;
    const ending = isOpen(current.status)
      ? current.expiresAt
      : (current.succeededAt ?? 0) + AWAITED_MS[current.purpose];
    const checkAt = ending > nowMs ? Math.min(next, ending + 1) : next;
    await noteOnAttempt(tx, current, { checks, checkAt });
  });
}
