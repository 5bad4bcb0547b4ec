import { sql } from 'drizzle-orm';
import { boolean, index, integer, jsonb, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { bytes, micro, timeMs } from '#src/database/columns.ts';
import { eventId, votingEvents } from '#src/voting-events/tables.ts';
import type { Audience, NotificationKind } from './notification.ts';
import type { BeforeRehearsal, KeyOutcome, RejectedRow, VoterSource, VoterStatus } from './voter.ts';

export const voters = pgTable(
  'voters',
  {
    votingEventId: eventId(),
    id: text().notNull(),
    name: text().notNull(),
    email: text(),
    /** Normalised address, unique in the event; null, and so free, once the deletion is queued. For participants see `confirm.sql`. */
    emailKey: text('email_key'),
    voterId: text('voter_id'),
    voterIdKey: text('voter_id_key'),
    /** When a group is deleted, a job clears this column and renews the tags before the group is removed. */
    groupId: text('group_id'),
    weightMicro: micro('weight_micro').notNull(),
    status: text().$type<VoterStatus>().notNull(),
    source: text().$type<VoterSource>().notNull(),
    keyStatus: text('key_status').$type<KeyOutcome>().notNull(),
    /** Not part of `key_status`, so that using a key does not overwrite how the last key was sent. */
    keyUsed: boolean('key_used').notNull().default(false),
    /** When the registration expires unless the link in its mail is used. Null without such a mail; 0 once the address is confirmed. */
    confirmBy: timeMs('confirm_by'),
    /** Raised when all keys of the voter end. Key hashes cover it, so that restored rows of earlier keys are invalid. */
    keyGeneration: integer('key_generation').notNull().default(0),
    /** Print run of the voter's newest letter outside of rehearsals. Key hashes include it: a new letter voids the keys of earlier letters. */
    letters: text(),
    /** MAC of the row under the service's secret key (`voter-tag.ts`). Null for participants of polls, whose rows follow from ballots. */
    tag: bytes(),
    /** Whether the first use of a key approved the voter. The voter is shown as pending until the vote is disclosed. */
    approvedByKey: boolean('approved_by_key').notNull().default(false),
    /**
     * What the end of a rehearsal restores: the voter's state before a public route or a mail first changed it;
     * `{ "new": true }` for a voter who registered or voted in the rehearsal. Null for all other voters.
     */
    beforeRehearsal: jsonb('before_rehearsal').$type<BeforeRehearsal>(),
    deletedAt: timeMs('deleted_at'),
    /** When the voter's personal data were erased, after the final result. The row stays for the figures, and is never shown. */
    erasedAt: timeMs('erased_at'),
    createdAt: timeMs('created_at').notNull(),
    updatedAt: timeMs('updated_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.votingEventId, table.id] }),
    uniqueIndex('voters_email').on(table.votingEventId, table.emailKey).where(sql`email_key IS NOT NULL`),
    uniqueIndex('voters_voter_id').on(table.votingEventId, table.voterIdKey).where(sql`voter_id_key IS NOT NULL`),
    // For `inventMask`: finds voters from a keyed point of the roll on.
    index('voters_point')
      .on(table.votingEventId, sql`md5(id) COLLATE "C"`)
      .where(sql`voter_id_key IS NOT NULL AND email IS NOT NULL AND deleted_at IS NULL`),
    index('voters_to_confirm').on(table.confirmBy, table.votingEventId).where(sql`confirm_by IS NOT NULL`),
    index('voters_rehearsed').on(table.votingEventId, table.id).where(sql`before_rehearsal IS NOT NULL`),
    // For `has_rare_weight`, which would read all voters without this index.
    index('voters_weight').on(table.votingEventId, table.weightMicro),
    index('voters_approved_by_key').on(table.votingEventId, table.id).where(sql`approved_by_key`),
    index('voters_fractional_weight')
      .on(table.votingEventId, table.weightMicro)
      .where(sql`weight_micro % 1000000 <> 0`),
    index('voters_without_email').on(table.votingEventId, table.id).where(sql`email IS NULL`),
    index('voters_by_group').on(table.votingEventId, table.groupId, table.id).where(sql`group_id IS NOT NULL`),
  ],
);

/** Hashes of keys. A mailed key is valid until the close or a change of address or ID; a printed key at most until the next letter. */
export const voterKeys = pgTable(
  'voter_keys',
  {
    votingEventId: text('voting_event_id').notNull(),
    voterId: text('voter_id').notNull(),
    keyHash: bytes('key_hash').notNull(),
    /** Counts a voter's keys. A time would show the order of the votes, because most voters vote right after they request a key. */
    number: integer().notNull().default(0),
    /** Whether the key was mailed or printed in a rehearsal. The end of the rehearsal deletes it. */
    rehearsal: boolean().notNull().default(false),
    printed: boolean().notNull().default(false),
  },
  (table) => [primaryKey({ columns: [table.votingEventId, table.voterId, table.keyHash] })],
);

/** The sum of an event's roll (`roll-sum.ts`): a row of state, with an empty ID and the key, and one per change since the last fold. */
export const rollSums = pgTable(
  'roll_sums',
  {
    votingEventId: eventId(),
    id: text().notNull(),
    /** Version of the state to which a change applies; equals the event's `roll_version`. */
    version: integer().notNull(),
    /** The event's MAC key, encrypted with the secret key; null in rows of changes. */
    key: text(),
    sum: bytes().notNull(),
    mac: bytes().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.votingEventId, table.id] }),
    index('roll_sums_to_fold').on(table.votingEventId).where(sql`id <> ''`),
  ],
);

