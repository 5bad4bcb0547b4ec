import {
  and,
  asc,
  desc,
  eq,
  getTableColumns,
  gt,
  inArray,
  isNotNull,
  isNull,
  lte,
  or,
  type SQL,
  sql,
} from 'drizzle-orm';
import type { z } from 'zod';
import { type Executor, firstOf, type Transaction } from '#src/database/client.ts';
import { nowMs } from '#src/database/columns.ts';
import { createdWithin, holdsText } from '#src/database/search.ts';
import { cutNewest, liesBeyond, MOST_LOOKED_AT, MOST_ROWS, type Newest } from '#src/http/cursor.ts';
import { orNotFound } from '#src/platform/errors.ts';
import { worldChanged } from '#src/voting-events/guard-change.ts';
import type { AttemptStatus, listPaymentsQuery, PaymentAttempt } from './payment.ts';
import { paymentAttempts } from './tables.ts';

/** The statuses that may precede each status (completions 7.1). So a late or repeated message cannot move an attempt backwards. */
const ALLOWED_FROM: Readonly<Record<AttemptStatus, readonly AttemptStatus[]>> = {
  created: [],
  /** The provider made a page. Allowed from `pending`, too, because concurrent calls may each have requested a page. */
  pending: ['created', 'pending'],
  /** The money arrived. Allowed from `created`, too, because a page may be paid before the commit that stores the page. */
  succeeded: ['created', 'pending'],
  fulfilled: ['succeeded'],
  failed: ['created', 'pending'],
  /** The payer did not pay in time; or the attempt could not be fulfilled, and the money is refunded. */
  cancelled: ['created', 'pending', 'succeeded'],
};

export function isOpen(status: AttemptStatus): boolean {
  return status === 'created' || status === 'pending';
}

export type NewAttempt = typeof paymentAttempts.$inferInsert;

/** The primary key of an attempt. */
export interface AttemptRef {
  readonly votingEventId: string;
  readonly id: string;
}

function at({ votingEventId, id }: AttemptRef) {
  return and(eq(paymentAttempts.votingEventId, votingEventId), eq(paymentAttempts.id, id));
}

const attemptsWhere = (executor: Executor, ...conditions: (SQL | undefined)[]) =>
  executor
    .select()
    .from(paymentAttempts)
    .where(and(...conditions));

export const findAttempt = (executor: Executor, ref: AttemptRef): Promise<PaymentAttempt | undefined> =>
  firstOf(attemptsWhere(executor, at(ref)).prepare('find_payment_attempt').execute());

/** Finds an attempt by its ID alone, because messages of providers do not name the event. */
export const findAttemptById = (executor: Executor, id: string): Promise<PaymentAttempt | undefined> =>
  firstOf(attemptsWhere(executor, eq(paymentAttempts.id, id)));

const isOfBusiness = (businessId: string) => eq(paymentAttempts.paymentBusinessId, businessId);

export const findAttemptOfPayments = (executor: Executor, businessId: string, paymentIds: readonly string[]) => {
  const isNamed = inArray(paymentAttempts.providerPaymentId, [...paymentIds]);
  return firstOf(attemptsWhere(executor, isOfBusiness(businessId), isNamed).limit(1));
};

/** The newest payment that a business took; undefined before the first. */
export const findTakenPayment = (executor: Executor, businessId: string): Promise<PaymentAttempt | undefined> => {
  const taken = attemptsWhere(executor, isOfBusiness(businessId), isNotNull(paymentAttempts.providerReference));
  return firstOf(taken.orderBy(desc(paymentAttempts.createdAt)).limit(1));
};

const isOfVisitor = (votingEventId: string, visitorId: string) =>
  and(
    eq(paymentAttempts.votingEventId, votingEventId),
    sql`lower(${paymentAttempts.request} ->> 'visitorId') = ${visitorId.toLowerCase()}`,
  );

/** The visitor's fulfilled attempts that were not refunded or reversed. */
export const listGivenTo = async (executor: Executor, votingEventId: string, visitorId: string) =>
  attemptsWhere(
    executor,
    isOfVisitor(votingEventId, visitorId),
    eq(paymentAttempts.status, 'fulfilled'),
    isNull(paymentAttempts.refundedAt),
    isNull(paymentAttempts.reversedAt),
  );

/** A visitor's unpaid attempts whose ballots reserve credits. */
export const listHolding = async (executor: Executor, votingEventId: string, visitorId: string) =>
  attemptsWhere(
    executor,
    isOfVisitor(votingEventId, visitorId),
    isNotNull(paymentAttempts.heldCredits),
    inArray(paymentAttempts.status, ['created', 'pending']),
  );

