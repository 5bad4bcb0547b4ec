import { recordChange } from '#src/accounts/record-change.ts';
import type { Transaction } from '#src/database/client.ts';
import type { PaymentDeps } from './payment-deps.ts';
import type { PaymentAttempt } from './types.ts';

export type PaymentFact = 'succeeded' | 'fulfilled' | 'failed' | 'cancelled' | 'refunded' | 'reversed';

/** Tells what became of a payment, in the transaction in which it did. Never the ballot, never its code. */
export async function recordPayment(
  tx: Transaction,
  deps: Pick<PaymentDeps, 'ids' | 'clock'>,
  attempt: PaymentAttempt,
  fact: PaymentFact,
): Promise<void> {
  await recordChange(tx, deps, {
    accountId: attempt.accountId,
    votingEventId: attempt.votingEventId,
    keyId: null,
    action: `payment.${fact}`,
    resource: attempt.id,
    after: {
      status: attempt.status,
      purpose: attempt.purpose,
      amountMinor: attempt.amountMinor,
      currency: attempt.currency,
      endReason: attempt.endReason,
    },
  });
}
