import { inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { HOUR_MS, MINUTE_MS } from '#src/platform/clock.ts';
import { ApiError } from '#src/platform/errors.ts';
import { summariseFault } from '#src/platform/log.ts';
import { isFinalAt } from '#src/voting-events/lifecycle.ts';
import { holdEvent } from '#src/voting-events/repository.ts';
import { askProvider } from './ask-provider.ts';
import { isOpen, listDueAttempts, lockAttempt, noteOnAttempt } from './attempt-repository.ts';
import { cancelAndGiveBack, endReason, fulfilmentRefusal } from './finish-checkout.ts';
import type { EndReason, PaymentAttempt } from './payment.ts';
import type { PaymentDeps } from './payment-deps.ts';

/** Logged where the provider was asked. */
const EXPECTED: ReadonlySet<unknown> = new Set(['payment_provider_unavailable', 'payment_unavailable']);
const LONGEST_PAUSE_MS = HOUR_MS;
/** What is paid and not asked for is somebody's money: looked at more often. */
const LONGEST_PAUSE_PAID_MS = 15 * MINUTE_MS;

/**
 * Looks at every attempt that is neither fulfilled nor ended: asks the provider about the unpaid ones, and gives back what
 * was paid for something that cannot be given any more. What no message and no call reported is found here.
 */
export async function reconcilePayments(deps: PaymentDeps): Promise<void> {
  for (const attempt of await listDueAttempts(deps.db)) {
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
}

async function lookAt(deps: PaymentDeps, attempt: PaymentAttempt): Promise<void> {
  const current = isOpen(attempt.status) ? await askProvider(deps, attempt, { always: true }) : attempt;
  if (current.status === 'succeeded') await giveBackWhatIsOver(deps, current);
  await postpone(deps, current);
}

/**
 * Paid, and never asked for: once nothing can be given for it any more, the money goes back (completions 7.4). The attempt is
 * locked before its event, as a second call does: of the two, the one that comes first decides.
 */
async function giveBackWhatIsOver(deps: PaymentDeps, attempt: PaymentAttempt): Promise<void> {
  await inTransaction(deps.db, async (tx) => {
    const locked = await lockAttempt(tx, attempt);
    if (locked?.status !== 'succeeded') return;
    const reason = await whyOver(tx, deps, locked);
    if (reason !== undefined) await cancelAndGiveBack(tx, deps, locked, reason);
  });
}

/** What may pass by itself: an event that opens or is opened again, credits that are bought. */
const PASSING: ReadonlySet<unknown> = new Set(['event_not_open', 'event_closed', 'insufficient_credits']);

/** Held as it is: an event that is opened again meanwhile takes what was paid for. */
async function whyOver(tx: Transaction, deps: PaymentDeps, attempt: PaymentAttempt): Promise<EndReason | undefined> {
  const event = await holdEvent(tx, attempt.votingEventId);
  if (event === undefined) return 'event_gone';
  if (isFinalAt(event, await readNow(tx))) return 'event_closed';
  const refusal = await fulfilmentRefusal(tx, deps, attempt);
  return refusal === undefined || PASSING.has(refusal.details?.['reason']) ? undefined : endReason(refusal);
}

/** The next look comes later each time, until nothing can change any more. */
async function postpone(deps: PaymentDeps, attempt: PaymentAttempt): Promise<void> {
  await inTransaction(deps.db, async (tx) => {
    const current = await lockAttempt(tx, attempt);
    if (current === undefined || current.checkAt === null) return;
    const checks = current.checks + 1;
    const longestMs = current.status === 'succeeded' ? LONGEST_PAUSE_PAID_MS : LONGEST_PAUSE_MS;
    const pauseMs = Math.min(MINUTE_MS * 2 ** Math.min(checks, 10), longestMs);
    // Looked at once more right after its page has ended.
    const nowMs = await readNow(tx);
    const next = nowMs + pauseMs;
    const ending = isOpen(current.status) && current.expiresAt > nowMs ? Math.min(next, current.expiresAt + 1) : next;
    await noteOnAttempt(tx, current, { checks, checkAt: ending });
  });
}
