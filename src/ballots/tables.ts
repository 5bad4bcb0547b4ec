import { index, jsonb, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { bytes, micro, timeMs } from '#src/database/columns.ts';
import { eventId } from '#src/voting-events/tables.ts';

/** Ballots not confirmed yet, one per participant: the only table in which voter and ballot share a row. */
export const pendingBallots = pgTable(
  'pending_ballots',
  {
    votingEventId: eventId(),
    /** The voter's ID, or `v:` and the visitor ID. If votes may be repeated, a paid ballot appends its attempt: it gets its own row. */
    participant: text().notNull(),
    /** All identities of the participant; each may vote once. */
    participants: text().array().notNull(),
    /** Look-up key: in an election a MAC of the confirmation code (`waitingTag`), in a poll SHA-256 of "code" and the code. */
    codeTag: bytes('code_tag').notNull(),
    /** The encrypted ballot; `waiting-ballot.ts` defines its format. */
    entries: bytes('entries').notNull(),
    weightMicro: micro('weight_micro').notNull(),
    /** Polls only. This column and the next four become visible once the ballot is confirmed. */
    visitorId: text('visitor_id'),
    voterId: text('voter_id'),
    email: text(),
    name: text(),
    countryCode: text('country_code'),
    /** Polls with quadratic positions: the credits reserved for this ballot. */
    credits: jsonb().$type<{ position: string; credits: number }[]>(),
    /** The payment attempt of a paid ballot. No other ballot may replace a paid ballot. */
    paymentAttemptId: text('payment_attempt_id'),
    castAt: timeMs('cast_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.votingEventId, table.participant] }),
    uniqueIndex('pending_ballots_code').on(table.votingEventId, table.codeTag),
    index('pending_ballots_age').on(table.castAt),
  ],
);

/** Maximum number of leaves per block. */
export const BLOCK_BALLOTS = 256;
