import { sql } from 'drizzle-orm';
import { check, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { eventId } from '#src/voting-events/tables.ts';

/** A visitor's credits on one quadratic position. `credit_entries` records every change. */
export const creditBalances = pgTable(
  'credit_balances',
  {
    votingEventId: eventId(),
    positionId: text('position_id').notNull(),
    visitorId: text('visitor_id').notNull(),
    base: integer().notNull(),
    purchased: integer().notNull(),
    /** Credits held by pending ballots and running payments. */
    held: integer().notNull(),
    spent: integer().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.votingEventId, table.positionId, table.visitorId] }),
    // Concurrent requests cannot spend more credits than the visitor has.
    check(
      'credit_balances_never_below_zero',
      sql`base + purchased - held - spent >= 0 AND purchased >= 0 AND held >= 0 AND spent >= 0`,
    ),
  ],
);
