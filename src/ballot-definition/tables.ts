import { boolean, index, integer, jsonb, pgTable, primaryKey, smallint, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { timeMs } from '#src/database/columns.ts';
import { eventId } from '#src/voting-events/tables.ts';
import type {
  CandidateSource,
  CandidateStatus,
  Majority,
  QuadraticTopUp,
  ReferendumRole,
  ReferendumRules,
  TieBreak,
  VotingMethod,
} from './types.ts';

const times = () => ({ createdAt: timeMs('created_at').notNull(), updatedAt: timeMs('updated_at').notNull() });

export const positions = pgTable(
  'positions',
  {
    votingEventId: eventId(),
    id: text().notNull(),
    /** Identifies the position in stored ballots. */
    number: integer().notNull(),
    title: text().notNull(),
    description: text(),
    votingMethod: text('voting_method').$type<VotingMethod>().notNull(),
    groupId: text('group_id'),
    sortOrder: integer('sort_order').notNull(),
    seats: smallint().notNull(),
    minSelections: integer('min_selections').notNull(),
    /** Null if the limit follows the number of candidates. */
    maxSelections: integer('max_selections'),
    scoreMin: integer('score_min'),
    scoreMax: integer('score_max'),
    cumulativePointBudget: integer('cumulative_point_budget'),
    quadraticBaseCreditBudget: integer('quadratic_base_credit_budget'),
    quadraticTopUp: jsonb('quadratic_top_up').$type<QuadraticTopUp>(),
    tieBreak: text('tie_break').$type<TieBreak>().notNull(),
    rules: jsonb().$type<ReferendumRules>(),
    majorityRequired: jsonb('majority_required').$type<Majority>(),
    /** Set when the deletion is queued, which hides the position from every reader at once. */
    deletedAt: timeMs('deleted_at'),
    ...times(),
  },
  (table) => [
    primaryKey({ columns: [table.votingEventId, table.id] }),
    uniqueIndex('positions_number').on(table.votingEventId, table.number),
  ],
);

export const candidates = pgTable(
  'candidates',
  {
    votingEventId: eventId(),
    id: text().notNull(),
    /** Identifies the candidate in stored ballots. */
    number: integer().notNull(),
    name: text().notNull(),
    description: text(),
    email: text(),
    positionIds: text('position_ids').array().notNull(),
    groupId: text('group_id'),
    referendumRole: text('referendum_role').$type<ReferendumRole>(),
    avatarUrl: text('avatar_url'),
    status: text().$type<CandidateStatus>().notNull(),
    source: text().$type<CandidateSource>().notNull(),
    sortOrder: integer('sort_order').notNull(),
    /** The payment that registered the candidate: one payment registers one candidate. */
    paymentAttemptId: text('payment_attempt_id'),
    /** Whether the candidate registered in a rehearsal, whose end deletes the candidate. */
    rehearsal: boolean().notNull().default(false),
    deletedAt: timeMs('deleted_at'),
    ...times(),
  },
  (table) => [
    primaryKey({ columns: [table.votingEventId, table.id] }),
    uniqueIndex('candidates_number').on(table.votingEventId, table.number),
    uniqueIndex('candidates_payment').on(table.votingEventId, table.paymentAttemptId),
  ],
);

export const groups = pgTable(
  'groups',
  {
    votingEventId: eventId(),
    id: text().notNull(),
    name: text().notNull(),
    /** Null once the deletion is queued, so that the name is free again. */
    nameKey: text('name_key'),
    description: text(),
    deletedAt: timeMs('deleted_at'),
    ...times(),
  },
  (table) => [
    primaryKey({ columns: [table.votingEventId, table.id] }),
    uniqueIndex('groups_name').on(table.votingEventId, table.nameKey),
  ],
);

export const sponsors = pgTable(
  'sponsors',
  {
    votingEventId: eventId(),
    id: text().notNull(),
    name: text().notNull(),
    logoUrl: text('logo_url'),
    websiteUrl: text('website_url'),
    tier: text(),
    sortOrder: integer('sort_order').notNull(),
    ...times(),
  },
  (table) => [
    primaryKey({ columns: [table.votingEventId, table.id] }),
    index('sponsors_order').on(table.votingEventId, table.sortOrder),
  ],
);
