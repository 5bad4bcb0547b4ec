import { bigint, index, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { bytes, timeMs } from '#src/database/columns.ts';

const count = (name: string) => bigint(name, { mode: 'number' });

/** The head of the service's own log: one row. */
export const serviceLog = pgTable('service_log', {
  /** Always `current`. */
  id: text().primaryKey(),
  /** Leaves in the tree. */
  size: count('size').notNull(),
  /** The right edge of the tree. */
  frontier: bytes('frontier').notNull(),
});

/** Its leaves, one for each checkpoint of an event. Append-only. */
export const serviceLogLeaves = pgTable(
  'service_log_leaves',
  {
    leafIndex: count('leaf_index').primaryKey(),
    /** Names the event to those who know its ID, and stays when the event is deleted. */
    eventTag: bytes('event_tag').notNull(),
    /** Leaves of the event's log at its checkpoint. */
    size: count('size').notNull(),
    data: bytes('data').notNull(),
  },
  (table) => [index('service_log_leaves_event').on(table.eventTag, table.size)],
);

/** Full tiles, written once. */
export const serviceLogTiles = pgTable(
  'service_log_tiles',
  {
    level: integer().notNull(),
    tileIndex: count('tile_index').notNull(),
    hashes: bytes('hashes').notNull(),
    root: bytes('root').notNull(),
  },
  (table) => [primaryKey({ columns: [table.level, table.tileIndex] })],
);

/** Every signed head that there ever was. Append-only. */
export const serviceCheckpoints = pgTable('service_checkpoints', {
  size: count('size').primaryKey(),
  rootHash: bytes('root_hash').notNull(),
  /** Signed by the service alone. */
  note: text().notNull(),
  createdAt: timeMs('created_at').notNull(),
});

/** What witnesses signed of these heads. Append-only. */
export const serviceCosignatures = pgTable(
  'service_cosignatures',
  {
    size: count('size').notNull(),
    /** The witness's verifier key. */
    witness: text().notNull(),
    /** The signature line, verified, without its newline. */
    line: text().notNull(),
    /** The witness's own time. */
    cosignedAt: timeMs('cosigned_at').notNull(),
  },
  // By the witness first: the newest head that it has signed is asked for with each new one.
  (table) => [primaryKey({ columns: [table.witness, table.size] }), index('service_cosignatures_size').on(table.size)],
);
