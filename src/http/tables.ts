import { index, pgTable, primaryKey, smallint, text } from 'drizzle-orm/pg-core';
import { bytes, timeMs } from '#src/database/columns.ts';

/** Claims and stored answers of requests that carried an `Idempotency-Key`. */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    apiKeyId: text('api_key_id').notNull(),
    /** A keyed hash of the header's value, base64url: whose request it is often stands in it, and rows show their order. */
    key: text().notNull(),
    /** Keyed hash of method, path, query and body: distinguishes another request from a repeated one, and nothing else. */
    fingerprint: bytes('fingerprint').notNull(),
    /** Names the run that holds the claim; a run that lost it cannot store its answer. */
    claim: bytes('claim').notNull(),
    status: smallint(),
    /** Encrypted: answers hold webhook secrets and confirmation codes. */
    body: text(),
    expiresAt: timeMs('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.apiKeyId, table.key] }),
    index('idempotency_keys_expiry').on(table.expiresAt),
  ],
);
