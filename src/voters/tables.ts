import { sql } from 'drizzle-orm';
import { boolean, index, integer, jsonb, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { bytes, micro, timeMs } from '#src/database/columns.ts';
import { votingEvents } from '#src/voting-events/tables.ts';
import type { Audience, NotificationKind } from './notification.ts';
import type { BeforeRehearsal, KeyOutcome, RejectedRow, VoterSource, VoterStatus } from './voter.ts';

export const voters = pgTable(
  'voters',
  {
    votingEventId: text('voting_event_id')
      .notNull()
      .references(() => votingEvents.id, { onDelete: 'cascade' }),
    id: text().notNull(),
    name: text().notNull(),
    email: text(),
    /** The form by which addresses are the same; null once the deletion is queued, so that the address is free again. */
    emailKey: text('email_key'),
    voterId: text('voter_id'),
    voterIdKey: text('voter_id_key'),
    /** A group of the event. Voters leave a deleted one before it is removed; the constraint `voters_group` would take them out of it without a new tag. */
    groupId: text('group_id'),
    weightMicro: micro('weight_micro').notNull(),
    status: text().$type<VoterStatus>().notNull(),
    source: text().$type<VoterSource>().notNull(),
    keyStatus: text('key_status').$type<KeyOutcome>().notNull(),
    /** A column of its own: what a key is used for must change nothing of how the last one went out. */
    keyUsed: boolean('key_used').notNull().default(false),
    /** When the registration expires unless the link in its mail is used; null where none was mailed, 0 once the address is confirmed. */
    confirmBy: timeMs('confirm_by'),
    /** Raised when all keys of the voter end: those that were mailed before open nothing any more, wherever their rows are put. */
    keyGeneration: integer('key_generation').notNull().default(0),
    /** The run that printed the voter's last letter, outside of rehearsals. Keys of earlier letters are bound to other runs, and open nothing. */
    letters: text(),
    /** What binds the row to the service's keys (`voter-tag.ts`); null in polls, whose participants follow from their ballots. */
    tag: bytes(),
    /** Approved by the first use of a key: shown as pending until the vote is disclosed. */
    approvedByKey: boolean('approved_by_key').notNull().default(false),
    /**
     * What the end of a rehearsal puts back: how the voter stood before a public route or a mail first changed it;
     * `{ "new": true }` for one that registered or voted in it. Null for all others.
     */
    beforeRehearsal: jsonb('before_rehearsal').$type<BeforeRehearsal>(),
    deletedAt: timeMs('deleted_at'),
    /** When the person was erased after the event's end: the row stays for the figures and is never shown. */
    erasedAt: timeMs('erased_at'),
    createdAt: timeMs('created_at').notNull(),
    updatedAt: timeMs('updated_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.votingEventId, table.id] }),
    uniqueIndex('voters_email').on(table.votingEventId, table.emailKey).where(sql`email_key IS NOT NULL`),
    uniqueIndex('voters_voter_id').on(table.votingEventId, table.voterIdKey).where(sql`voter_id_key IS NOT NULL`),
    // Picks voters by a keyed point, for masks of unknown voter IDs.
    index('voters_point')
      .on(table.votingEventId, sql`md5(id) COLLATE "C"`)
      .where(sql`voter_id_key IS NOT NULL AND email IS NOT NULL AND deleted_at IS NULL`),
    index('voters_to_confirm').on(table.confirmBy, table.votingEventId).where(sql`confirm_by IS NOT NULL`),
    index('voters_rehearsed').on(table.votingEventId, table.id).where(sql`before_rehearsal IS NOT NULL`),
    // Without it the planner reads all voters to find out whether one has a certain weight.
    index('voters_weight').on(table.votingEventId, table.weightMicro),
    index('voters_approved_by_key').on(table.votingEventId, table.id).where(sql`approved_by_key`),
    index('voters_fractional_weight')
      .on(table.votingEventId, table.weightMicro)
      .where(sql`weight_micro % 1000000 <> 0`),
    index('voters_without_email').on(table.votingEventId, table.id).where(sql`email IS NULL`),
    index('voters_by_group').on(table.votingEventId, table.groupId, table.id).where(sql`group_id IS NOT NULL`),
  ],
);

/**
 * Hashes of the keys of a voter. Keys that were e-mailed are valid until the event closes, or the voter's address or ID changes; a
 * printed one also ends with the voter's next letter.
 */
export const voterKeys = pgTable(
  'voter_keys',
  {
    votingEventId: text('voting_event_id').notNull(),
    voterId: text('voter_id').notNull(),
    keyHash: bytes('key_hash').notNull(),
    /** Counts a voter's keys. No time: most vote right after they asked for one, so that it would show the order of the votes. */
    number: integer().notNull().default(0),
    /** Mailed or printed in a rehearsal, and wiped with it. */
    rehearsal: boolean().notNull().default(false),
    printed: boolean().notNull().default(false),
  },
  (table) => [primaryKey({ columns: [table.votingEventId, table.voterId, table.keyHash] })],
);

/** What the roll of an event adds up to (`roll-sum.ts`): its state, with the empty ID and the key, and the changes since. */
export const rollSums = pgTable(
  'roll_sums',
  {
    votingEventId: text('voting_event_id')
      .notNull()
      .references(() => votingEvents.id, { onDelete: 'cascade' }),
    id: text().notNull(),
    /** The version of the state that a change comes after; the event bears it too. */
    version: integer().notNull(),
    /** Sealed. */
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
 * Participants who have confirmed a ballot. One row for each thing that may vote once: a voter of an election, a poll's visitor ID,
 * e-mail or voter ID. No code, no ballot, no time: nothing here can be joined with the box.
 */
export const participation = pgTable(
  'participation',
  {
    votingEventId: text('voting_event_id')
      .notNull()
      .references(() => votingEvents.id, { onDelete: 'cascade' }),
    participant: text().notNull(),
    /** False where repeat votes are allowed: the row then only says that somebody took part. */
    exclusive: boolean().notNull().default(true),
    /** What binds the row to the key of its election (`voter-tag.ts`); null in polls. */
    tag: bytes(),
  },
  (table) => [primaryKey({ columns: [table.votingEventId, table.participant] })],
);

/** Mails to many voters that an organizer asked for, and how far they have come. */
export const notifications = pgTable(
  'notifications',
  {
    votingEventId: text('voting_event_id')
      .notNull()
      .references(() => votingEvents.id, { onDelete: 'cascade' }),
    id: text().notNull(),
    kind: text().$type<NotificationKind>().notNull(),
    audience: text().$type<Audience>().notNull(),
    /** Voters of the audience with an address: an estimate for a very large roll, until all of them are listed. */
    total: integer().notNull(),
    sent: integer().notNull().default(0),
    failed: integer().notNull().default(0),
    skipped: integer().notNull().default(0),
    /** For an audience of those who have not voted: voters who had voted by the time of the mail. */
    voted: integer().notNull().default(0),
    listedTo: text('listed_to').notNull().default(''),
    /** Voters whose IDs come behind it were added later, and are none of the audience. */
    listUntil: text('list_until').notNull(),
    listedAt: timeMs('listed_at'),
    /** When voters may be mailed again who were left out because they had a mail of this kind a short time ago. */
    pausedUntil: timeMs('paused_until'),
    /** Until when the plan has no mail left for the day. */
    limitedUntil: timeMs('limited_until'),
    /** Tries since the last mail that the mail server took. */
    refusedTries: integer('refused_tries').notNull().default(0),
    /** Begun in a rehearsal, and wiped with it. */
    rehearsal: boolean().notNull().default(false),
    createdAt: timeMs('created_at').notNull(),
    finishedAt: timeMs('finished_at'),
  },
  (table) => [primaryKey({ columns: [table.votingEventId, table.id] })],
);

/** Mails of a notification that have not come to an end. A row goes with the end of its mail, in the transaction that counts it. */
export const notificationMails = pgTable(
  'notification_mails',
  {
    votingEventId: text('voting_event_id').notNull(),
    notificationId: text('notification_id').notNull(),
    voterId: text('voter_id').notNull(),
  },
  (table) => [primaryKey({ columns: [table.votingEventId, table.notificationId, table.voterId] })],
);

/**
 * When a voter was last listed for mails of a kind: not again for some hours. Written for a whole page of the roll at a time,
 * whether its voters have voted or not.
 */
export const notifiedVoters = pgTable(
  'notified_voters',
  {
    votingEventId: text('voting_event_id').notNull(),
    voterId: text('voter_id').notNull(),
    kind: text().$type<NotificationKind>().notNull(),
    notifiedAt: timeMs('notified_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.votingEventId, table.voterId, table.kind] })],
);

/**
 * How far an import of rows over the API has come. Written in the transaction of the voters it speaks of, so that the repeat of
 * a request that was cut off goes on behind its last row.
 */
export const rollImports = pgTable(
  'roll_imports',
  {
    votingEventId: text('voting_event_id').notNull(),
    /** Names the request by its Idempotency-Key and content. */
    requestKey: bytes('request_key').notNull(),
    rowsDone: integer('rows_done').notNull(),
    accepted: integer().notNull(),
    rejectedCount: integer('rejected_count').notNull(),
    rejected: jsonb().$type<readonly RejectedRow[]>().notNull(),
    startedAt: timeMs('started_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.votingEventId, table.requestKey] })],
);

/** Voters that a job copies into an event from the one that it is a copy of. The row goes with the last of them. */
export const rollCopies = pgTable('roll_copies', {
  votingEventId: text('voting_event_id')
    .primaryKey()
    .references(() => votingEvents.id, { onDelete: 'cascade' }),
  sourceId: text('source_id').notNull(),
  /** Pairs of a group there and its copy here. */
  groups: jsonb().$type<readonly (readonly [string, string])[]>().notNull(),
  copiedTo: text('copied_to').notNull().default(''),
  keyId: text('key_id').notNull(),
  /** What binds the order to the service's keys, and to what its event says of it: SQL orders no copy, and none again. */
  tag: bytes().notNull(),
});
