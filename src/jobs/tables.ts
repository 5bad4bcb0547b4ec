import { pgTable, text } from 'drizzle-orm/pg-core';
import { timeMs } from '#src/database/columns.ts';

/** Runners that are alive. Every process writes down its own every few seconds, by the clock of the database. */
export const jobRunners = pgTable('job_runners', {
  /** What the queue's rows name as their holder. */
  id: text().primaryKey(),
  seenAt: timeMs('seen_at').notNull(),
});
