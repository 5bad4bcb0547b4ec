import { and, desc, eq, sql } from 'drizzle-orm';
import { z } from 'zod';
import { type Executor, firstOf, inTransaction } from '#src/database/client.ts';
import { nowMs } from '#src/database/columns.ts';
import { readNow } from '#src/database/database-clock.ts';
import { deleteInChunks } from '#src/database/in-chunks.ts';
import { type Answer, ok } from '#src/http/answer.ts';
import { mayHoldMore } from '#src/http/json/strict-json.ts';
import { inTurn } from '#src/http/read-body.ts';
import { accountMoves } from '#src/http/refusals.ts';
import { defineJob, enqueue, type Job } from '#src/jobs/queue.ts';
import { isAttemptId, type WebhookNotice } from '#src/payment-providers/provider.ts';
import { DAY_MS, SECOND_MS } from '#src/platform/clock.ts';
import { badRequest, invalidField, notFound } from '#src/platform/errors.ts';
import { pick } from '#src/platform/pick.ts';
import { askProvider } from './ask-provider.ts';
import { findAttemptById, findAttemptOfPayments } from './attempt-repository.ts';
import { findBusinessEver, keepBusiness, openCredentials } from './business-repository.ts';
import { planBusinessCheck } from './check-business.ts';
import { checkRefunds } from './check-refunds.ts';
import type { PaymentAttempt, PaymentBusiness } from './payment.ts';
import type { PaymentDeps } from './payment-deps.ts';
import { providerEvents } from './tables.ts';

type ProviderEvent = typeof providerEvents.$inferSelect;

/** Stores a message. @returns false if it is stored already */
async function insertProviderEvent(executor: Executor, row: typeof providerEvents.$inferInsert): Promise<boolean> {
  return (await executor.insert(providerEvents).values(row).onConflictDoNothing()).rowCount === 1;
}

function at(paymentBusinessId: string, eventKey: string) {
  return and(eq(providerEvents.paymentBusinessId, paymentBusinessId), eq(providerEvents.eventKey, eventKey));
}

async function endProviderEvent(
  executor: Executor,
  { paymentBusinessId, eventKey }: ProviderEvent,
  outcome: NonNullable<ProviderEvent['outcome']>,
): Promise<void> {
  await executor
    .update(providerEvents)
    .set({ outcome, processedAt: sql`${nowMs}` })
    .where(at(paymentBusinessId, eventKey));
}

export const findNewestEvent = (executor: Executor, businessId: string): Promise<ProviderEvent | undefined> =>
  firstOf(
    executor
      .select()
      .from(providerEvents)
      .where(eq(providerEvents.paymentBusinessId, businessId))
      .orderBy(desc(providerEvents.receivedAt))
      .limit(1),
  );

const MATCHED_AT_ONCE = 1_000;

/** Messages about attempts that the database does not know, newest first. */
export async function listUnmatchedEvents(executor: Executor): Promise<ProviderEvent[]> {
  return executor
    .select()
    .from(providerEvents)
    .where(eq(providerEvents.outcome, 'unmatched'))
    .orderBy(desc(providerEvents.receivedAt))
    .limit(MATCHED_AT_ONCE);
}

const payload = z.strictObject({
  businessId: z.string(),
  eventKey: z.string(),
  /** Whether the message reports a payment. Then unknown refunds need not be searched for. */
  isPayment: z.boolean().optional(),
});
type ProcessProviderEvent = z.output<typeof payload>;
const PROCESS_PROVIDER_EVENT = { name: 'process_provider_event', maxAttempts: 12, group: 'payments', payload } as const;

/** Limits of a message. A provider's messages have a few kilobytes and some hundred values. */
export const MAX_MESSAGE_BYTES = 256 * 1024;
const MAX_MESSAGE_VALUES = 5_000;

/** A message may arrive before the service commits its attempt. For this long, the job looks for an unknown attempt again. */
const PATIENCE_MS = 60 * SECOND_MS;
const KEPT_MS = 30 * DAY_MS;

/**
 * Receives a provider's webhook: verifies the signature of the raw bytes, stores the message once and answers; a job does the rest
 * (completions 7.2). The message is a hint: the service only takes from it which attempt to ask the provider about.
 * @throws ApiError 404 for an unknown business, 422 for a message above the limits, 400 for a message that the provider did not sign
 */
export async function receiveProviderEvent(
  deps: PaymentDeps,
  { provider, businessId }: { readonly provider: string; readonly businessId: string },
  rawBody: Uint8Array,
  headers: Headers,
): Promise<Answer> {
  const business = await findBusinessEver(deps.db, businessId);
  if (business === undefined || business.provider !== provider) throw notFound();
  // An adapter may do work for each value of the message, and any owner of a business can sign anything (attack).
  if (mayHoldMore(rawBody, MAX_MESSAGE_VALUES))
    throw invalidField('', `must have at most ${MAX_MESSAGE_VALUES} values`);
  const adapter = deps.payments.of(business);
  const verdict = await inTurn(business.accountId, rawBody, () =>
    adapter.verifyWebhook(openCredentials(deps.secrets, business), rawBody, headers),
  );
  if (verdict.kind !== 'genuine') {
    deps.log.warn({ business: business.id, verdict: verdict.kind }, 'a provider message was not taken');
    if (verdict.kind === 'forged') throw badRequest('The signature of this message is not right.');
    // The message is signed but unreadable. After an error response, the provider would repeat it and delay its other messages.
    return ok({ received: true });
  }
  await store(deps, business, verdict.notice);
  return ok({ received: true });
}

