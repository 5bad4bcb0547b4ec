import { bigint, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { bytes, timeMs } from '#src/database/columns.ts';
import { votingEvents } from '#src/voting-events/tables.ts';

/** The leaves of each event's log, gapless from 0. Append-only: the database refuses changes and deletions. */
export const logLeaves = pgTable(
  'log_leaves',
  {
    votingEventId: text('voting_event_id')
      .notNull()
      .references(() => votingEvents.id, { onDelete: 'cascade' }),
    leafIndex: bigint('leaf_index', { mode: 'number' }).notNull(),
    kind: text().$type<'open' | 'ballot' | 'config' | 'close' | 'void'>().notNull(),
    data: bytes('data').notNull(),
  },
  (table) => [primaryKey({ columns: [table.votingEventId, table.leafIndex] })],
);

/** The head of each event's log: its size, root, and the right edge of the tree, from which it grows without reading the rest. */
export const logHeads = pgTable('log_heads', {
  votingEventId: text('voting_event_id')
    .primaryKey()
    .references(() => votingEvents.id, { onDelete: 'cascade' }),
  size: bigint({ mode: 'number' }).notNull(),
  rootHash: bytes('root_hash').notNull(),
  frontier: bytes('frontier').notNull(),
  updatedAt: timeMs('updated_at').notNull(),
});
