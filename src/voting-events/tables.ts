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
import { bytes, timeMs } from '#src/database/columns.ts';
import type { Language } from '#src/mail/mail-words.ts';
import type { ProviderName } from '#src/payment-providers/registered.ts';
import type { MissingPart } from './opening.ts';
import type { InviteRole, Price, ResultsVisibility } from './voting-event.ts';

export const votingEvents = pgTable(
  'voting_events',
  {
    id: text().primaryKey(),
    accountId: text('account_id').notNull(),
    code: text().notNull(),
    /** The code in lower case, because codes are compared without regard to case. */
    codeKey: text('code_key').notNull(),
    title: text().notNull(),
    description: text(),
    type: text().$type<'election' | 'poll'>().notNull(),
    startsAt: timeMs('starts_at'),
    endsAt: timeMs('ends_at'),
    /** When the organizer opened the event. An opening by `startsAt` is stored only before a change that could undo it. */
    openedAt: timeMs('opened_at'),
    /** When the organizer closed the event. A close by `endsAt` is not stored. */
    closedAt: timeMs('closed_at'),
    /** When the log got its first leaf about the close, which made the result final. */
    finalAt: timeMs('final_at'),
    /** Whether `missing` is empty. Otherwise `startsAt` does not open the event. */
    ready: boolean().notNull().default(false),
    /** What prevents the opening, by the last change that could affect it. */
    missing: jsonb().$type<readonly MissingPart[]>().notNull().default([]),
    /** The start at which the event did not open, because it was not ready. */
    missedStartAt: timeMs('missed_start_at'),
    timeZone: text('time_zone').notNull(),
    requireVoterId: boolean('require_voter_id').notNull(),
    voterSelfRegistration: boolean('voter_self_registration').notNull(),
    voterApproval: text('voter_approval').$type<'automatic' | 'manual'>().notNull(),
    saveVoterInfo: boolean('save_voter_info').notNull(),
    candidateSelfRegistration: boolean('candidate_self_registration').notNull(),
    candidateOrder: text('candidate_order').$type<'fixed' | 'shuffled'>().notNull(),
    ballotOpening: text('ballot_opening').$type<'none' | 'observer' | 'public'>().notNull(),
    ballotReceipt: text('ballot_receipt').$type<'inclusion' | 'full'>().notNull(),
    /** Whether the ballot log is readable without a key. */
    logOpen: boolean('log_open').notNull().default(false),
    resultsVisibility: text('results_visibility').$type<ResultsVisibility>().notNull(),
    resultsPublishedAt: timeMs('results_published_at'),
    resultsAnnounced: boolean('results_announced').notNull().default(false),
    payToVote: jsonb('pay_to_vote').$type<Price>(),
    payToRegisterCandidate: jsonb('pay_to_register_candidate').$type<Price>(),
    repeatVotes: boolean('repeat_votes').notNull(),
    /** Set if the price changes after a payment for a vote has begun: payments may identify ballots even without a price. */
    paidVotes: boolean('paid_votes').notNull().default(false),
    paymentBusinessId: text('payment_business_id'),
    /** The provider of the linked business. It is stored here so that no request must look it up. */
    paymentProvider: text('payment_provider').$type<ProviderName>(),
    /** Whether the linked business takes real money; null without one. */
    paymentLivemode: boolean('payment_livemode'),
    /** The page where voters vote. Mails link to it, with the voter key in the URL's fragment. */
    votingPageUrl: text('voting_page_url'),
    contactEmail: text('contact_email'),
    language: text().$type<Language>().notNull().default('en'),
    /** A picture that mails show. The service never fetches it. */
    logoUrl: text('logo_url'),
    /** Raised by every change on which a ballot could depend. A ballot is validated and stored under the same version. */
    definitionVersion: bigint('paper_version', { mode: 'number' }).notNull().default(1),
    /** The status that was published last. It is stored because the status changes with time, without a write. */
    announcedStatus: text('announced_status').$type<'open' | 'closed' | 'not_opened'>(),
    /** Last small number that a position or candidate got. Only numbers of a wiped rehearsal are reused. */
    lastPositionNumber: integer('last_position_number').notNull().default(0),
    lastCandidateNumber: integer('last_candidate_number').notNull().default(0),
    /** Number of changes of voters' e-mail addresses or voter IDs after the opening. */
    identityChanges: integer('identity_changes').notNull().default(0),
    /** Number of printed letters with voter keys: of the event, and of the present rehearsal. */
    lettersPrinted: integer('letters_printed').notNull().default(0),
    rehearsalLetters: integer('rehearsal_letters').notNull().default(0),
    /** Number of changes of voters' weight, group or status after the opening, and of deletions. */
    rollChanges: integer('roll_changes').notNull().default(0),
    /** Raised when an invite is withdrawn or changed. Tags of invites cover it, so that an old row that SQL restores is invalid. */
    inviteGeneration: integer('invite_generation').notNull().default(0),
    /** In a copy of an event: the voters of the source up to this ID are copied. */
    copyUntil: text('copy_until'),
    /** Version of the sum over the event's roll (`voters/roll-sum.ts`); 0 before the first voter. */
    rollVersion: integer('roll_version').notNull().default(0),
    /** In a copy with voters: how many voters must be copied, and how many are copied. */
    copyTotal: integer('copy_total'),
    copyDone: integer('copy_done'),
    /** When the present rehearsal began; null outside of a rehearsal (completions 10.5). */
    rehearsalSince: timeMs('rehearsal_since'),
    /** `resultsVisibility` before the rehearsal, which the end of the rehearsal restores. */
    rehearsalVisibility: text('rehearsal_visibility').$type<ResultsVisibility>(),
    /** Number of rehearsal rounds so far; during a rehearsal, the number of the present round. */
    rehearsalNumber: integer('rehearsal_number').notNull().default(0),
    /** Number of ballots that were confirmed in rehearsals, and wiped. */
    rehearsalBallots: bigint('rehearsal_ballots', { mode: 'number' }).notNull().default(0),
    /** ID of the key that encrypts ballots until they are in the log (`ballot-keys.ts`). Null in polls, and before the key is made. */
    ballotKey: text('ballot_key'),
    /** ID of the event's own key while `ballotKey` is that of a rehearsal's round. */
    realKey: text('real_key'),
    /** MAC of the deciding columns under the service's secret key. It detects changes by other SQL (`event-tag.ts`). */
    tag: bytes().notNull(),
    /** Name of the alarm while the event is disputed, because its log or rows are not as the service wrote them. Otherwise null. */
    alarm: text(),
    /** When the event was deleted. Since then no reader sees it, and a job removes its rows. */
    deletedAt: timeMs('deleted_at'),
    createdAt: timeMs('created_at').notNull(),
    updatedAt: timeMs('updated_at').notNull(),
  },
  (table) => [
    uniqueIndex('voting_events_code').on(table.codeKey),
    index('voting_events_deleted').on(table.id).where(sql`deleted_at IS NOT NULL`),
    index('voting_events_account').on(table.accountId, table.id),
    // The next three have the conditions of `listTimedEvents`, to leave out the ever more events whose changes are all announced.
    index('voting_events_timed')
      .on(table.id)
      .where(sql`(starts_at IS NOT NULL OR ends_at IS NOT NULL) AND announced_status IS DISTINCT FROM 'closed'`),
    index('voting_events_missed')
      .on(table.id)
      .where(sql`missed_start_at IS NOT NULL AND announced_status IS DISTINCT FROM 'not_opened'`),
    index('voting_events_unpublished')
      .on(table.id)
      .where(sql`results_visibility = 'published' AND NOT results_announced`),
    index('voting_events_rehearsed').on(table.id).where(sql`rehearsal_since IS NOT NULL`),
    index('voting_events_alarmed').on(table.id).where(sql`alarm IS NOT NULL`),
    // A time beyond 2^53, written by other SQL, would break all jobs that read the times of all events.
    check(
      'voting_events_times',
      sql`least(starts_at, ends_at, opened_at, closed_at, rehearsal_since, final_at) > -9007199254740992 AND greatest(starts_at, ends_at, opened_at, closed_at, rehearsal_since, final_at) < 9007199254740992`,
    ),
    index('voting_events_to_open').on(table.startsAt).where(sql`opened_at IS NULL AND starts_at IS NOT NULL`),
  ],
);

