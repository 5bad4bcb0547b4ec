import { sql } from 'drizzle-orm';
import { bigint, boolean, index, integer, jsonb, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { accounts } from '#src/accounts/tables.ts';
import { bytes, timeMs } from '#src/database/columns.ts';
import type { CheckoutPage } from '#src/payment-providers/provider.ts';
import type { ProviderName } from '#src/payment-providers/registered.ts';
import type { AttemptStatus, CheckoutTerms, EndReason, PaymentPurpose, RefundStatus } from './payment.ts';

export const paymentBusinesses = pgTable(
  'payment_businesses',
  {
    id: text().primaryKey(),
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id),
    provider: text().$type<ProviderName>().notNull(),
    displayName: text('display_name').notNull(),
    country: text().notNull(),
    ready: boolean().notNull(),
    supportedCurrencies: text('supported_currencies').array().notNull(),
    livemode: boolean().notNull(),
    /** Its money is play money: the sandbox of this service answers for the provider. */
    sandbox: boolean().notNull(),
    /** Sealed JSON of the provider's keys. */
    credentials: text().notNull(),
    /** When its account was asked about last. */
    checkedAt: timeMs('checked_at'),
    /** How often in a row its payments could not be held against the provider's lists. */
    failedComparisons: integer('failed_comparisons').notNull().default(0),
    /** A disconnected business takes no new payments; those under way are still asked for and refunded. */
    disconnectedAt: timeMs('disconnected_at'),
    createdAt: timeMs('created_at').notNull(),
    updatedAt: timeMs('updated_at').notNull(),
  },
  (table) => [index('payment_businesses_account').on(table.accountId, table.id)],
);

/**
 * One try to pay for one thing. Not bound to the life of its event: money that was paid for an event which is then
 * deleted must still go back.
 */
