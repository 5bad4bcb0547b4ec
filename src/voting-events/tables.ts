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
import { accounts } from '#src/accounts/tables.ts';
import { bytes, timeMs } from '#src/database/columns.ts';
import type { Language } from '#src/mail/mail-words.ts';
import type { ProviderName } from '#src/payment-providers/registered.ts';
import type { MissingPart } from './opening.ts';
import type { InviteRole, Price, ResultsVisibility } from './voting-event.ts';

export const votingEvents = pgTable(
  'voting_events',
  {
    id: text().primaryKey(),
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id),
    code: text().notNull(),
    /** The code in lower case: codes compare case-insensitively. */
    codeKey: text('code_key').notNull(),
    title: text().notNull(),
    description: text(),
    type: text().$type<'election' | 'poll'>().notNull(),
    startsAt: timeMs('starts_at'),
    endsAt: timeMs('ends_at'),
    /** When it opened: by the organizer's word, or by the clock at `startsAt` once ready. */
    openedAt: timeMs('opened_at'),
    /** When the organizer closed it. The clock closes at `endsAt` without a mark here. */
    closedAt: timeMs('closed_at'),
    /** When the first close leaf of its log made the result final. */
    finalAt: timeMs('final_at'),
    /** At least one position, and a candidate in each: without it the clock does not open the event. */
    ready: boolean().notNull().default(false),
    /** What keeps it from opening, as of the last change of what that depends on. */
    missing: jsonb().$type<readonly MissingPart[]>().notNull().default([]),
    /** The start that came while it was not ready. */
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
    /** The ballot log answers without a key. */
    logOpen: boolean('log_open').notNull().default(false),
    resultsVisibility: text('results_visibility').$type<ResultsVisibility>().notNull(),
    resultsPublishedAt: timeMs('results_published_at'),
    resultsAnnounced: boolean('results_announced').notNull().default(false),
    payToVote: jsonb('pay_to_vote').$type<Price>(),
    payToRegisterCandidate: jsonb('pay_to_register_candidate').$type<Price>(),
    repeatVotes: boolean('repeat_votes').notNull(),
    /** Somebody has begun to pay for a vote here: ballots may be identified by their payments, whatever the price is later. */
    paidVotes: boolean('paid_votes').notNull().default(false),
    paymentBusinessId: text('payment_business_id'),
    /** The provider of the linked business, so that no request has to look it up. */
    paymentProvider: text('payment_provider').$type<ProviderName>(),
    /** Whether the linked business takes real money; null without one. */
    paymentLivemode: boolean('payment_livemode'),
    /** Where voters vote: mails link there, with the key in the fragment. */
    votingPageUrl: text('voting_page_url'),
    contactEmail: text('contact_email'),
    language: text().$type<Language>().notNull().default('en'),
    /** A picture that mails show. Never fetched by the service. */
    logoUrl: text('logo_url'),
    /** Goes up with every change a ballot could depend on; a ballot is judged and stored under one version only. */
    definitionVersion: bigint('paper_version', { mode: 'number' }).notNull().default(1),
    /** The status that was last published; the clock changes it without a statement. */
    announcedStatus: text('announced_status').$type<'open' | 'closed' | 'not_opened'>(),
    /** Last small number given to a position or candidate; numbers are never used again. */
    lastPositionNumber: integer('last_position_number').notNull().default(0),
    lastCandidateNumber: integer('last_candidate_number').notNull().default(0),
    /** After the opening: of a voter's e-mail or voter ID. */
    identityChanges: integer('identity_changes').notNull().default(0),
    /** Letters with voter keys that were printed: of the event, and of the rehearsal that is under way. */
    lettersPrinted: integer('letters_printed').notNull().default(0),
    rehearsalLetters: integer('rehearsal_letters').notNull().default(0),
    /** After the opening: of a voter's weight, group or status, and deletions. */
    rollChanges: integer('roll_changes').notNull().default(0),
    /** Goes up when an invite is withdrawn or changed: tags of invites bear it. */
    inviteGeneration: integer('invite_generation').notNull().default(0),
    /** For a copy whose voters still come: those of the source up to this ID do. */
    copyUntil: text('copy_until'),
    /** The version of the sum of its roll (`voters/roll-sum.ts`); 0 before the first voter. */
    rollVersion: integer('roll_version').notNull().default(0),
    /** For a copy with its voters: how many there are to copy, and how many are copied. */
    copyTotal: integer('copy_total'),
    copyDone: integer('copy_done'),
    /** Since when it is rehearsed; null outside of a rehearsal (completions 10.5). */
    rehearsalSince: timeMs('rehearsal_since'),
    /** The visibility that the end of the rehearsal gives back. */
    rehearsalVisibility: text('rehearsal_visibility').$type<ResultsVisibility>(),
    /** Rounds of rehearsals so far, a running one included: it names the running one. */
    rehearsalNumber: integer('rehearsal_number').notNull().default(0),
    /** Ballots that were confirmed in rehearsals and wiped. */
    rehearsalBallots: bigint('rehearsal_ballots', { mode: 'number' }).notNull().default(0),
    /** Names the key that its ballots wait under (`ballot-keys.ts`); null in polls, and where ballots wait under the secret key. */
    ballotKey: text('ballot_key'),
    /** What binds the columns that decide whose it is and who may vote to the service's keys (`event-tag.ts`). */
    tag: bytes().notNull(),
    /** The alarm by which its log, or rows that it depends on, are not what the service wrote; null for nothing. */
    alarm: text(),
    /** When it was deleted: it is invisible since, and its rows are removed in the background. */
    deletedAt: timeMs('deleted_at'),
    createdAt: timeMs('created_at').notNull(),
    updatedAt: timeMs('updated_at').notNull(),
  },
  (table) => [
    uniqueIndex('voting_events_code').on(table.codeKey),
    index('voting_events_deleted').on(table.id).where(sql`deleted_at IS NOT NULL`),
    index('voting_events_account').on(table.accountId, table.id),
    index('voting_events_timed').on(table.id).where(sql`starts_at IS NOT NULL OR ends_at IS NOT NULL`),
    index('voting_events_rehearsed').on(table.id).where(sql`rehearsal_since IS NOT NULL`),
    index('voting_events_alarmed').on(table.id).where(sql`alarm IS NOT NULL`),
    // SQL would otherwise have every job that reckons with the end of all events fail.
    check(
      'voting_events_times',
      sql`least(starts_at, ends_at, opened_at, closed_at, rehearsal_since, final_at) > -9007199254740992 AND greatest(starts_at, ends_at, opened_at, closed_at, rehearsal_since, final_at) < 9007199254740992`,
    ),
    index('voting_events_to_open').on(table.startsAt).where(sql`opened_at IS NULL AND starts_at IS NOT NULL`),
  ],
);

