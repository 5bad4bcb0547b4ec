import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  check,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core';
import { bytes, micro, timeMs } from '#src/database/columns.ts';
import { votingEvents } from '#src/voting-events/tables.ts';

/**
 * A ballot that was cast and not confirmed: the only place where voter and ballot stand together.
 * One for each participant; casting again replaces it.
 */
export const pendingBallots = pgTable(
  'pending_ballots',
  {
    votingEventId: text('voting_event_id')
      .notNull()
      .references(() => votingEvents.id, { onDelete: 'cascade' }),
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

/**
 * Every identity of a participant whose paid ballot waits for its confirmation: no other ballot of theirs is paid for or
 * cast meanwhile. A row goes with its ballot, when that is confirmed or dropped.
 */
export const waitingParticipants = pgTable(
  'waiting_participants',
  {
    votingEventId: text('voting_event_id')
      .notNull()
      .references(() => votingEvents.id, { onDelete: 'cascade' }),
    participant: text().notNull(),
    codeTag: bytes('code_tag').notNull(),
  },
  (table) => [primaryKey({ columns: [table.votingEventId, table.participant] })],
);

/** Confirmed ballots on their way into the log: no voter, taken out in shuffled batches. */
export const ballotQueue = pgTable(
  'ballot_queue',
  {
    votingEventId: text('voting_event_id')
      .notNull()
      .references(() => votingEvents.id, { onDelete: 'cascade' }),
    /** Random: it says nothing of when the ballot came. */
    id: text().notNull(),
    /** What the pending ballot was found by. */
    codeTag: bytes('code_tag').notNull(),
    /** Sealed (`waiting-ballot.ts`). */
    entries: bytes('entries').notNull(),
    weightMicro: micro('weight_micro').notNull(),
    /** Polls only; empty in an election, where it is sealed with the entries. */
    salt: bytes('salt').notNull(),
    /** When it was confirmed and until when it was promised to be in the log, readable only with the confirmation code: no time can be joined with a voter. */
    sealedTime: bytes('sealed_time').notNull(),
    /** Polls only: pseudonymous ballots carry the visible voter ID, the country and the time. */
    voterId: text('voter_id'),
    countryCode: text('country_code'),
    submittedAt: timeMs('submitted_at'),
    /** Whether the public live count may show it: in a secret event at least five ballots become visible together. */
    disclosed: boolean('released').notNull().default(false),
    /** When it is to be sealed, however few wait (completions 6.2). */
    dueAt: timeMs('due_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.votingEventId, table.id] }),
    uniqueIndex('ballot_queue_code').on(table.votingEventId, table.codeTag),
  ],
);

/** Leaves that one block holds at most. */
export const BLOCK_BALLOTS = 256;

/**
 * The box: sealed ballots of consecutive leaves, in the order of the log, as `block-encoding.ts` reads and writes them. A block is
 * written once, with its leaves, and never changes. What a count reads stands apart from what it does not; nothing is compressed.
 */
export const ballotBlocks = pgTable(
  'ballot_blocks',
  {
    votingEventId: text('voting_event_id')
      .notNull()
      .references(() => votingEvents.id, { onDelete: 'cascade' }),
    firstLeaf: micro('first_leaf').notNull(),
    ballots: integer().notNull(),
    /** A list of packed ballots (`ballot-encoding.ts`). */
    entries: bytes('entries').notNull(),
    /** One for all, or one each. */
    weights: micro('weights').array().notNull(),
    /** SHA-256 of "code" and each confirmation code, 32 bytes each; and the first eight bytes of each, which it is found by. */
    tags: bytes('tags').notNull(),
    tagHeads: bigint('tag_heads', { mode: 'bigint' }).array().notNull(),
    /** Lists. The times are readable only with the confirmation code, as in the queue. */
    salts: bytes('salts').notNull(),
    sealedTimes: bytes('sealed_times').notNull(),
    /** Null where each follows from salt and tag. */
    ids: text().array(),
    /** Polls only: who voted for all to see, from where, and when. */
    voterIds: text('voter_ids').array(),
    countryCodes: text('country_codes').array(),
    submittedAt: timeMs('submitted_at').array(),
  },
  (table) => [
    primaryKey({ columns: [table.votingEventId, table.firstLeaf] }),
    index('ballot_blocks_heads').using('gin', table.tagHeads).with({ fastupdate: false }),
    check('ballot_blocks_ballots', sql`ballots BETWEEN 1 AND 256`),
  ],
);

/** Ballots of secret events that the public live count does not show yet, and that stand in blocks: five become visible together. */
export const undisclosedBallots = pgTable(
  'undisclosed_ballots',
  {
    votingEventId: text('voting_event_id')
      .notNull()
      .references(() => votingEvents.id, { onDelete: 'cascade' }),
    leafIndex: micro('leaf_index').notNull(),
  },
  (table) => [primaryKey({ columns: [table.votingEventId, table.leafIndex] })],
);
