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

/** Logged where the provider was asked. */
const EXPECTED: ReadonlySet<unknown> = new Set(['payment_provider_unavailable', 'payment_unavailable']);
const LONGEST_PAUSE_MS = HOUR_MS;
/** What is paid and not asked for is somebody's money: looked at more often. */
const LONGEST_PAUSE_PAID_MS = 15 * MINUTE_MS;

/** Attempts that are looked at at the same time: a provider that gives no answer holds one of them for ten seconds. */
const AT_ONCE = 4;
/** The most of one run; the next one begins at the minute. */
const RUN_MS = 40 * SECOND_MS;

/**
 * Looks at every attempt that is neither fulfilled nor ended: asks the provider about the unpaid ones, and gives back what
 * was paid for something that cannot be given any more. What no message and no call reported is found here.
 */
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
    // One provider that is away must not keep the others waiting; this attempt's turn comes again.
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

/** How long the second call of a payer is waited for (completions 7.4): credits and registrations are given then, votes paid back. */
const AWAITED_MS: Readonly<Record<PaymentPurpose, number>> = {
  vote: 72 * HOUR_MS,
  candidate_registration: 10 * MINUTE_MS,
  quadratic_credits: 10 * MINUTE_MS,
};
/** Nothing is waited for longer, whatever may pass. */
const LONGEST_WAIT_MS = 72 * HOUR_MS;

/** What may pass by itself: an event that opens or is opened again, credits that are bought. */
const PASSING: ReadonlySet<unknown> = new Set(['event_not_open', 'event_closed', 'insufficient_credits']);
const mayPass = (refusal: ApiError): boolean => PASSING.has(refusal.details?.['reason']);

/**
 * Paid, and not asked for: the payment ends by itself. The attempt is locked before its event, as a second call does: of the two,
 * the one that comes first decides.
 */
async function endPaid(deps: PaymentDeps, attempt: PaymentAttempt): Promise<void> {
  const waits = await inTransaction(deps.db, async (tx) => {
    const locked = await lockAttempt(tx, attempt);
    if (locked?.status !== 'succeeded') return false;
    const reason = await whyOver(tx, deps, locked);
    if (reason !== undefined) await cancelAndGiveBack(tx, deps, locked, reason);
    return reason === undefined;
  });
  // Apart: what is given locks its event whole, which a transaction that holds it already may wait for in vain.
  if (waits) await inTransaction(deps.db, (tx) => endAwaited(tx, deps, attempt));
}

/** Held as it is: an event that is opened again meanwhile takes what was paid for. */
async function whyOver(tx: Transaction, deps: PaymentDeps, attempt: PaymentAttempt): Promise<EndReason | undefined> {
  const event = await holdEvent(tx, attempt.votingEventId);
  // A round of a rehearsal ends nothing that was really paid for.
  const isOver =
    event === undefined ||
    ((event.rehearsalSince === null || attempt.rehearsal) && isFinalAt(event, await readNow(tx)));
  if (isOver) return 'event_over';
  const refusal = await fulfilmentRefusal(tx, deps, attempt);
  return refusal === undefined || mayPass(refusal) ? undefined : endReason(refusal);
}

/** Gives what was not asked for in time, or pays it back: a vote is cast by its payer alone. */
async function endAwaited(tx: Transaction, deps: PaymentDeps, ref: PaymentAttempt): Promise<void> {
  const attempt = await lockAttempt(tx, ref);
  if (attempt?.status !== 'succeeded') return;
  const waitedMs = (await readNow(tx)) - (attempt.succeededAt ?? attempt.updatedAt);
  if (waitedMs < AWAITED_MS[attempt.purpose]) return;
  if (attempt.purpose === 'vote') await cancelAndGiveBack(tx, deps, attempt, 'not_cast');
  else await givePaid(tx, deps, attempt, (refusal) => waitedMs < LONGEST_WAIT_MS && mayPass(refusal));
}

/** The next look comes later each time, until nothing can change any more. */
async function postpone(deps: PaymentDeps, attempt: PaymentAttempt): Promise<void> {
  await inTransaction(deps.db, async (tx) => {
    const current = await lockAttempt(tx, attempt);
    if (current === undefined || current.checkAt === null) return;
    const checks = current.checks + 1;
    const longestMs = current.status === 'succeeded' ? LONGEST_PAUSE_PAID_MS : LONGEST_PAUSE_MS;
    const pauseMs = Math.min(MINUTE_MS * 2 ** Math.min(checks, 10), longestMs);
    // Looked at once more right after its page, or the time of its payer, has ended.
    const nowMs = await readNow(tx);
    const next = nowMs + pauseMs;
    const ending = isOpen(current.status)
      ? current.expiresAt
      : (current.succeededAt ?? 0) + AWAITED_MS[current.purpose];
    const checkAt = ending > nowMs ? Math.min(next, ending + 1) : next;
    await noteOnAttempt(tx, current, { checks, checkAt });
  });
}