/** The event that a row belongs to, and goes with. */
export const eventId = () =>
  text('voting_event_id')
    .notNull()
    .references(() => votingEvents.id, { onDelete: 'cascade' });

/**
 * The keys of events whose ballots wait, or waited until lately (docs/security.md, "Keys"): a row stands from before the event
 * opens until every copy of its key is destroyed. It outlives an event that is deleted.
 */
export const ballotKeys = pgTable(
  'ballot_keys',
  {
    votingEventId: text('voting_event_id').notNull(),
    /** Names the key, and shows nothing of it. */
    id: text().notNull(),
    /** The key itself, sealed under the secret key, where processes share no folder; null where it stands in files. */
    wrapped: text(),
    createdAt: timeMs('created_at').notNull(),
    /** Since when nothing needs it any more: its files are to be destroyed. */
    retiredAt: timeMs('retired_at'),
    /** That the service says so: SQL destroys no key. */
    retiredTag: bytes('retired_tag'),
    /** Folders that lack the file for good: it was seen there when it was destroyed, or its loss was accepted. */
    seenIn: text('seen_in').array().notNull().default([]),
  },
  (table) => [
    primaryKey({ columns: [table.votingEventId, table.id] }),
    index('ballot_keys_retired').on(table.votingEventId).where(sql`retired_at IS NOT NULL`),
  ],
);

/** The accounts an event is shared with: an invite, and once it is accepted the account that did. */
export const eventInvites = pgTable(
  'event_invites',
  {
    votingEventId: text('voting_event_id')
      .notNull()
      .references(() => votingEvents.id, { onDelete: 'cascade' }),
    id: text().notNull(),
    email: text().notNull(),
    /** The form by which addresses are the same. */
    emailKey: text('email_key').notNull(),
    role: text().$type<InviteRole>().notNull(),
    /** SHA-256 of the token: 160 random bits need no slow hash. */
    tokenHash: bytes('token_hash').notNull(),
    /** The token itself, encrypted, until its mail is sent. */
    sealedToken: text('sealed_token'),
    accountId: text('account_id'),
    acceptedAt: timeMs('accepted_at'),
    /** What binds the row to the service's keys (`event-tag.ts`). */
    tag: bytes().notNull(),
    expiresAt: timeMs('expires_at').notNull(),
    createdAt: timeMs('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.votingEventId, table.id] }),
    uniqueIndex('event_invites_email').on(table.votingEventId, table.emailKey),
    // The event stands in every unique key of its tables; the token goes first, as it is looked up by it alone.
    uniqueIndex('event_invites_token').on(table.tokenHash, table.votingEventId),
    // An account holds one role in an event; the order serves the list of events that are shared with it.
    uniqueIndex('event_invites_account').on(table.accountId, table.votingEventId).where(sql`account_id IS NOT NULL`),
  ],
);
