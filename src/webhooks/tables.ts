import { sql } from 'drizzle-orm';
import { index, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { accounts } from '#src/accounts/tables.ts';
import { timeMs } from '#src/database/columns.ts';
import type { DeliveryStatus, DisabledReason, EarlierSecret, EndpointStatus } from './webhook-endpoint.ts';

export const webhookEndpoints = pgTable(
  'webhook_endpoints',
  {
    id: text().primaryKey(),
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id),
    /** Null for an endpoint that hears of all events of its account. */
    votingEventId: text('voting_event_id'),
    url: text().notNull(),
    /** The account whose key set the address last. */
    description: text(),
    eventTypes: text('event_types').array().notNull(),
    status: text().$type<EndpointStatus>().notNull(),
    disabledReason: text('disabled_reason').$type<DisabledReason>(),
    consecutiveFailures: integer('consecutive_failures').notNull().default(0),
    /** When a delivery last arrived, or when the endpoint was made or switched on. */
    lastSuccessAt: timeMs('last_success_at').notNull(),
    /** Sealed. */
    secret: text().notNull(),
    secretHint: text('secret_hint').notNull(),
    /** Sealed secrets that sign too until their time is over, newest first. */
    earlierSecrets: jsonb('earlier_secrets').$type<EarlierSecret[]>().notNull().default([]),
    /** When its voting event was deleted. It still hears of what comes after, refunds for instance, and is then removed. */
    retiredAt: timeMs('retired_at'),
    createdAt: timeMs('created_at').notNull(),
    updatedAt: timeMs('updated_at').notNull(),
  },
  (table) => [
    index('webhook_endpoints_account').on(table.accountId, table.id),
    index('webhook_endpoints_retired').on(table.retiredAt).where(sql`retired_at IS NOT NULL`),
  ],
);

/**
 * What is to be sent, written in the transaction of its fact: it exists if and only if the fact does. No foreign key:
 * the check would make every confirmed ballot wait for a change of the endpoint, and its deletion for its history.
 */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    id: text().notNull(),
    endpointId: text('endpoint_id').notNull(),
    messageId: text('message_id').notNull(),
    eventType: text('event_type').notNull(),
    /** The exact text that is signed and sent. */
    body: text().notNull(),
    status: text().$type<DeliveryStatus>().notNull(),
    /** Attempts since it was first due, or since it was last asked for again. */
    tries: integer().notNull().default(0),
    nextTryAt: timeMs('next_try_at').notNull(),
    responseStatus: integer('response_status'),
    createdAt: timeMs('created_at').notNull(),
    deliveredAt: timeMs('delivered_at'),
  },
  (table) => [
    // IDs sort by creation: newest first and what is too old are read off this key too.
    primaryKey({ columns: [table.endpointId, table.id] }),
    index('webhook_deliveries_due').on(table.endpointId, table.nextTryAt).where(sql`status = 'pending'`),
  ],
);

export const webhookAttempts = pgTable(
  'webhook_attempts',
  {
    deliveryId: text('delivery_id').notNull(),
    number: integer().notNull(),
    at: timeMs('at').notNull(),
    durationMs: integer('duration_ms').notNull(),
    responseStatus: integer('response_status'),
    error: text(),
    responseBody: text('response_body'),
  },
  (table) => [primaryKey({ columns: [table.deliveryId, table.number] })],
);
