import { and, asc, desc, eq, getTableColumns, gt, inArray, isNotNull, isNull, lte, or, sql } from 'drizzle-orm';
import { type Executor, firstOf, type Transaction } from '#src/database/client.ts';
import { nowMs } from '#src/database/columns.ts';
import { createdWithin, holdsText } from '#src/database/search.ts';
import { cutNewest, MOST_LOOKED_AT, MOST_ROWS, type Newest, type TimeWindow } from '#src/http/cursor.ts';
import type { AttemptStatus, PaymentAttempt, PaymentPurpose } from './payment.ts';
import { paymentAttempts } from './tables.ts';

/**
 * Every move that a payment attempt can make (completions 7.1). What stands in no row never happens: the statements that
 * change a status name the ones they may come from, so that a late or repeated message can move nothing backwards.
 */
const ALLOWED_FROM: Readonly<Record<AttemptStatus, readonly AttemptStatus[]>> = {
  created: [],
  /** The provider made a page. A provider that forgets one gets a second page for the same attempt. */
  pending: ['created', 'pending'],
  /** The money is there. `created` too: the page may have been paid before our own commit said that it exists. */
  succeeded: ['created', 'pending'],
  fulfilled: ['succeeded'],
  failed: ['created', 'pending'],
  /** No one paid in time; or what was paid for cannot be given any more, and the money goes back. */
  cancelled: ['created', 'pending', 'succeeded'],
};

/** Whether money may still come for it. */
export function isOpen(status: AttemptStatus): boolean {
  return status === 'created' || status === 'pending';
}

export type NewAttempt = typeof paymentAttempts.$inferInsert;

/** Where an attempt stands: its event and itself. */
export interface AttemptRef {
  readonly votingEventId: string;
  readonly id: string;
}

function at({ votingEventId, id }: AttemptRef) {
  return and(eq(paymentAttempts.votingEventId, votingEventId), eq(paymentAttempts.id, id));
}

export const findAttempt = (executor: Executor, ref: AttemptRef): Promise<PaymentAttempt | undefined> =>
  firstOf(executor.select().from(paymentAttempts).where(at(ref)));

/** The attempt that a provider names, which knows nothing of events. */
export const findAttemptById = (executor: Executor, id: string): Promise<PaymentAttempt | undefined> =>
  firstOf(executor.select().from(paymentAttempts).where(eq(paymentAttempts.id, id)));

export async function findAttemptOfPayments(
  executor: Executor,
  businessId: string,
  paymentIds: readonly string[],
): Promise<PaymentAttempt | undefined> {
  const [row] = await executor
    .select()
    .from(paymentAttempts)
    .where(
      and(
        eq(paymentAttempts.paymentBusinessId, businessId),
        inArray(paymentAttempts.providerPaymentId, [...paymentIds]),
      ),
    )
    .limit(1);
  return row;
}

/** A payment that a business took, the newest one; undefined before the first. */
export async function findTakenPayment(executor: Executor, businessId: string): Promise<PaymentAttempt | undefined> {
  const [row] = await executor
    .select()
    .from(paymentAttempts)
    .where(and(eq(paymentAttempts.paymentBusinessId, businessId), isNotNull(paymentAttempts.providerReference)))
    .orderBy(desc(paymentAttempts.createdAt))
    .limit(1);
  return row;
}

const isOfVisitor = (visitorId: string) =>
  sql`lower(${paymentAttempts.request} ->> 'visitorId') = ${visitorId.toLowerCase()}`;

/** What was given to a visitor of an event and is not back: `listHolding` lists what is on its way. */
export async function listGivenTo(
  executor: Executor,
  votingEventId: string,
  visitorId: string,
): Promise<PaymentAttempt[]> {
  return executor
    .select()
    .from(paymentAttempts)
    .where(
      and(
        eq(paymentAttempts.votingEventId, votingEventId),
        eq(paymentAttempts.status, 'fulfilled'),
        isNull(paymentAttempts.refundedAt),
        isNull(paymentAttempts.reversedAt),
        isOfVisitor(visitorId),
      ),
    );
}

/** Unpaid attempts whose ballots hold credits of a visitor. */
export async function listHolding(
  executor: Executor,
  votingEventId: string,
  visitorId: string,
): Promise<PaymentAttempt[]> {
  return executor
    .select()
    .from(paymentAttempts)
    .where(
      and(
        eq(paymentAttempts.votingEventId, votingEventId),
        isNotNull(paymentAttempts.heldCredits),
        inArray(paymentAttempts.status, ['created', 'pending']),
        isOfVisitor(visitorId),
      ),
    );
}

/** Locks an attempt: settling and fulfilling it happen one after the other. */
export const lockAttempt = (tx: Transaction, ref: AttemptRef): Promise<PaymentAttempt | undefined> =>
  firstOf(tx.select().from(paymentAttempts).where(at(ref)).for('update'));

