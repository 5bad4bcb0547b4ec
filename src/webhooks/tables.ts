import { sql } from 'drizzle-orm';
import { index, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { accounts } from '#src/accounts/tables.ts';
import { timeMs } from '#src/database/columns.ts';
import type { DeliveryStatus, DisabledReason, EndpointStatus } from './types.ts';

export const webhookEndpoints = pgTable(
  'webhook_endpoints',
  {
    id: text().primaryKey(),
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id),
    votingEventId: text('voting_event_id'),
    url: text().notNull(),
    description: text(),
    eventTypes: text('event_types').array().notNull(),
    status: text().$type<EndpointStatus>().notNull(),
    disabledReason: text('disabled_reason').$type<DisabledReason>(),
    consecutiveFailures: integer('consecutive_failures').notNull().default(0),
    lastSuccessAt: timeMs('last_success_at').notNull(),
    secret: text().notNull(),
    secretHint: text('secret_hint').notNull(),
    previousSecret: text('previous_secret'),
    previousSecretUntil: timeMs('previous_secret_until'),
    createdAt: timeMs('created_at').notNull(),
    updatedAt: timeMs('updated_at').notNull(),
  },
  (table) => [index('webhook_endpoints_account').on(table.accountId, table.id)],
);

/** What is to be sent, written in the transaction of what it tells: it exists if and only if the fact does. */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    id: text().primaryKey(),
    endpointId: text('endpoint_id')
      .notNull()
      .references(() => webhookEndpoints.id, { onDelete: 'cascade' }),
    messageId: text('message_id').notNull(),
    eventType: text('event_type').notNull(),
    body: text().notNull(),
    status: text().$type<DeliveryStatus>().notNull(),
    tries: integer().notNull().default(0),
    nextTryAt: timeMs('next_try_at').notNull(),
    /** A sender's lease: one that died loses it within a minute. */
    lockedUntil: timeMs('locked_until').notNull().default(0),
    responseStatus: integer('response_status'),
    createdAt: timeMs('created_at').notNull(),
    deliveredAt: timeMs('delivered_at'),
  },
  (table) => [
    index('webhook_deliveries_due').on(table.endpointId, table.nextTryAt).where(sql`status = 'pending'`),
    index('webhook_deliveries_endpoint').on(table.endpointId, table.id),
    index('webhook_deliveries_age').on(table.createdAt),
  ],
);

export const webhookAttempts = pgTable(
  'webhook_attempts',
  {
    deliveryId: text('delivery_id')
      .notNull()
      .references(() => webhookDeliveries.id, { onDelete: 'cascade' }),
    number: integer().notNull(),
    at: timeMs('at').notNull(),
    durationMs: integer('duration_ms').notNull(),
    responseStatus: integer('response_status'),
    error: text(),
    responseBody: text('response_body'),
  },
  (table) => [primaryKey({ columns: [table.deliveryId, table.number] })],
);