/**
 * Participants who have confirmed a ballot. There is one row for each identity that may vote once: a voter of an election; a poll's
 * visitor ID, e-mail or voter ID. A row has no code, ballot or time, so that it cannot be linked to a ballot.
 */
export const participation = pgTable(
  'participation',
  {
    votingEventId: eventId(),
    participant: text().notNull(),
    /** Whether the row prevents another vote; false if votes may be repeated. */
    exclusive: boolean().notNull().default(true),
    /** The row's MAC under the election's own key (`voter-tag.ts`). In polls, the voter to whom a correction gave this address, or null. */
    tag: bytes(),
  },
  (table) => [primaryKey({ columns: [table.votingEventId, table.participant] })],
);

/** Mails to many voters that an organizer requested, and their progress. */
export const notifications = pgTable(
  'notifications',
  {
    votingEventId: eventId(),
    id: text().notNull(),
    kind: text().$type<NotificationKind>().notNull(),
    audience: text().$type<Audience>().notNull(),
    /** Number of voters of the audience with an address. For a very large roll an estimate, until all voters are listed. */
    total: integer().notNull(),
    sent: integer().notNull().default(0),
    failed: integer().notNull().default(0),
    skipped: integer().notNull().default(0),
    /** Audience `not_voted` only: voters who had voted when their mail was due. */
    voted: integer().notNull().default(0),
    listedTo: text('listed_to').notNull().default(''),
    /** Upper bound of the audience's voter IDs. Voters who are added later have greater IDs. */
    listUntil: text('list_until').notNull(),
    listedAt: timeMs('listed_at'),
    /** Some voters were skipped because of a recent mail of this kind: when they may get the next one. */
    pausedUntil: timeMs('paused_until'),
    /** If the plan's daily limit of mails is used up: when it begins again. */
    limitedUntil: timeMs('limited_until'),
    /** Failed tries since the mail server last accepted a mail. */
    refusedTries: integer('refused_tries').notNull().default(0),
    /** Whether the notification began in a rehearsal. The end of the rehearsal deletes it. */
    rehearsal: boolean().notNull().default(false),
    createdAt: timeMs('created_at').notNull(),
    finishedAt: timeMs('finished_at'),
  },
  (table) => [primaryKey({ columns: [table.votingEventId, table.id] })],
);

/** Mails of a notification that have no outcome yet. The transaction that counts an outcome deletes the row. */
export const notificationMails = pgTable(
  'notification_mails',
  {
    votingEventId: text('voting_event_id').notNull(),
    notificationId: text('notification_id').notNull(),
    voterId: text('voter_id').notNull(),
  },
  (table) => [primaryKey({ columns: [table.votingEventId, table.notificationId, table.voterId] })],
);

/** When a voter was last listed for mails of a kind, and by which notification; the next is `PAUSE_HOURS` later. Written whether or not the voter has voted. */
export const notifiedVoters = pgTable(
  'notified_voters',
  {
    votingEventId: text('voting_event_id').notNull(),
    voterId: text('voter_id').notNull(),
    kind: text().$type<NotificationKind | `rehearsal ${NotificationKind}`>().notNull(),
    notifiedAt: timeMs('notified_at').notNull(),
    notificationId: text('notification_id').notNull(),
  },
  (table) => [primaryKey({ columns: [table.votingEventId, table.voterId, table.kind] })],
);

/** Progress of an import. It is written in the transaction of the import's voters, so that a retry resumes after the last committed row. */
export const rollImports = pgTable(
  'roll_imports',
  {
    votingEventId: text('voting_event_id').notNull(),
    /** Identifies the request by its Idempotency-Key and content. */
    requestKey: bytes('request_key').notNull(),
    rowsDone: integer('rows_done').notNull(),
    accepted: integer().notNull(),
    rejectedCount: integer('rejected_count').notNull(),
    rejected: jsonb().$type<readonly RejectedRow[]>().notNull(),
    startedAt: timeMs('started_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.votingEventId, table.requestKey] })],
);

/** Orders for the job that copies voters into a copied event. The row is deleted after the last voter. */
export const rollCopies = pgTable('roll_copies', {
  votingEventId: text('voting_event_id')
    .primaryKey()
    .references(() => votingEvents.id, { onDelete: 'cascade' }),
  sourceId: text('source_id').notNull(),
  /** Pairs of group IDs: the group in the source event, and its copy in this event. */
  groups: jsonb().$type<readonly (readonly [string, string])[]>().notNull(),
  copiedTo: text('copied_to').notNull().default(''),
  keyId: text('key_id').notNull(),
  /** MAC of the order and of the event's `copy_until`, so that other SQL can neither make an order nor replay a finished order. */
  tag: bytes().notNull(),
});
