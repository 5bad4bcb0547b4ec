import { boolean, foreignKey, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { bytes, timeMs } from '#src/database/columns.ts';
import type { PaperSize } from '#src/results/download-link.ts';
import type { LetterAudience } from '#src/voters/print-keys.ts';
import { eventId } from '#src/voting-events/tables.ts';

/** Letters with voter keys that an organizer had printed, and how far that is. */
export const letterRuns = pgTable(
  'letter_runs',
  {
    votingEventId: eventId(),
    id: text().notNull(),
    audience: text().$type<LetterAudience>().notNull(),
    paper: text().$type<PaperSize>().notNull(),
    total: integer().notNull(),
    /** Files, the last of them with what is left. */
    files: integer().notNull(),
    /** Voters that were dealt with, and letters among them. */
    done: integer().notNull().default(0),
    printed: integer().notNull().default(0),
    listedTo: text('listed_to').notNull().default(''),
    listUntil: text('list_until').notNull(),
    /** When each file was downloaded to its end, by its number. */
    downloads: jsonb().$type<Readonly<Record<string, number>>>().notNull().default({}),
    /** Printed in a rehearsal, and wiped with it. */
    rehearsal: boolean().notNull().default(false),
    /** The key that asked for them. */
    keyId: text('key_id').notNull(),
    /** What binds the row to the service's keys: SQL has no letters printed, none handed out before they are counted, and none again. */
    tag: bytes().notNull(),
    createdAt: timeMs('created_at').notNull(),
    finishedAt: timeMs('finished_at'),
  },
  (table) => [primaryKey({ columns: [table.votingEventId, table.id] })],
);

/** Pieces of files that wait for their download, sealed under the key of the event. */
export const letterParts = pgTable(
  'letter_parts',
  {
    votingEventId: text('voting_event_id').notNull(),
    runId: text('run_id').notNull(),
    number: integer().notNull(),
    part: integer().notNull(),
    content: text().notNull(),
    /** The download that reads the file, on its first piece: one that comes later cuts it off. */
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