async function store(deps: PaymentDeps, business: PaymentBusiness, notice: WebhookNotice): Promise<void> {
  await inTransaction(deps.db, async (tx) => {
    // The account has moved to another cell. The error makes the provider send the message again, and the other cell stores it.
    if (!(await keepBusiness(tx, business.id))) throw accountMoves();
    const nowMs = await readNow(tx);
    const isNew = await insertProviderEvent(tx, {
      paymentBusinessId: business.id,
      ...pick(notice, ['eventKey', 'eventType', 'attemptId', 'reference', 'providerPaymentId']),
      ...(notice.topic === 'other' ? { outcome: 'ignored', processedAt: nowMs } : {}),
      ...(notice.topic === 'account' ? { outcome: 'applied', processedAt: nowMs } : {}),
      receivedAt: nowMs,
    });
    if (!isNew || notice.topic === 'other') return;
    if (notice.topic === 'account') return planBusinessCheck(tx, business.id, null);
    const job = { businessId: business.id, eventKey: notice.eventKey, isPayment: notice.topic === 'payment' };
    await enqueue(tx, PROCESS_PROVIDER_EVENT, job, { account: business.accountId });
  });
}

export function processProviderEventJob(deps: PaymentDeps): Job<ProcessProviderEvent> {
  return defineJob({ ...PROCESS_PROVIDER_EVENT, work: (job) => processProviderEvent(deps, job) });
}

async function processProviderEvent(deps: PaymentDeps, job: ProcessProviderEvent): Promise<void> {
  const event = await firstOf(deps.db.select().from(providerEvents).where(at(job.businessId, job.eventKey)));
  if (event === undefined || event.processedAt !== null) return;
  if (await applyEvent(deps, event, job.isPayment !== true)) return;
  // The merchant may use the account for other shops, too: ignore a message that names no attempt ID of this service.
  const { attemptId } = event;
  const named = attemptId !== null && isAttemptId(attemptId) ? attemptId : await attemptOfReference(deps, event);
  if (named !== null && (await readNow(deps.db)) < event.receivedAt + PATIENCE_MS)
    throw new Error('no attempt for this message yet');
  if (named !== null) await alarmForOurs(deps, event, named);
  await endProviderEvent(deps.db, event, named === null ? 'ignored' : 'unmatched');
}

/** Applies a message to the attempt that it is about. @returns false if the database does not know the attempt */
export async function applyEvent(deps: PaymentDeps, event: ProviderEvent, withParts = true): Promise<boolean> {
  const attempt = await attemptOf(deps, event);
  if (attempt === undefined) return false;
  await askProvider(deps, attempt, { always: true });
  await checkRefunds(deps, attempt, withParts);
  await endProviderEvent(deps.db, event, 'applied');
  return true;
}

/** Raises an alarm for a message about an attempt that the database does not know, for example after a restore from a backup. */
async function alarmForOurs(deps: PaymentDeps, event: ProviderEvent, attempt: string): Promise<void> {
  if ((await findAttemptById(deps.db, attempt)) !== undefined) return;
  deps.log.error(
    { business: event.paymentBusinessId, attempt, message: event.eventType, alarm: 'payment_unmatched' },
    'a payment names an attempt that is not known here',
  );
}

type Names = Pick<ProviderEvent, 'paymentBusinessId' | 'attemptId' | 'providerPaymentId' | 'reference'>;

/** Finds the attempt by any ID in the message, because a message about a refund may contain only the ID of the payment. */
export async function attemptOf(deps: PaymentDeps, named: Names): Promise<PaymentAttempt | undefined> {
  const { attemptId, providerPaymentId, paymentBusinessId } = named;
  const byId = async (id: string | null) => (id === null ? undefined : findAttemptById(deps.db, id));
  const byPayment = async () =>
    providerPaymentId === null ? undefined : findAttemptOfPayments(deps.db, paymentBusinessId, [providerPaymentId]);
  const found = (await byId(attemptId)) ?? (await byPayment()) ?? (await byId(await attemptOfReference(deps, named)));
  // What one business names must not affect a payment of another business.
  return found?.paymentBusinessId === paymentBusinessId ? found : undefined;
}

async function attemptOfReference(
  deps: PaymentDeps,
  { paymentBusinessId, reference }: Pick<Names, 'paymentBusinessId' | 'reference'>,
): Promise<string | null> {
  if (reference === null) return null;
  const business = await findBusinessEver(deps.db, paymentBusinessId);
  return business === undefined ? null : deps.payments.of(business).attemptOfReference(reference);
}

/** Deletes processed messages after 30 days. */
export async function forgetProviderEvents(deps: PaymentDeps): Promise<void> {
  const beforeMs = (await readNow(deps.db)) - KEPT_MS;
  await deleteInChunks(deps.db, 'provider_events', sql`received_at < ${beforeMs} AND processed_at IS NOT NULL`);
}