export const paymentAttempts = pgTable(
  'payment_attempts',
  {
    votingEventId: text('voting_event_id').notNull(),
    id: text().notNull(),
    accountId: text('account_id').notNull(),
    paymentBusinessId: text('payment_business_id').notNull(),
    purpose: text().$type<PaymentPurpose>().notNull(),
    status: text().$type<AttemptStatus>().notNull(),
    provider: text().$type<ProviderName>().notNull(),
    /** Whether its money is real, as its business was when it began. */
    livemode: boolean().notNull().default(true),
    /** Made in a rehearsal: no provider hears of it, no money moves, and it is wiped with the rehearsal. */
    rehearsal: boolean().notNull().default(false),
    amountMinor: integer('amount_minor').notNull(),
    currency: text().notNull(),
    /** The body of the first call, without what only the checkout needs. */
    request: jsonb().$type<Record<string, unknown>>().notNull(),
    terms: jsonb().$type<CheckoutTerms>().notNull(),
    /** The newest page at the provider. */
    page: jsonb().$type<CheckoutPage>(),
    /** How many pages were asked for; each has its own reference where the provider wants that. */
    pages: integer().notNull().default(0),
    /** When the newest page stops taking money, where that is known. */
    expiresAt: timeMs('expires_at').notNull(),
    /** Says which idempotent first call made it, so that its retry goes on here instead of asking for money twice. */
    requestKey: bytes('request_key'),
    providerPaymentId: text('provider_payment_id'),
    /** What the provider kept of it, where it says so. */
    feeMinor: integer('fee_minor'),
    /** Which of the attempt's references was paid. */
    providerReference: text('provider_reference'),
    endReason: text('end_reason').$type<EndReason>(),
    /** Sealed. */
    confirmationCode: text('confirmation_code'),
    /** Sealed: what the first second call is answered, and all that follow. */
    answer: text(),
    /** When the first second call had its answer; what the service gave by itself was not asked for yet. */
    answeredAt: timeMs('answered_at'),
    /** Credits that the ballot of the attempt holds until it is cast, or the attempt ends. */
    heldCredits: jsonb('held_credits').$type<unknown[]>(),
    askedAt: timeMs('asked_at'),
    /** Set while the provider is being asked, and put off as long as it is: no one else asks, everybody waits. */
    askingUntil: timeMs('asking_until'),
    /** When reconciliation looks again; null once nothing can change any more. */
    checkAt: timeMs('check_at'),
    checks: integer().notNull().default(0),
    /** When the payer paid, as the provider says, or when we learnt of it. */
    paidAt: timeMs('paid_at'),
    /** When the payment was known to be there: delayed methods are paid days before. */
    succeededAt: timeMs('succeeded_at'),
    /** What was really paid, in the currency's smallest unit, where that is known. */
    paidMinor: bigint('paid_minor', { mode: 'number' }),
    /** Since when a person has to look at its money; null where none has to. */
    attentionAt: timeMs('attention_at'),
    /** When a person said that the case is settled. */
    settledAt: timeMs('settled_at'),
    refundedAt: timeMs('refunded_at'),
    reversedAt: timeMs('reversed_at'),
    /** What its merchant gave back of it at the provider while that is a part: the rest, and what it bought, stays. */
    partRefundedMinor: integer('part_refunded_minor').notNull().default(0),
    /** When that was learnt first. */
    partRefundedAt: timeMs('part_refunded_at'),
    createdAt: timeMs('created_at').notNull(),
    updatedAt: timeMs('updated_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.votingEventId, table.id] }),
    index('payment_attempts_id').on(table.id),
    uniqueIndex('payment_attempts_request').on(table.votingEventId, table.requestKey),
    // One payment at a provider pays for one attempt.
    uniqueIndex('payment_attempts_payment').on(table.votingEventId, table.paymentBusinessId, table.providerPaymentId),
    // Providers name payments, and know nothing of events.
    index('payment_attempts_provider_payment').on(table.providerPaymentId).where(sql`provider_payment_id IS NOT NULL`),
    index('payment_attempts_check').on(table.checkAt).where(sql`check_at IS NOT NULL`),
    index('payment_attempts_holding').on(table.votingEventId).where(sql`held_credits IS NOT NULL`),
    index('payment_attempts_account').on(table.accountId, table.id),
    index('payment_attempts_succeeded').on(table.succeededAt).where(sql`status = 'succeeded'`),
    index('payment_attempts_attention').on(table.paymentBusinessId).where(sql`attention_at IS NOT NULL`),
  ],
);

/** Money that goes back: one row for each payment at the provider, whatever becomes of it. */
export const paymentRefunds = pgTable(
  'payment_refunds',
  {
    votingEventId: text('voting_event_id').notNull(),
    attemptId: text('attempt_id').notNull(),
    providerPaymentId: text('provider_payment_id').notNull(),
    reference: text().notNull(),
    amountMinor: bigint('amount_minor', { mode: 'number' }).notNull(),
    currency: text().notNull(),
    status: text().$type<RefundStatus>().notNull(),
    refundId: text('refund_id'),
    createdAt: timeMs('created_at').notNull(),
    updatedAt: timeMs('updated_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.votingEventId, table.attemptId, table.providerPaymentId] }),
    index('payment_refunds_owed').on(table.createdAt).where(sql`status IN ('due', 'pending', 'attention', 'refused')`),
  ],
);

/** Messages of providers as they came, each once. They are hints: what they say is asked for again. */
export const providerEvents = pgTable(
  'provider_events',
  {
    paymentBusinessId: text('payment_business_id').notNull(),
    eventKey: text('event_key').notNull(),
    eventType: text('event_type').notNull(),
    attemptId: text('attempt_id'),
    reference: text(),
    checkoutSessionId: text('checkout_session_id'),
    providerPaymentId: text('provider_payment_id'),
    /** The sealed bytes of the message, for the case of a dispute. */
    body: text().notNull(),
    outcome: text().$type<'applied' | 'unmatched' | 'ignored'>(),
    receivedAt: timeMs('received_at').notNull(),
    processedAt: timeMs('processed_at'),
  },
  (table) => [
    primaryKey({ columns: [table.paymentBusinessId, table.eventKey] }),
    index('provider_events_received').on(table.receivedAt),
  ],
);