/** Inserts an attempt, or nothing when this idempotent first call has made one already. */
export const insertAttempt = (executor: Executor, row: NewAttempt): Promise<PaymentAttempt | undefined> =>
  firstOf(executor.insert(paymentAttempts).values(row).onConflictDoNothing().returning());

/** The attempt that an idempotent first call made before, as long as its retry may go on with it. */
export async function findAttemptByRequest(
  executor: Executor,
  votingEventId: string,
  requestKeys: readonly Buffer[],
): Promise<PaymentAttempt | undefined> {
  const [row] = await executor
    .select()
    .from(paymentAttempts)
    .where(
      and(eq(paymentAttempts.votingEventId, votingEventId), inArray(paymentAttempts.requestKey, [...requestKeys])),
    );
  return row;
}

/**
 * Moves an attempt to a status, if it stands where that may happen from; undefined when it does not.
 * The one statement that changes a status.
 */
export async function moveAttempt(
  executor: Executor,
  ref: AttemptRef,
  status: AttemptStatus,
  changes: Partial<NewAttempt> = {},
): Promise<PaymentAttempt | undefined> {
  const [row] = await executor
    .update(paymentAttempts)
    .set({ ...changes, status, updatedAt: sql`${nowMs}` })
    .where(and(at(ref), inArray(paymentAttempts.status, [...ALLOWED_FROM[status]])))
    .returning();
  const hasEnded = status === 'failed' || status === 'cancelled';
  if (hasEnded && row !== undefined && row.heldCredits !== null)
    await executor.execute(sql`SELECT release_attempt(${ref.votingEventId}, ${ref.id})`);
  return row;
}

/** Changes what is no status. */
export async function noteOnAttempt(executor: Executor, ref: AttemptRef, changes: Partial<NewAttempt>): Promise<void> {
  await executor.update(paymentAttempts).set(changes).where(at(ref));
}

/** The number that the next page of an attempt gets, from 1; taken before the provider is asked, so that no reference is used twice. */
export async function takePageNumber(executor: Executor, ref: AttemptRef): Promise<number> {
  const [row] = await executor
    .update(paymentAttempts)
    .set({ pages: sql`${paymentAttempts.pages} + 1` })
    .where(at(ref))
    .returning({ pages: paymentAttempts.pages });
  if (row === undefined) throw new Error('an attempt is gone');
  return row.pages;
}

interface Asking {
  /** 0 asks in any case, unless somebody is asking now. */
  readonly againAfterMs: number;
  readonly leaseMs: number;
}

/** Takes the right to ask the provider: no one else is asking, and the last answer is old enough. */
export async function takeAsking(
  executor: Executor,
  ref: AttemptRef,
  { againAfterMs, leaseMs }: Asking,
): Promise<boolean> {
  const rows = await executor
    .update(paymentAttempts)
    .set({ askingUntil: sql`${nowMs} + ${leaseMs}::bigint` })
    .where(
      and(
        at(ref),
        or(isNull(paymentAttempts.askingUntil), lte(paymentAttempts.askingUntil, nowMs)),
        or(isNull(paymentAttempts.askedAt), lte(paymentAttempts.askedAt, sql`${nowMs} - ${againAfterMs}::bigint`)),
      ),
    )
    .returning({ id: paymentAttempts.id });
  return rows.length === 1;
}

/** Puts off the end of an asking that is still under way. */
export async function renewAsking(executor: Executor, ref: AttemptRef, leaseMs: number): Promise<void> {
  await executor
    .update(paymentAttempts)
    .set({ askingUntil: sql`${nowMs} + ${leaseMs}::bigint` })
    .where(and(at(ref), isNotNull(paymentAttempts.askingUntil)));
}

/** Whether the provider answered within so many milliseconds. */
export async function isAnswerYoung(executor: Executor, ref: AttemptRef, withinMs: number): Promise<boolean> {
  const young = and(at(ref), gt(paymentAttempts.askedAt, sql`${nowMs} - ${withinMs}::bigint`));
  return (await executor.select({ id: paymentAttempts.id }).from(paymentAttempts).where(young)).length === 1;
}

/** Ends the asking. An answer counts for the next seconds; no answer leaves the next one free to ask. */
export async function endAsking(executor: Executor, ref: AttemptRef, answered: boolean): Promise<void> {
  await executor
    .update(paymentAttempts)
    .set({ askingUntil: null, ...(answered ? { askedAt: sql`${nowMs}` } : {}) })
    .where(at(ref));
}

/** Payments of an event, or of an account over all events that it owns, deleted ones too: its books hold no play money of a rehearsal. */
export type AttemptScope = { readonly votingEventId: string } | { readonly accountId: string };

