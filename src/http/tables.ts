import { sql } from 'drizzle-orm';
import { index, pgTable, primaryKey, smallint, text } from 'drizzle-orm/pg-core';
import { bytes, timeMs } from '#src/database/columns.ts';

/** Claims and stored answers of requests that carried an `Idempotency-Key`. */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    apiKeyId: text('api_key_id').notNull(),
    /** A keyed hash of the header's value, base64url. The value often names the voter, and rows show the order of requests. */
    key: text().notNull(),
    /** Keyed hash of method, path, query and body. It distinguishes a retry from another request, and reveals nothing else. */
    fingerprint: bytes('fingerprint').notNull(),
    /** Token of the execution that holds the claim: an execution whose claim was taken over cannot store its answer. */
    claim: bytes('claim').notNull(),
    /** Null while the request runs. */
    status: smallint(),
    /** Encrypted: answers hold webhook secrets and confirmation codes. Null if a retry remakes it (`IdempotentRequest.secret`). */
    body: text(),
    expiresAt: timeMs('expires_at').notNull(),
    /** The secret event of the request: its claims are deleted when its result is final. Null for every other request. */
    votingEventId: text('voting_event_id'),
  },
  (table) => [
    primaryKey({ columns: [table.apiKeyId, table.key] }),
    index('idempotency_keys_expiry').on(table.expiresAt),
    // For `freeOver`: a process finds its own claims without an answer.
    index('idempotency_keys_running').on(table.claim).where(sql`status IS NULL`),
    index('idempotency_keys_event').on(table.votingEventId).where(sql`voting_event_id IS NOT NULL`),
  ],
);
