import { and, asc, eq, getTableColumns, inArray, sql } from 'drizzle-orm';
import { z } from 'zod';
import { type Executor, firstOf, inTransaction, type Transaction } from '#src/database/client.ts';
import { nowMs } from '#src/database/columns.ts';
import { readNow } from '#src/database/database-clock.ts';
import { defineJob, enqueue, type Job } from '#src/jobs/queue.ts';
import type { RefundResult } from '#src/payment-providers/provider.ts';
import { DAY_MS, MINUTE_MS } from '#src/platform/clock.ts';
import { summariseFault } from '#src/platform/log.ts';
import { pick } from '#src/platform/pick.ts';
import { type AttemptRef, findAttempt, lockAttempt, noteOnAttempt } from './attempt-repository.ts';
import { businessOf } from './business-repository.ts';
import { askBusiness } from './check-business.ts';
import { confirmationCodeOf, OWED, type PaymentAttempt } from './payment.ts';
import type { PaymentDeps } from './payment-deps.ts';
import { judgeAttention, recordPayment } from './record-payment.ts';
import { paymentRefunds } from './tables.ts';

export type Refund = typeof paymentRefunds.$inferSelect;

type RefundRef = Pick<Refund, 'votingEventId' | 'attemptId' | 'providerPaymentId'>;

function at(ref: RefundRef) {
  return and(
    eq(paymentRefunds.votingEventId, ref.votingEventId),
    eq(paymentRefunds.attemptId, ref.attemptId),
    eq(paymentRefunds.providerPaymentId, ref.providerPaymentId),
  );
}

/** Stores a refund that was made at the provider without a request by the service. @returns false if it is stored already */
export async function insertRefund(
  executor: Executor,
  row: RefundRef & Pick<Refund, 'reference' | 'amountMinor' | 'currency' | 'status'>,
): Promise<boolean> {
  const made = { ...row, createdAt: sql`${nowMs}`, updatedAt: sql`${nowMs}` };
  return (await executor.insert(paymentRefunds).values(made).onConflictDoNothing()).rowCount === 1;
}

export const findRefund = (executor: Executor, ref: RefundRef): Promise<Refund | undefined> =>
  firstOf(executor.select().from(paymentRefunds).where(at(ref)));

export async function listRefunds(executor: Executor, attempts: readonly AttemptRef[]): Promise<Refund[]> {
  if (attempts.length === 0) return [];
  const events = [...new Set(attempts.map(({ votingEventId }) => votingEventId))];
  const ids = attempts.map(({ id }) => id);
  return executor
    .select()
    .from(paymentRefunds)
    .where(and(inArray(paymentRefunds.votingEventId, events), inArray(paymentRefunds.attemptId, ids)))
    .orderBy(asc(paymentRefunds.createdAt));
}

export async function readRefunds(
  executor: Executor,
  attempts: readonly PaymentAttempt[],
): Promise<(attempt: PaymentAttempt) => readonly Refund[]> {
  const refunds = Map.groupBy(await listRefunds(executor, attempts), ({ attemptId }) => attemptId);
  return ({ id }) => refunds.get(id) ?? [];
}

const LOST_AT_ONCE = 500;

/** Owed refunds whose job has used all its tries, or no longer exists; oldest first. */
async function listLostRefunds(executor: Executor): Promise<RefundRef[]> {
  const key = sql`refund_job_key(${paymentRefunds.attemptId}, ${paymentRefunds.providerPaymentId})`;
  return executor
    .select(pick(getTableColumns(paymentRefunds), ['votingEventId', 'attemptId', 'providerPaymentId']))
    .from(paymentRefunds)
    .where(
      and(
        inArray(paymentRefunds.status, [...OWED]),
        sql`NOT EXISTS (SELECT 1 FROM jobs j WHERE j.key IN (${key}, ${key} || ':again')
          AND (j.attempts < j.max_attempts OR j.held_by IS NOT NULL))`,
      ),
    )
    .orderBy(asc(paymentRefunds.createdAt))
    .limit(LOST_AT_ONCE);
}

/** Moves a refund to a status; undefined if its present status is not in `from`. */
export async function moveRefund(
  executor: Executor,
  ref: RefundRef,
  status: Refund['status'],
  {
    refundId = null,
    amountMinor = null,
    settledAt = null,
  }: Partial<Pick<Refund, 'refundId' | 'settledAt'>> & {
    readonly amountMinor?: number | null;
  },
  from: readonly Refund['status'][] = OWED,
): Promise<Refund | undefined> {
  const [row] = await executor
    .update(paymentRefunds)
    .set({
      status,
      askedUntil: null,
      settledAt,
      updatedAt: sql`${nowMs}`,
      ...(refundId === null ? {} : { refundId }),
      // Keep the larger amount: a refund may exceed the price (with fees of the payer) or be less (the rest after partial refunds).
      ...(amountMinor === null
        ? {}
        : { amountMinor: sql`greatest(${paymentRefunds.amountMinor}, ${amountMinor}::bigint)` }),
    })
    .where(and(at(ref), inArray(paymentRefunds.status, [...from])))
    .returning();
  return row;
}