/** Locks an attempt, so that one transaction at a time settles or fulfils it. */
export const lockAttempt = (tx: Transaction, ref: AttemptRef): Promise<PaymentAttempt | undefined> =>
  firstOf(attemptsWhere(tx, at(ref)).for('update').prepare('lock_payment_attempt').execute());

/** Locks an attempt. @throws ApiError `not_found` if the end of a rehearsal has deleted it */
export const requireLocked = async (tx: Transaction, ref: AttemptRef): Promise<PaymentAttempt> =>
  orNotFound(await lockAttempt(tx, ref));

/** Inserts an attempt; undefined if a request with the same Idempotency-Key has inserted one already. */
export const insertAttempt = (executor: Executor, row: NewAttempt): Promise<PaymentAttempt | undefined> =>
  firstOf(executor.insert(paymentAttempts).values(row).onConflictDoNothing().returning());

/** The attempt that an earlier try of the same idempotent request made; undefined once its `requestKey` is cleared for a new attempt. */
export const findAttemptByRequest = (executor: Executor, votingEventId: string, requestKeys: readonly Buffer[]) => {
  const isSame = inArray(paymentAttempts.requestKey, [...requestKeys]);
  return firstOf(attemptsWhere(executor, eq(paymentAttempts.votingEventId, votingEventId), isSame));
};

/** Changes the status; no other statement may. Undefined if `ALLOWED_FROM` does not permit the change. */
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

/** Changes columns other than the status. */
export async function noteOnAttempt(executor: Executor, ref: AttemptRef, changes: Partial<NewAttempt>): Promise<void> {
  await executor.update(paymentAttempts).set(changes).where(at(ref));
}

/**
 * Takes the number of an attempt's next page, counted from 1. Taken before the provider is asked, so that no reference is used twice.
 * @throws ApiError 500 with `Retry-After` if another call of the payer has ended the attempt meanwhile
 */
export async function takePageNumber(executor: Executor, ref: AttemptRef): Promise<number> {
  const [row] = await executor
    .update(paymentAttempts)
    .set({ pages: sql`${paymentAttempts.pages} + 1` })
    .where(and(at(ref), inArray(paymentAttempts.status, ['created', 'pending'])))
    .returning({ pages: paymentAttempts.pages });
  if (row === undefined) throw worldChanged();
  return row.pages;
}

interface Asking {
  /** While the last answer is younger than this, the provider is not asked; 0 to ask in any case. */
  readonly againAfterMs: number;
  readonly leaseMs: number;
}

/** Takes the lease to ask the provider. @returns undefined if another caller has the lease, or the last answer is too young */
export const takeAsking = (
  executor: Executor,
  ref: AttemptRef,
  { againAfterMs, leaseMs }: Asking,
): Promise<PaymentAttempt | undefined> => {
  const { askingUntil, askedAt } = paymentAttempts;
  const isFree = or(isNull(askingUntil), lte(askingUntil, nowMs));
  const isOld = or(isNull(askedAt), lte(askedAt, sql`${nowMs} - ${againAfterMs}::bigint`));
  return firstOf(
    executor
      .update(paymentAttempts)
      .set({ askingUntil: sql`${nowMs} + ${leaseMs}::bigint` })
      .where(and(at(ref), isFree, isOld))
      .returning(),
  );
};

/** Extends the lease while the request to the provider is under way. */
export async function renewAsking(executor: Executor, ref: AttemptRef, leaseMs: number): Promise<void> {
  await executor
    .update(paymentAttempts)
    .set({ askingUntil: sql`${nowMs} + ${leaseMs}::bigint` })
    .where(and(at(ref), isNotNull(paymentAttempts.askingUntil)));
}

export async function isAnswerYoung(executor: Executor, ref: AttemptRef, withinMs: number): Promise<boolean> {
  const young = gt(paymentAttempts.askedAt, sql`${nowMs} - ${withinMs}::bigint`);
  return (await attemptsWhere(executor, at(ref), young)).length === 1;
}

/**
 * Ends the lease. With an answer, `takeAsking` counts its age from now; without one, the next caller may ask at once.
 * @returns the attempt; undefined if the end of a rehearsal has deleted it
 */
export const endAsking = (executor: Executor, ref: AttemptRef, answered: boolean) =>
  firstOf(
    executor
      .update(paymentAttempts)
      .set({ askingUntil: null, ...(answered ? { askedAt: sql`${nowMs}` } : {}) })
      .where(at(ref))
      .returning(),
  );

