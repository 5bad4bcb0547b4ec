import { inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { HOUR_MS, MINUTE_MS } from '#src/platform/clock.ts';
import { ApiError } from '#src/platform/errors.ts';
import { summariseFault } from '#src/platform/log.ts';
import { isFinalAt } from '#src/voting-events/lifecycle.ts';
import { holdEvent } from '#src/voting-events/repository.ts';
import { askProvider } from './ask-provider.ts';
import { listDueAttempts, lockAttempt, noteOnAttempt } from './attempt-repository.ts';
import { isOpen } from './attempt-states.ts';
import { cancelAndGiveBack } from './finish-checkout.ts';
import type { PaymentDeps } from './payment-deps.ts';
import type { EndReason, PaymentAttempt } from './types.ts';

const LONGEST_PAUSE_MS = HOUR_MS;

/**
 * Looks at every attempt that is neither fulfilled nor ended: asks the provider about the unpaid ones, and gives back what
 * was paid for something that cannot be given any more. What no message and no caller told is learnt here.
 */
export async function reconcilePayments(deps: PaymentDeps): Promise<void> {
  for (const attempt of await listDueAttempts(deps.db)) {
    try {
      await lookAt(deps, attempt);
    } catch (fault) {
      // One provider that is away must not keep the others waiting; this attempt's turn comes again.
      const expected = fault instanceof ApiError && fault.details?.['reason'] === 'payment_provider_unavailable';
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

/** Paid, and never asked for: once nothing can be given for it any more, the money goes back (completions 7.4). */
async function giveBackWhatIsOver(deps: PaymentDeps, attempt: PaymentAttempt): Promise<void> {
  await inTransaction(deps.db, async (tx) => {
    const reason = await whyOver(tx, attempt);
    if (reason === undefined) return;
    const locked = await lockAttempt(tx, attempt);
    if (locked?.status === 'succeeded') await cancelAndGiveBack(tx, deps, locked, reason);
  });
}

/** Held as it is: an event that is opened again meanwhile takes what was paid for. */
async function whyOver(tx: Transaction, attempt: PaymentAttempt): Promise<EndReason | undefined> {
  const event = await holdEvent(tx, attempt.votingEventId);
  if (event === undefined) return 'event_gone';
  return isFinalAt(event, await readNow(tx)) ? 'event_closed' : undefined;
}

/** The next look comes later each time, until nothing can change any more. */
async function postpone(deps: PaymentDeps, attempt: PaymentAttempt): Promise<void> {
  await inTransaction(deps.db, async (tx) => {
    const current = await lockAttempt(tx, attempt);
    if (current === undefined || current.checkAt === null) return;
    const checks = current.checks + 1;
    const pauseMs = Math.min(MINUTE_MS * 2 ** Math.min(checks, 10), LONGEST_PAUSE_MS);
    // Looked at once more right after its page has ended.
    const nowMs = await readNow(tx);
    const next = nowMs + pauseMs;
    const ending = isOpen(current.status) && current.expiresAt > nowMs ? Math.min(next, current.expiresAt + 1) : next;
    await noteOnAttempt(tx, current, { checks, checkAt: ending });
  });
}