const payload = z.strictObject({ votingEventId: z.string(), attemptId: z.string(), providerPaymentId: z.string() });
type RefundPayment = z.output<typeof payload>;
/** Tries of one job. With the queue's growing pauses, they take almost three days. */
export const REFUND_TRIES = 20;
const REFUND_PAYMENT = { name: 'refund_payment', maxAttempts: REFUND_TRIES, group: 'payments', payload } as const;
/** Shortest pause before the provider is asked again about a pending or refused refund. */
const ASK_AGAIN_MS = 10 * MINUTE_MS;
/** How long a refund is requested again, at growing intervals, after a refusal or no answer. The cause, such as a low balance, may pass. */
const GIVE_UP_MS = 30 * DAY_MS;
const LONGEST_PAUSE_MS = DAY_MS;
/** Longer than a call that moves money takes. If a process dies in the call, the payment cannot be settled by hand for this long. */
const ASKED_MS = 2 * MINUTE_MS;
/** A pending or unanswered refund raises no alarm before this age, because it may still finish by itself. */
const ALARM_AFTER_MS = DAY_MS;

/** Refunds are searched at the provider from this long before the refund's row on, because the merchant may have refunded earlier. */
export const REFUND_EARLIER_MS = 30 * DAY_MS;

/** A provider's answer to a refund request, or the lack of an answer. */
type RefundAnswer = RefundResult | { readonly kind: 'unanswered'; readonly code: string };

/** The key of the job that requests a refund. In SQL: `refund_job_key`. */
export const refundJobKey = ({ attemptId, providerPaymentId }: Omit<RefundPayment, 'votingEventId'>): string =>
  `refund:${attemptId}:${providerPaymentId}`;

/** Queues the refund of a payment in the caller's transaction. Repeated calls queue only one refund (`give-back.sql`). */
export async function giveBack(
  tx: Transaction,
  attempt: PaymentAttempt,
  providerPaymentId: string,
  reference: string,
): Promise<void> {
  const { votingEventId, id } = attempt;
  await tx.execute(sql`SELECT give_back(${votingEventId}, ${id}, ${providerPaymentId}, ${reference})`);
}

/** Stores that the payer has the money back, and takes back the purchase as far as possible. Repeated reports change nothing. */
export async function markRefunded(
  tx: Transaction,
  deps: PaymentDeps,
  attempt: PaymentAttempt,
  providerPaymentId: string,
  nowMs: number,
): Promise<void> {
  // The refund of a duplicate payment does not affect the first payment, nor its purchase.
  if (attempt.refundedAt === null && attempt.providerPaymentId === providerPaymentId) {
    await noteOnAttempt(tx, attempt, { refundedAt: nowMs, updatedAt: nowMs });
    await recordPayment(tx, deps, { ...attempt, refundedAt: nowMs, updatedAt: nowMs }, 'refunded');
    if (attempt.status === 'fulfilled' && attempt.reversedAt === null) await takeBack(tx, deps, attempt, 'organizer');
  }
  await judgeAttention(tx, deps, attempt);
}

/** Takes back the purchase of a refunded or reversed payment, as far as possible. */
export async function takeBack(
  tx: Transaction,
  deps: Pick<PaymentDeps, 'secrets' | 'fulfilments'>,
  attempt: PaymentAttempt,
  by: 'organizer' | 'provider',
): Promise<void> {
  await deps.fulfilments[attempt.purpose].reverse(tx, attempt, confirmationCodeOf(deps.secrets, attempt), by);
}

export function refundPaymentJob(deps: PaymentDeps): Job<RefundPayment> {
  return defineJob({ ...REFUND_PAYMENT, work: (ref) => refundPayment(deps, ref) });
}

/**
 * Notes that the provider is about to be asked. Otherwise a person could settle the payment meanwhile, and the payer would be paid twice.
 * @returns undefined if the refund is no longer owed
 */
const beginToAsk = (deps: PaymentDeps, ref: RefundPayment): Promise<Refund | undefined> =>
  inTransaction(deps.db, async (tx) => {
    // `settleByHand` takes this lock, too.
    await lockAttempt(tx, { votingEventId: ref.votingEventId, id: ref.attemptId });
    const [row] = await tx
      .update(paymentRefunds)
      .set({ askedUntil: sql`${nowMs} + ${ASKED_MS}` })
      .where(and(at(ref), inArray(paymentRefunds.status, [...OWED])))
      .returning();
    return row;
  });