const within = (scope: AttemptScope) =>
  'accountId' in scope
    ? and(eq(paymentAttempts.accountId, scope.accountId), eq(paymentAttempts.rehearsal, false))
    : eq(paymentAttempts.votingEventId, scope.votingEventId);

interface AttemptFilter extends TimeWindow {
  readonly attention?: 'true' | 'false' | undefined;
  readonly status?: AttemptStatus | undefined;
  readonly purpose?: PaymentPurpose | undefined;
  readonly search?: string | undefined;
}

/** Attempts, newest first. */
export async function listAttempts(
  executor: Executor,
  scope: AttemptScope,
  { status, purpose, search, attention, ...window }: AttemptFilter,
): Promise<Newest<PaymentAttempt>> {
  const inWindow = and(within(scope), createdWithin(paymentAttempts, 'pay', window));
  const ids = executor
    .select({ event: paymentAttempts.votingEventId, id: paymentAttempts.id })
    .from(paymentAttempts)
    .where(inWindow)
    .orderBy(desc(paymentAttempts.id));
  const newest = ids.limit(MOST_LOOKED_AT).as('newest');
  const rows = await executor
    .select(getTableColumns(paymentAttempts))
    .from(newest)
    .innerJoin(paymentAttempts, and(eq(paymentAttempts.votingEventId, newest.event), eq(paymentAttempts.id, newest.id)))
    .where(
      and(
        status === undefined ? undefined : eq(paymentAttempts.status, status),
        purpose === undefined ? undefined : eq(paymentAttempts.purpose, purpose),
        attention === undefined
          ? undefined
          : sql`(${paymentAttempts.attentionAt} IS NOT NULL) = ${attention === 'true'}`,
        holdsText(
          search,
          paymentAttempts.id,
          sql`(${paymentAttempts.request} ->> 'name')`,
          sql`(${paymentAttempts.request} ->> 'email')`,
        ),
      ),
    )
    .orderBy(desc(paymentAttempts.id))
    .limit(MOST_ROWS + 1);
  const beyond = await executor
    .select({ id: paymentAttempts.id })
    .from(paymentAttempts)
    .where(inWindow)
    .orderBy(desc(paymentAttempts.id))
    .offset(MOST_LOOKED_AT)
    .limit(1);
  return cutNewest(rows, beyond.length > 0);
}

/** Attempts in the order of their IDs, some at a time: for what gives all of them. */
export async function listAttemptsAfter(
  executor: Executor,
  scope: AttemptScope,
  after: string,
  limit: number,
): Promise<PaymentAttempt[]> {
  return executor
    .select()
    .from(paymentAttempts)
    .where(and(within(scope), gt(paymentAttempts.id, after)))
    .orderBy(asc(paymentAttempts.id))
    .limit(limit);
}

export const DUE_AT_ONCE = 100;

/** Attempts that reconciliation has to look at: the first one of each account, then the second ones, so that thousands of one keep no other waiting. */
export async function listDueAttempts(executor: Executor): Promise<PaymentAttempt[]> {
  const { accountId, checkAt } = paymentAttempts;
  return executor
    .select()
    .from(paymentAttempts)
    .where(lte(checkAt, nowMs))
    .orderBy(sql`row_number() OVER (PARTITION BY ${accountId} ORDER BY ${checkAt})`, asc(checkAt))
    .limit(DUE_AT_ONCE);
}

/** What an event took in: revenue is what was fulfilled and did not go back, parts that did taken off. */
export async function readPaymentFigures(executor: Executor, votingEventId: string) {
  const { rows } = await executor.execute<Record<'attempts' | 'succeeded' | 'fulfilled' | 'refunded', string>>(sql`
    SELECT count(*) AS attempts, count(*) FILTER (WHERE status = 'succeeded') AS succeeded,
      count(*) FILTER (WHERE status = 'fulfilled') AS fulfilled,
      count(*) FILTER (WHERE refunded_at IS NOT NULL OR reversed_at IS NOT NULL) AS refunded
    FROM payment_attempts WHERE voting_event_id = ${votingEventId}`);
  const revenue = await executor.execute<{ currency: string; amount: string }>(sql`
    SELECT currency, sum(amount_minor - part_refunded_minor) AS amount FROM payment_attempts
    WHERE voting_event_id = ${votingEventId} AND status = 'fulfilled' AND reversed_at IS NULL AND refunded_at IS NULL
    GROUP BY currency ORDER BY currency`);
  const [row] = rows;
  return {
    attempts: Number(row?.attempts ?? 0),
    succeeded: Number(row?.succeeded ?? 0),
    fulfilled: Number(row?.fulfilled ?? 0),
    refunded: Number(row?.refunded ?? 0),
    revenue: revenue.rows.map(({ currency, amount }) => ({ currency, amountMinor: Number(amount) })),
  };
}
