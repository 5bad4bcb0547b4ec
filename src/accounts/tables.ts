import { sql } from 'drizzle-orm';
import { index, integer, jsonb, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { bytes, timeMs } from '#src/database/columns.ts';
import type { Scope } from '#src/http/caller.ts';

export const accounts = pgTable('accounts', {
  id: text().primaryKey(),
  name: text().notNull(),
  /** Where the service writes when something of the account stops working. */
  contactEmail: text('contact_email'),
  plan: text().$type<'free' | 'pro' | 'enterprise'>().notNull(),
  /** Kept in the row so that the plan's limit is one conditional update, which no race can pass. */
  eventCount: integer('event_count').notNull().default(0),
  createdAt: timeMs('created_at').notNull(),
});

export const apiKeys = pgTable(
  'api_keys',
  {
    id: text().primaryKey(),
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id),
    name: text().notNull(),
    /** SHA-256 of the key; the key itself is shown once and kept nowhere. */
    hash: bytes('hash').notNull(),
    hint: text().notNull(),
    scopes: text().array().$type<Scope[]>().notNull(),
    /** An observe or log key reads this event and no other. */
    votingEventId: text('voting_event_id'),
    expiresAt: timeMs('expires_at'),
    /** What binds the row to the service's keys (`api-key.ts`). */
    tag: bytes().notNull(),
    revokedAt: timeMs('revoked_at'),
    lastUsedAt: timeMs('last_used_at'),
    createdAt: timeMs('created_at').notNull(),
  },
  (table) => [uniqueIndex('api_keys_hash').on(table.hash), index('api_keys_account').on(table.accountId)],
);

/** The author, kind and time of each change. Never a ballot, never a secret. */
export const auditEntries = pgTable(
  'audit_entries',
  {
    accountId: text('account_id').notNull(),
    id: text().notNull(),
    votingEventId: text('voting_event_id'),
    keyId: text('key_id'),
    action: text().notNull(),
    resource: text().notNull(),
    before: jsonb().$type<Record<string, unknown>>(),
    after: jsonb().$type<Record<string, unknown>>(),
    createdAt: timeMs('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.id] }),
    index('audit_entries_event').on(table.votingEventId, table.id).where(sql`voting_event_id IS NOT NULL`),
    index('audit_entries_resource').on(table.votingEventId, table.resource).where(sql`voting_event_id IS NOT NULL`),
  ],
);
