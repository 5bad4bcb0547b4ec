import { sql } from 'drizzle-orm';
import { index, integer, jsonb, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { bytes, timeMs } from '#src/database/columns.ts';
import type { Scope } from '#src/http/caller.ts';

export const accounts = pgTable('accounts', {
  id: text().primaryKey(),
  name: text().notNull(),
  /** The e-mail address for notices, for instance that a webhook endpoint of the account has stopped working. */
  contactEmail: text('contact_email'),
  plan: text().$type<'free' | 'pro' | 'enterprise'>().notNull(),
  /** Stored in the row so that one conditional update can enforce the plan's limit, safe against races. */
  eventCount: integer('event_count').notNull().default(0),
  /** When it last moved to another cell; 0 if never. Of two states of an account, the one with the greater number is the later. */
  movedAt: timeMs('moved_at').notNull().default(0),
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
    /** SHA-256 of the key; the key itself is shown once and not stored. */
    hash: bytes('hash').notNull(),
    hint: text().notNull(),
    scopes: text().array().$type<Scope[]>().notNull(),
    /** The only event that an observe or log key may read; null for other keys. */
    votingEventId: text('voting_event_id'),
    expiresAt: timeMs('expires_at'),
    /** MAC of the row under the service's secret key (`api-key.ts`). */
    tag: bytes().notNull(),
    revokedAt: timeMs('revoked_at'),
    lastUsedAt: timeMs('last_used_at'),
    createdAt: timeMs('created_at').notNull(),
  },
  (table) => [uniqueIndex('api_keys_hash').on(table.hash), index('api_keys_account').on(table.accountId)],
);

/** The audit trail: author, kind and time of each change. Contains no ballot and no secret. */
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
