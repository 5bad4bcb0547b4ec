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
    /** Whether the service's sandbox, with play money, answers in place of the provider. */
    sandbox: boolean().notNull(),
    /** Encrypted JSON of the provider's keys. */
    credentials: text().notNull(),
    /** When the provider was last asked about its account. */
    checkedAt: timeMs('checked_at'),
    /** Number of consecutive failures to compare the stored payments with the provider's lists. */
    failedComparisons: integer('failed_comparisons').notNull().default(0),
    /** A disconnected business takes no new payments; earlier payments are still settled and refunded. */
    disconnectedAt: timeMs('disconnected_at'),
    createdAt: timeMs('created_at').notNull(),
    updatedAt: timeMs('updated_at').notNull(),
  },
  (table) => [index('payment_businesses_account').on(table.accountId, table.id)],
);

/** One attempt to pay for one purchase. No foreign key: a payment of a deleted event must still be refunded. */
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
    /** Whether the money is real. This is the business's mode when the attempt began; in a rehearsal, false. */
    livemode: boolean().notNull().default(true),
    /** Whether the attempt was made in a rehearsal: no provider is asked, no money moves, and the rehearsal's end deletes it. */
    rehearsal: boolean().notNull().default(false),
    amountMinor: integer('amount_minor').notNull(),
    currency: text().notNull(),
    /** The body of the first call, without fields that only the checkout needs. */
    request: jsonb().$type<Record<string, unknown>>().notNull(),
    terms: jsonb().$type<CheckoutTerms>().notNull(),
    /** The newest page at the provider. */
    page: jsonb().$type<CheckoutPage>(),
    /** How many pages were requested; with some providers, each page has its own reference. */
    pages: integer().notNull().default(0),
    /** When the newest page expires; once the money is on its way, 30 days after the attempt began. */
    expiresAt: timeMs('expires_at').notNull(),
    /** MAC of the idempotent first call, by which a retry finds this attempt instead of starting a second payment. */
    requestKey: bytes('request_key'),
    providerPaymentId: text('provider_payment_id'),
    /** The provider's fee, if the provider reports it. */
    feeMinor: integer('fee_minor'),
    /** Which of the attempt's references was paid. */
    providerReference: text('provider_reference'),
    endReason: text('end_reason').$type<EndReason>(),
    /** Encrypted. */
    confirmationCode: text('confirmation_code'),
    /** Encrypted. The answer to every second call. */
    answer: text(),
    /** When a second call was first answered; null until then, even if the service has fulfilled the attempt without it. */
    answeredAt: timeMs('answered_at'),
    /** Credits that are reserved for the attempt's ballot until it is cast or the attempt ends. */
    heldCredits: jsonb('held_credits').$type<unknown[]>(),
    askedAt: timeMs('asked_at'),
    /** End of the lease of the caller that asks the provider. The caller renews the lease; other callers wait for the answer. */
    askingUntil: timeMs('asking_until'),
    /** When reconciliation checks the attempt next; null in a rehearsal, and once nothing can change any more. */
    checkAt: timeMs('check_at'),
    checks: integer().notNull().default(0),
    /** When the payer paid. If the provider does not report the time, when the service learnt of the payment. */
    paidAt: timeMs('paid_at'),
    /** When the service learnt that the money had arrived; with delayed methods, this may be days after `paidAt`. */
    succeededAt: timeMs('succeeded_at'),
    /** What was really paid, in the currency's smallest unit, if known. */
    paidMinor: bigint('paid_minor', { mode: 'number' }),
    /** The time since which a person has to look at the payment; null if there is no case. */
    attentionAt: timeMs('attention_at'),
    /** When a person settled a case of the first payment: a wrong amount, or a partial refund. Refunds have a `settledAt` of their own. */
    settledAt: timeMs('settled_at'),
    refundedAt: timeMs('refunded_at'),
    reversedAt: timeMs('reversed_at'),
    /** The sum of the merchant's partial refunds at the provider. The rest of the payment stays, and so does the purchase. */
    partRefundedMinor: integer('part_refunded_minor').notNull().default(0),
    /** When the service first learnt of a partial refund. */
    partRefundedAt: timeMs('part_refunded_at'),
    createdAt: timeMs('created_at').notNull(),
    updatedAt: timeMs('updated_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.votingEventId, table.id] }),
    index('payment_attempts_id').on(table.id),
    uniqueIndex('payment_attempts_request').on(table.votingEventId, table.requestKey),
    // One payment at a provider pays for at most one attempt.
    uniqueIndex('payment_attempts_payment').on(table.votingEventId, table.paymentBusinessId, table.providerPaymentId),
    // Without the event, because providers' messages name only the payment.
    index('payment_attempts_provider_payment').on(table.providerPaymentId).where(sql`provider_payment_id IS NOT NULL`),
    index('payment_attempts_check').on(table.accountId, table.checkAt).where(sql`check_at IS NOT NULL`),
    index('payment_attempts_holding').on(table.votingEventId).where(sql`held_credits IS NOT NULL`),
    index('payment_attempts_account').on(table.accountId, table.id),
    index('payment_attempts_succeeded').on(table.succeededAt).where(sql`status = 'succeeded'`),
    index('payment_attempts_attention').on(table.paymentBusinessId).where(sql`attention_at IS NOT NULL`),
  ],
);

/** Refunds in any state: one row for each refunded payment at the provider. */
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
    /** Until then the provider is being asked, and no person may settle the payment by hand. */
    askedUntil: timeMs('asked_until'),
    /** When a person noted that the money of a failed refund is settled. */
    settledAt: timeMs('settled_at'),
    createdAt: timeMs('created_at').notNull(),
    updatedAt: timeMs('updated_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.votingEventId, table.attemptId, table.providerPaymentId] }),
    index('payment_refunds_owed').on(table.createdAt).where(sql`status IN ('due', 'pending', 'attention', 'refused')`),
  ],
);

/** Webhook messages of providers, each stored once. A message is a hint: the service asks the provider before it acts. */
export const providerEvents = pgTable(
  'provider_events',
  {
    paymentBusinessId: text('payment_business_id').notNull(),
    eventKey: text('event_key').notNull(),
    eventType: text('event_type').notNull(),
    attemptId: text('attempt_id'),
    reference: text(),
    providerPaymentId: text('provider_payment_id'),
    outcome: text().$type<'applied' | 'unmatched' | 'ignored'>(),
    receivedAt: timeMs('received_at').notNull(),
    processedAt: timeMs('processed_at'),
  },
  (table) => [
    primaryKey({ columns: [table.paymentBusinessId, table.eventKey] }),
    index('provider_events_received').on(table.receivedAt),
  ],
);
