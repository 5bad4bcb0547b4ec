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
    /** Null for an endpoint that receives messages about all events of its account. */
    votingEventId: text('voting_event_id'),
    url: text().notNull(),
    description: text(),
    eventTypes: text('event_types').array().notNull(),
    status: text().$type<EndpointStatus>().notNull(),
    disabledReason: text('disabled_reason').$type<DisabledReason>(),
    consecutiveFailures: integer('consecutive_failures').notNull().default(0),
    /** When a delivery last succeeded, to the minute, or when the endpoint was created or switched on. */
    lastSuccessAt: timeMs('last_success_at').notNull(),
    /** Encrypted by `sealSecret`. */
    secret: text().notNull(),
    secretHint: text('secret_hint').notNull(),
    /** Replaced secrets, encrypted, which also sign until their `until`; newest first. */
    earlierSecrets: jsonb('earlier_secrets').$type<EarlierSecret[]>().notNull().default([]),
    /** When its voting event was deleted. The endpoint still receives later messages, such as refunds, until 14 days have passed. */
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
 * Outbox: a message is inserted in the transaction of its fact, so that both exist or neither does. No foreign key: its check
 * would make confirmed ballots wait for changes of the endpoint, and deleting the endpoint wait for deleting its history.
 */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    id: text().notNull(),
    endpointId: text('endpoint_id').notNull(),
    messageId: text('message_id').notNull(),
    eventType: text('event_type').notNull(),
    /** The exact text that is signed and sent; empty after the voter or candidate whom it described was deleted. */
    body: text().notNull(),
    /** The event of the voter or candidate whom the body describes; null, as `personId`, where it describes no living person. */
    personEventId: text('person_event_id'),
    personId: text('person_id'),
    status: text().$type<DeliveryStatus>().notNull(),
    /** Attempts since the delivery's creation, or since the last request to send it again. */
    tries: integer().notNull().default(0),
    nextTryAt: timeMs('next_try_at').notNull(),
    responseStatus: integer('response_status'),
    createdAt: timeMs('created_at').notNull(),
    deliveredAt: timeMs('delivered_at'),
  },
  (table) => [
    // IDs sort by creation time, so that this key also serves lists of the newest and the deletion of the oldest.
    primaryKey({ columns: [table.endpointId, table.id] }),
    index('webhook_deliveries_due').on(table.endpointId, table.nextTryAt).where(sql`status = 'pending'`),
    index('webhook_deliveries_person').on(table.personEventId, table.personId).where(sql`person_id IS NOT NULL`),
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
