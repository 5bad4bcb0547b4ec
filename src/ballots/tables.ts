import { index, jsonb, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { bytes, micro, timeMs } from '#src/database/columns.ts';
import { eventId } from '#src/voting-events/tables.ts';

/**
 * A ballot that was cast and not confirmed: the only place where voter and ballot stand together.
 * One for each participant; casting again replaces it.
 */
export const pendingBallots = pgTable(
  'pending_ballots',
  {
    votingEventId: eventId(),
    /** The voter's ID, or `v:` and the visitor ID; a paid ballot adds its attempt, so that repeat votes stand side by side. */
    participant: text().notNull(),
    /** Everything that identifies the participant; each may vote once. */
    participants: text().array().notNull(),
    /** What the ballot is found by: of an election a keyed hash of its code (`waiting-ballot.ts`), of a poll SHA-256 of "code" and the code. */
    codeTag: bytes('code_tag').notNull(),
    /** The sealed ballot; `waiting-ballot.ts` reads and writes it. */
    entries: bytes('entries').notNull(),
    weightMicro: micro('weight_micro').notNull(),
    /** Polls: what becomes visible once confirmed. */
    visitorId: text('visitor_id'),
    voterId: text('voter_id'),
    email: text(),
    name: text(),
    countryCode: text('country_code'),
    /** Polls with quadratic positions: the credits that this ballot holds. */
    credits: jsonb().$type<{ position: string; credits: number }[]>(),
    /** A paid ballot: no other one may replace it. */
    paymentAttemptId: text('payment_attempt_id'),
    castAt: timeMs('cast_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.votingEventId, table.participant] }),
    uniqueIndex('pending_ballots_code').on(table.votingEventId, table.codeTag),
    index('pending_ballots_age').on(table.castAt),
  ],
);

/** Leaves that one block holds at most. */
export const BLOCK_BALLOTS = 256;
