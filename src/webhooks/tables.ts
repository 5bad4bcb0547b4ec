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
    /** When a delivery last succeeded, to the minute, or when the endpoint was created or switched on, if that was later. */
    lastSuccessAt: timeMs('last_success_at').notNull(),
    /** Encrypted by `sealSecret`. */
    secret: text().notNull(),
    secretHint: text('secret_hint').notNull(),
    /** Replaced secrets, encrypted, newest first. Each also signs until its `until`. */
    earlierSecrets: jsonb('earlier_secrets').$type<EarlierSecret[]>().notNull().default([]),
    /** When the endpoint's voting event was deleted. The endpoint receives later messages, such as refunds, for another 14 days. */
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
 * Outbox: a message is inserted in the transaction of its fact, so that both exist or neither does. No foreign key: its check would make
 * confirms wait for changes of the endpoint, and the deletion of an endpoint wait for the deletion of its history.
 */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    id: text().notNull(),
    endpointId: text('endpoint_id').notNull(),
    messageId: text('message_id').notNull(),
    eventType: text('event_type').notNull(),
    /** The exact text that is signed and sent. Empty after the voter or candidate whom it described was deleted. */
    body: text().notNull(),
    /** The event of the voter or candidate whom the body describes. If it describes no living person, this and `personId` are null. */
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
    // IDs sort by creation time, so that this key also serves listing the newest deliveries and deleting the oldest.
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
