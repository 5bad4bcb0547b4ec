import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { recordChange } from '#src/accounts/changes.ts';
import { inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { nameField } from '#src/http/fields.ts';
import { refuse } from '#src/http/refusals.ts';
import { type AttemptRef, noteOnAttempt, requireLocked } from './attempt-repository.ts';
import { cancelAndGiveBack } from './give-paid.ts';
import { isStale, listAskingRefunds } from './list-owed.ts';
import { confirmationCodeOf, OWED, type PaymentAttempt, type RefundStatus } from './payment.ts';
import type { PaymentDeps } from './payment-deps.ts';
import { judgeAttention, moveAndRecord } from './record-payment.ts';
import { findRefund, giveBack, listRefunds, moveRefund } from './refund-payment.ts';

export const settleBody = z.strictObject({ note: nameField(500) });

/** The organizer's API key that makes the request; null for the operator. */
interface Asker {
  readonly keyId: string | null;
}

type RecordDeps = Pick<PaymentDeps, 'ids' | 'clock' | 'secrets'>;

async function record(
  tx: Transaction,
  deps: RecordDeps,
  attempt: PaymentAttempt,
  action: string,
  by: Asker,
  after = {},
) {
  const { accountId, votingEventId, id: resource, amountMinor, currency } = attempt;
  const change = { accountId, votingEventId, resource, action, keyId: by.keyId };
  await recordChange(tx, deps, { ...change, after: { amountMinor, currency, ...after } });
}

/**
 * Refunds a whole payment at its organizer's request. A purchase that was not given or not used yet is dropped at once; any other is
 * taken back when the payer has the money (completions 7.4). Repeated requests make one refund.
 * @throws ApiError 409 `nothing_to_refund` if nothing was paid, or the payment went back at the provider
 */
export async function refundPaymentByHand(
  tx: Transaction,
  deps: PaymentDeps,
  ref: AttemptRef,
  by: Asker,
): Promise<PaymentAttempt> {
  const attempt = await requireLocked(tx, ref);
  const { providerPaymentId } = attempt;
  if (providerPaymentId === null || attempt.rehearsal) throw refuse('nothing_to_refund');
  if (attempt.status === 'succeeded') {
    await record(tx, deps, attempt, 'payment.refund_requested', by);
    return cancelAndGiveBack(tx, deps, attempt, 'refunded');
  }
  const known = await findRefund(tx, { votingEventId: ref.votingEventId, attemptId: ref.id, providerPaymentId });
  const isAsked = attempt.status === 'fulfilled' || attempt.endReason === 'refunded';
  if (known !== undefined && isAsked) return attempt;
  if (attempt.status !== 'fulfilled' || attempt.reversedAt !== null) throw refuse('nothing_to_refund');
  await record(tx, deps, attempt, 'payment.refund_requested', by);
  await giveBack(tx, attempt, providerPaymentId, attempt.providerReference ?? '');
  await deps.fulfilments[attempt.purpose].drop(tx, attempt, confirmationCodeOf(deps.secrets, attempt));
  return attempt;
}

const NOT_BACK: readonly RefundStatus[] = [...OWED, 'failed'];

/** Closes a case that a person settled: no refund follows. @throws ApiError 409 `nothing_to_settle`; `busy` while the provider is asked */
export async function settleByHand(
  tx: Transaction,
  deps: RecordDeps,
  ref: AttemptRef,
  note: string,
  by: Asker,
): Promise<PaymentAttempt> {
  const attempt = await requireLocked(tx, ref);
  const nowMs = await readNow(tx);
  // Each payment of an attempt is a case of its own: while one asks for a person, the refund of another one goes on.
  const rows = await (attempt.attentionAt === null ? listRefunds(tx, [attempt]) : listAskingRefunds(tx, attempt));
  const owed = rows.filter(({ status, settledAt }) => settledAt === null && NOT_BACK.includes(status));
  if (owed.some(({ askedUntil }) => askedUntil !== null && askedUntil > nowMs)) throw refuse('busy');
  const isOpenCase = attempt.attentionAt !== null || isStale(attempt, nowMs) || owed.length > 0;
  if (!isOpenCase) throw refuse('nothing_to_settle');
  // End the open refunds: if the provider accepted one later, the payer would be paid twice.
  for (const row of owed) await moveRefund(tx, row, 'failed', { settledAt: nowMs }, NOT_BACK);
  await noteOnAttempt(tx, attempt, { settledAt: nowMs, updatedAt: nowMs });
  await record(tx, deps, attempt, 'payment.settled', by, { note });
  // End only a stale attempt. A younger attempt may still be fulfilled by its second call, even after a partial refund.
  if (isStale(attempt, nowMs))
    await moveAndRecord(tx, deps, attempt, 'cancelled', { endReason: 'refunded', checkAt: null });
  await judgeAttention(tx, deps, attempt);
  return requireLocked(tx, ref);
}

const AGED = sql`
  SELECT a.voting_event_id AS event, a.id FROM payment_attempts a
  WHERE a.status = 'succeeded' AND a.succeeded_at <= now_ms() - 72 * 3600000::bigint AND a.attention_at IS NULL
  UNION
  SELECT a.voting_event_id, a.id FROM payment_refunds r
  JOIN payment_attempts a ON a.voting_event_id = r.voting_event_id AND a.id = r.attempt_id
  WHERE r.status IN ('due', 'pending', 'attention', 'refused') AND r.created_at <= now_ms() - 72 * 3600000::bigint
    AND a.attention_at IS NULL
  LIMIT 1000`;

/** Raises attention for payments that are neither fulfilled, refunded nor settled after 72 hours (completions 7.4). */
export async function raiseAged(deps: PaymentDeps): Promise<void> {
  const { rows } = await deps.db.execute<{ event: string; id: string }>(AGED);
  for (const { event, id } of rows)
    await inTransaction(deps.db, (tx) => judgeAttention(tx, deps, { votingEventId: event, id }));
}