/** The event to which a row belongs. The row is deleted with the event. */
export const eventId = () =>
  text('voting_event_id')
    .notNull()
    .references(() => votingEvents.id, { onDelete: 'cascade' });

/** The keys of elections (docs/security.md, "Keys"). A row may outlive its event: it stays until all copies of its key are destroyed. */
export const ballotKeys = pgTable(
  'ballot_keys',
  {
    votingEventId: text('voting_event_id').notNull(),
    /** A hash of the key, which identifies the key and does not reveal it. */
    id: text().notNull(),
    /** The key, encrypted with the service's secret key, if `BALLOT_KEYS_DIR` is not set; null if the key is in files. */
    wrapped: text(),
    createdAt: timeMs('created_at').notNull(),
    /** When the key was retired: it is no longer needed, and a job destroys its files. */
    retiredAt: timeMs('retired_at'),
    /** The service's MAC of the retirement, so that other SQL cannot have a key destroyed. */
    retiredTag: bytes('retired_tag'),
    /** Folders where a missing file proves that the key is gone: the file was seen there, or the operator has accepted its loss. */
    seenIn: text('seen_in').array().notNull().default([]),
  },
  (table) => [
    primaryKey({ columns: [table.votingEventId, table.id] }),
    index('ballot_keys_retired').on(table.votingEventId).where(sql`retired_at IS NOT NULL`),
  ],
);

/** Invites to events. An accepted invite holds the account that the event is shared with. */
export const eventInvites = pgTable(
  'event_invites',
  {
    votingEventId: eventId(),
    id: text().notNull(),
    email: text().notNull(),
    /** The address in a normal form, for comparison. */
    emailKey: text('email_key').notNull(),
    role: text().$type<InviteRole>().notNull(),
    /** SHA-256 of the token. The token has 160 random bits, and so needs no slow hash. */
    tokenHash: bytes('token_hash').notNull(),
    /** The token, encrypted, until its mail is sent or the invite is accepted. */
    sealedToken: text('sealed_token'),
    accountId: text('account_id'),
    acceptedAt: timeMs('accepted_at'),
    /** MAC of the row under the service's secret key. It detects changes by other SQL (`event-tag.ts`). */
    tag: bytes().notNull(),
    expiresAt: timeMs('expires_at').notNull(),
    createdAt: timeMs('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.votingEventId, table.id] }),
    uniqueIndex('event_invites_email').on(table.votingEventId, table.emailKey),
    // Each unique key of an event's table must include the event. The token comes first, because a look-up knows only the token.
    uniqueIndex('event_invites_token').on(table.tokenHash, table.votingEventId),
    // An account has one role in each event. The order of the columns also serves the list of events that are shared with an account.
    uniqueIndex('event_invites_account').on(table.accountId, table.votingEventId).where(sql`account_id IS NOT NULL`),
  ],
);
