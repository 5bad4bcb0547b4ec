import { bigint, index, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { bytes, timeMs } from '#src/database/columns.ts';

const count = (name: string) => bigint(name, { mode: 'number' });

/** The head of the service's own log: one row. */
export const serviceLog = pgTable('service_log', {
  /** Always `current`. */
  id: text().primaryKey(),
  size: count('size').notNull(),
  /** The compact range: the hashes of the tree's right edge, from which it grows. */
  frontier: bytes('frontier').notNull(),
});

/** The leaves of the service's own log, one for each checkpoint of an event. Append-only. */
export const serviceLogLeaves = pgTable(
  'service_log_leaves',
  {
    leafIndex: count('leaf_index').primaryKey(),
    /** SHA-256 of "event" and the log's origin, which contains the event's ID. The tag stays when the event is deleted. */
    eventTag: bytes('event_tag').notNull(),
    /** Number of leaves of the event's log at its checkpoint. */
    size: count('size').notNull(),
    data: bytes('data').notNull(),
  },
  (table) => [index('service_log_leaves_event').on(table.eventTag, table.size)],
);

/** Full tiles of the tree, written once. */
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

/** All signed heads of the service's own log. Append-only, but for the signature of the newest, which `log adopt-key` replaces. */
export const serviceCheckpoints = pgTable('service_checkpoints', {
  size: count('size').primaryKey(),
  rootHash: bytes('root_hash').notNull(),
  /** The signed note: with the service's signature, without cosignatures. */
  note: text().notNull(),
  createdAt: timeMs('created_at').notNull(),
});

/** The cosignatures of witnesses. Append-only. */
export const serviceCosignatures = pgTable(
  'service_cosignatures',
  {
    size: count('size').notNull(),
    /** The witness's verifier key. */
    witness: text().notNull(),
    /** The verified signature line, without its newline. */
    line: text().notNull(),
    /** When the witness signed, by its own clock. */
    cosignedAt: timeMs('cosigned_at').notNull(),
  },
  // The witness comes first in the key: for each new head, the newest size that a witness has signed is looked up.
  (table) => [primaryKey({ columns: [table.witness, table.size] }), index('service_cosignatures_size').on(table.size)],
);
