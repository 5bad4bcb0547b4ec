import { sql } from 'drizzle-orm';
import { check, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { eventId } from '#src/voting-events/tables.ts';

/** What a visitor may spend on one quadratic position. Every change of it stands in the ledger. */
export const creditBalances = pgTable(
  'credit_balances',
  {
    votingEventId: eventId(),
    positionId: text('position_id').notNull(),
    visitorId: text('visitor_id').notNull(),
    base: integer().notNull(),
    purchased: integer().notNull(),
    /** In ballots that were cast and not confirmed. */
    held: integer().notNull(),
    spent: integer().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.votingEventId, table.positionId, table.visitorId] }),
    // Whatever runs at the same time, nothing is spent that is not there.
    check(
      'credit_balances_never_below_zero',
      sql`base + purchased - held - spent >= 0 AND purchased >= 0 AND held >= 0 AND spent >= 0`,
    ),
  ],
);
