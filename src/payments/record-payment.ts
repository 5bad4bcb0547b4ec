import type { Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { pick } from '#src/platform/pick.ts';
import { type EventType, recordEvent } from '#src/webhooks/record-event.ts';
import { type AttemptRef, lockAttempt, moveAttempt, type NewAttempt, noteOnAttempt } from './attempt-repository.ts';
import { hasOpenCase } from './list-owed.ts';
import { type AttemptStatus, type PaymentAttempt, viewAttempt } from './payment.ts';
import type { PaymentDeps } from './payment-deps.ts';

type FactOf<Type> = Type extends `payment.${infer Fact}` ? Fact : never;
export type PaymentFact = FactOf<EventType>;

/** Publishes a change of a payment to webhooks and the audit trail, in the same transaction, without the ballot and its code. */
export async function recordPayment(
  tx: Transaction,
  deps: Pick<PaymentDeps, 'ids' | 'clock' | 'secrets'>,
  attempt: PaymentAttempt,
  fact: PaymentFact,
): Promise<void> {
  // Leave out the code that confirms a ballot, because receivers may forward messages.
  const data = { ...viewAttempt(deps.secrets, { ...attempt, confirmationCode: null }) };
  const change = {
    accountId: attempt.accountId,
    votingEventId: attempt.votingEventId,
    keyId: null,
    action: `payment.${fact}`,
    resource: attempt.id,
    after: pick(attempt, ['status', 'purpose', 'amountMinor', 'currency', 'endReason']),
  };
  await recordEvent(tx, deps, { type: `payment.${fact}`, data, change });
}

/** Moves a locked attempt and publishes its new status. */
export async function moveAndRecord(
  tx: Transaction,
  deps: Pick<PaymentDeps, 'ids' | 'clock' | 'secrets'>,
  attempt: PaymentAttempt,
  status: AttemptStatus & PaymentFact,
  changes: Partial<NewAttempt>,
): Promise<PaymentAttempt> {
  const moved = await moveAttempt(tx, attempt, status, changes);
  if (moved === undefined) throw new Error(`a locked attempt could not go from ${attempt.status} to ${status}`);
  await recordPayment(tx, deps, moved, status);
  return moved;
}

/**
 * Decides from all cases of an attempt whether a person has to look at its money. Publishes when the first case opens (completions 7.4).
 * Call it after each change that may open or end a case.
 */
export async function judgeAttention(
  tx: Transaction,
  deps: Pick<PaymentDeps, 'ids' | 'clock' | 'secrets'>,
  ref: AttemptRef,
): Promise<void> {
  const attempt = await lockAttempt(tx, ref);
  if (attempt === undefined) return;
  const isOpen = await hasOpenCase(tx, ref);
  if (isOpen === (attempt.attentionAt !== null)) return;
  await noteOnAttempt(tx, ref, { attentionAt: isOpen ? await readNow(tx) : null });
  if (isOpen) await recordPayment(tx, deps, attempt, 'needs_attention');
}