/** An event's payments; or an account's payments, also of deleted events, but without rehearsals. */
export type AttemptScope = { readonly votingEventId: string } | { readonly accountId: string };

const within = (scope: AttemptScope) =>
  'accountId' in scope
    ? and(eq(paymentAttempts.accountId, scope.accountId), eq(paymentAttempts.rehearsal, false))
    : eq(paymentAttempts.votingEventId, scope.votingEventId);

/** Attempts, newest first. */
export async function listAttempts(
  executor: Executor,
  scope: AttemptScope,
  { status, purpose, search, attention, ...window }: z.output<typeof listPaymentsQuery>,
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
  return cutNewest(rows, await liesBeyond(executor, paymentAttempts, inWindow));
}

export const listAttemptsAfter = async (executor: Executor, scope: AttemptScope, after: string, limit: number) =>
  attemptsWhere(executor, within(scope), gt(paymentAttempts.id, after)).orderBy(asc(paymentAttempts.id)).limit(limit);

export const DUE_AT_ONCE = 100;

/**
 * Attempts that are due for reconciliation, in turns of the accounts, so that thousands of one account do not delay the others. Hundreds
 * of thousands may be due: the statement jumps along the index from account to account, and reads at most `DUE_AT_ONCE` of each.
 */
export async function listDueAttempts(executor: Executor): Promise<PaymentAttempt[]> {
  const first = (condition: SQL): SQL => sql`SELECT p.account_id, p.check_at FROM payment_attempts p
    WHERE p.check_at IS NOT NULL AND ${condition} ORDER BY p.account_id, p.check_at LIMIT 1`;
  const { rows } = await executor.execute<{ id: string }>(sql`
    WITH RECURSIVE firsts AS ((${first(sql`true`)})
      UNION ALL SELECT n.* FROM firsts f CROSS JOIN LATERAL (${first(sql`p.account_id > f.account_id`)}) AS n),
    due AS MATERIALIZED (SELECT account_id FROM firsts WHERE check_at <= ${nowMs})
    SELECT a.id FROM due d CROSS JOIN LATERAL (
      SELECT p.id, p.check_at, row_number() OVER (ORDER BY p.check_at) AS turn FROM payment_attempts p
      WHERE p.account_id = d.account_id AND p.check_at <= ${nowMs} ORDER BY p.check_at
      LIMIT CASE WHEN (SELECT count(*) FROM due) < ${DUE_AT_ONCE} THEN ${DUE_AT_ONCE} ELSE 1 END) AS a
    ORDER BY a.turn, a.check_at LIMIT ${DUE_AT_ONCE}`);
  const ids = rows.map(({ id }) => id);
  const found = await attemptsWhere(executor, inArray(paymentAttempts.id, ids));
  return found.toSorted((one, other) => ids.indexOf(one.id) - ids.indexOf(other.id));
}

/** Counts an event's attempts, and sums its revenue: fulfilled payments that were not refunded or reversed, minus partial refunds. */
export async function readPaymentFigures(executor: Executor, votingEventId: string) {
  // The same rule as in `backOf`: if a refund by the merchant failed later, the payment did not go back.
  const isBack = sql`(p.refunded_at IS NOT NULL OR (p.reversed_at IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM payment_refunds r WHERE r.voting_event_id = ${votingEventId} AND r.attempt_id = p.id
      AND r.provider_payment_id = p.provider_payment_id AND r.status = 'failed')))`;
  const { rows } = await executor.execute<Record<'attempts' | 'succeeded' | 'fulfilled' | 'refunded', number>>(sql`
    SELECT count(*)::int AS attempts, count(*) FILTER (WHERE status = 'succeeded')::int AS succeeded,
      count(*) FILTER (WHERE status = 'fulfilled')::int AS fulfilled,
      count(*) FILTER (WHERE ${isBack})::int AS refunded
    FROM payment_attempts p WHERE voting_event_id = ${votingEventId}`);
  const revenue = await executor.execute<{ currency: string; amount: string }>(sql`
    SELECT currency, sum(amount_minor - part_refunded_minor) AS amount FROM payment_attempts p
    WHERE voting_event_id = ${votingEventId} AND status = 'fulfilled' AND NOT ${isBack}
    GROUP BY currency ORDER BY currency`);
  return {
    attempts: 0,
    succeeded: 0,
    fulfilled: 0,
    refunded: 0,
    ...rows[0],
    revenue: revenue.rows.map(({ currency, amount }) => ({ currency, amountMinor: Number(amount) })),
  };
}
