import { boolean, foreignKey, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { bytes, timeMs } from '#src/database/columns.ts';
import type { PaperSize } from '#src/results/download-link.ts';
import type { LetterAudience } from '#src/voters/print-keys.ts';
import { eventId } from '#src/voting-events/tables.ts';

/** A run: the letters with voter keys that an organizer ordered at one time, and the progress of their printing. */
export const letterRuns = pgTable(
  'letter_runs',
  {
    votingEventId: eventId(),
    id: text().notNull(),
    audience: text().$type<LetterAudience>().notNull(),
    paper: text().$type<PaperSize>().notNull(),
    total: integer().notNull(),
    /** Number of files; the last holds the remaining letters. */
    files: integer().notNull(),
    /** Number of voters processed so far, and of letters printed for them. */
    done: integer().notNull().default(0),
    printed: integer().notNull().default(0),
    listedTo: text('listed_to').notNull().default(''),
    listUntil: text('list_until').notNull(),
    /** When each file was downloaded completely, by its number. */
    downloads: jsonb().$type<Readonly<Record<string, number>>>().notNull().default({}),
    /** Whether the run was printed in a rehearsal. Such a run is deleted when the rehearsal ends. */
    rehearsal: boolean().notNull().default(false),
    keyId: text('key_id').notNull(),
    /** MAC of the row. Without it, direct SQL could have letters printed, read before they are counted, or downloaded twice. */
    tag: bytes().notNull(),
    createdAt: timeMs('created_at').notNull(),
    finishedAt: timeMs('finished_at'),
  },
  (table) => [primaryKey({ columns: [table.votingEventId, table.id] })],
);

/** Parts of files that wait for their download, encrypted under the event's key. */
export const letterParts = pgTable(
  'letter_parts',
  {
    votingEventId: text('voting_event_id').notNull(),
    runId: text('run_id').notNull(),
    number: integer().notNull(),
    part: integer().notNull(),
    content: text().notNull(),
    /** On the first part: ID of the current download, which begins with that of its process. A later download replaces it, which cuts off the earlier. */
    reader: text(),
  },
  (table) => [
    primaryKey({ columns: [table.votingEventId, table.runId, table.number, table.part] }),
    foreignKey({
      name: 'letter_parts_run',
      columns: [table.votingEventId, table.runId],
      foreignColumns: [letterRuns.votingEventId, letterRuns.id],
    }).onDelete('cascade'),
  ],
);
