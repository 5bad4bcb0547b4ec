import { pgTable, text } from 'drizzle-orm/pg-core';
import { bytes, micro, timeMs } from '#src/database/columns.ts';
import { votingEvents } from '#src/voting-events/tables.ts';

/** Nothing reads or writes it: a count of a million ballots takes less than a second. The next change of the tables drops it. */
export const countSnapshots = pgTable('count_snapshots', {
  votingEventId: text('voting_event_id')
    .primaryKey()
    .references(() => votingEvents.id, { onDelete: 'cascade' }),
  /** Version of the definition that the ballots were counted by; a change of it makes the snapshot worthless. */
  definitionVersion: micro('paper_version').notNull(),
  lastLeaf: micro('last_leaf').notNull(),
  state: bytes('state').notNull(),
  /** HMAC of all of the above: who can write to the database cannot make up a result. */
  seal: bytes('seal').notNull(),
  savedAt: timeMs('saved_at').notNull(),
});