async function refundPayment(deps: PaymentDeps, ref: RefundPayment): Promise<void> {
  const refund = await beginToAsk(deps, ref);
  if (refund === undefined) return;
  const result = await askForRefund(deps, ref, refund).catch((fault: unknown): RefundAnswer => {
    const known = summariseFault(fault);
    deps.log.warn({ attempt: ref.attemptId, fault: known }, 'a provider did not answer to a refund');
    return { kind: 'unanswered', code: known.name };
  });
  await inTransaction(deps.db, async (tx) => {
    const attempt = await lockAttempt(tx, { votingEventId: ref.votingEventId, id: ref.attemptId });
    const nowMs = await readNow(tx);
    const ageMs = nowMs - refund.createdAt;
    const givenUp = result.kind !== 'refunded' && ageMs >= GIVE_UP_MS;
    const answered = result.kind === 'unanswered' ? refund.status : result.kind;
    const moved = await moveRefund(tx, ref, givenUp ? 'failed' : answered, result.kind === 'unanswered' ? {} : result);
    if (attempt === undefined || moved === undefined) return;
    if (result.kind === 'refunded') return markRefunded(tx, deps, attempt, ref.providerPaymentId, nowMs);
    if (givenUp) {
      await recordPayment(tx, deps, attempt, 'refund_failed');
      await judgeAttention(tx, deps, attempt);
    } else await askAgain(tx, ref, nowMs + pauseAfter(result.kind, ageMs));
    raiseAlarm(deps, ref, result, { givenUp, isNew: result.kind !== refund.status, ageMs });
  });
}

const rest = z.strictObject({ eventId: z.string(), after: z.string() });

export const giveEventBackJob = ({ db }: Pick<PaymentDeps, 'db'>): Job<z.output<typeof rest>> =>
  defineJob({
    ...{ name: 'give_event_back', maxAttempts: 25, group: 'payments', payload: rest },
    work: async ({ eventId, after }) => void (await db.execute(sql`SELECT give_event_back(${eventId}, ${after})`)),
  });

/** Queues a new job for each owed refund whose job has used all its tries or no longer exists. */
export async function sweepRefunds(deps: Pick<PaymentDeps, 'db' | 'log'>): Promise<void> {
  for (const ref of await listLostRefunds(deps.db)) {
    deps.log.warn({ attempt: ref.attemptId }, 'a refund had no job any more: it is asked for again');
    await enqueue(deps.db, REFUND_PAYMENT, ref, { key: refundJobKey(ref) });
  }
}

/** The pause equals the age of the refund, at most a day. A refund that waits for the merchant is checked once a day. */
function pauseAfter(kind: RefundAnswer['kind'], ageMs: number): number {
  return kind === 'attention' ? LONGEST_PAUSE_MS : Math.min(Math.max(ageMs, ASK_AGAIN_MS), LONGEST_PAUSE_MS);
}

/** Raises an alarm for a new refusal, for a new wait for the merchant, for each try without an outcome after a day, and for giving up. */
function raiseAlarm(
  deps: PaymentDeps,
  ref: RefundPayment,
  result: RefundAnswer,
  { givenUp, isNew, ageMs }: { readonly givenUp: boolean; readonly isNew: boolean; readonly ageMs: number },
): void {
  const answered = result.kind === 'refused' || result.kind === 'attention';
  if (!givenUp && !(answered ? isNew : ageMs >= ALARM_AFTER_MS)) return;
  const code = 'code' in result ? result.code : null;
  if (!givenUp && result.kind === 'attention') alarmForAttention(deps, ref.attemptId);
  else
    deps.log.error(
      { attempt: ref.attemptId, code, alarm: 'refund_refused' },
      givenUp
        ? 'a provider did not give a payment back in 30 days: a person has to'
        : 'a provider does not give a payment back: it is asked again for 30 days',
    );
}

/** Raises the alarm. Call once, when a refund begins to wait for the merchant. */
export function alarmForAttention(deps: Pick<PaymentDeps, 'log'>, attempt: string): void {
  deps.log.error(
    { attempt, alarm: 'refund_needs_attention' },
    'a refund waits at the provider until its merchant has done something there',
  );
}

export async function askAgain(tx: Transaction, ref: RefundPayment, runAtMs: number): Promise<void> {
  await enqueue(tx, REFUND_PAYMENT, ref, { key: `${refundJobKey(ref)}:again`, runAtMs });
}

async function askForRefund(deps: PaymentDeps, ref: RefundPayment, refund: Refund): Promise<RefundResult> {
  const attempt = await findAttempt(deps.db, { votingEventId: ref.votingEventId, id: ref.attemptId });
  if (attempt === undefined) throw new Error('a refund belongs to no attempt');
  const business = await businessOf(deps.db, attempt);
  const { refundId, status } = refund;
  const begunId = status === 'pending' || status === 'attention' ? refundId : null;
  return askBusiness(deps, business, (provider, credentials) =>
    begunId !== null
      ? provider.readRefund(credentials, begunId)
      : provider.refund(credentials, {
          ...pick(refund, ['attemptId', 'reference', 'providerPaymentId', 'amountMinor', 'currency']),
          sinceMs: refund.createdAt - REFUND_EARLIER_MS,
          refusedAtMs: status === 'refused' ? refund.updatedAt : undefined,
          isStillOwed: async () => (await beginToAsk(deps, ref)) !== undefined,
        }),
  );
}
