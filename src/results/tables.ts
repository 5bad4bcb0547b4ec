import { pgTable, text } from 'drizzle-orm/pg-core';
import { bytes, micro, timeMs } from '#src/database/columns.ts';
import { votingEvents } from '#src/voting-events/tables.ts';

/**
 * A count of an event's box as it stood at a leaf, so that a process that starts does not read a large box again. It is no
 * part of the truth: without it, or where its seal is broken, the box is counted from its first ballot.
 */
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
