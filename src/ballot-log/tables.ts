import { bigint, index, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { bytes, timeMs } from '#src/database/columns.ts';
import { eventId } from '#src/voting-events/tables.ts';

const count = (name: string) => bigint(name, { mode: 'number' });

/** The head of an event's log: all that appending needs, however long the log is. */
export const ballotLogs = pgTable('ballot_logs', {
  votingEventId: eventId().primaryKey(),
  /** Leaves in the tree. */
  size: count('size').notNull(),
  /** Ballots among them, void ones too. */
  ballots: count('ballots').notNull(),
  /** Ballots confirmed when the head was signed last, and that note: renewed while ballots wait. */
  confirmed: count('confirmed').notNull(),
  note: text().notNull(),
  /** The right edge of the tree (`CompactRange`). */
  frontier: bytes('frontier').notNull(),
  /** The configuration that was recorded last, and the version of the definition it was read from. */
  configHash: text('config_hash').notNull(),
  configSeq: integer('config_seq').notNull(),
  /** Rows of the queue that operators dropped, as `config` leaves say. */
  dropped: integer().notNull().default(0),
  definitionVersion: count('paper_version').notNull(),
  /** Ballots that were confirmed when the first change was made that the log does not say yet; null where there is none. */
  confirmedAtChange: count('confirmed_at_change'),
  /** When the event ends, as the log says it; null without an end. */
  end: timeMs('ends_at'),
  /** The roll that was recorded last, by the first leaf or a `roll` leaf: null in polls. */
  rollHeads: count('roll_heads'),
  rollWeight: text('roll_weight'),
  rollIdentityChanges: integer('roll_identity_changes'),
  rollOtherChanges: integer('roll_other_changes'),
  rollSeq: integer('roll_seq').notNull(),
  /** The size right after the last `close` leaf; equal to `size` when nothing came since. */
  closedSize: count('closed_size'),
  /** The sealed seed of the lot, drawn when the log opened. */
  lotSeed: text('lot_seed').notNull(),
  /** The root before the `close` leaf, which lots are drawn from together with the seed. */
  lotRoot: bytes('lot_root'),
  /** What opens the `close` leaf: its salt, and the canonical JSON of what it commits to. Null before it. */
  closeSalt: bytes('close_salt'),
  closeContent: text('close_content'),
  /** When the roll was rewritten while the event was open (`rewrite-roll.ts`); null before the first time. */
  rollMixedAt: timeMs('roll_mixed_at'),
  /** Set once the roll was rewritten after the close, so that no order of it shows who voted when. */
  rollScatteredAt: timeMs('roll_scattered_at'),
});

/** The leaves, as data. Append-only: a trigger refuses everything else. */
export const logLeaves = pgTable(
  'log_leaves',
  {
    votingEventId: eventId(),
    leafIndex: count('leaf_index').notNull(),
    data: bytes('data').notNull(),
  },
  (table) => [primaryKey({ columns: [table.votingEventId, table.leafIndex] })],
);

/** What the configuration of a leaf changes: the event, or a row of its lists, as canonical JSON. Append-only. */
export const logConfigurations = pgTable(
  'log_configurations',
  {
    votingEventId: eventId(),
    number: integer().notNull(),
    leafIndex: count('leaf_index').notNull(),
    kind: text().$type<'event' | 'candidate' | 'group' | 'position'>().notNull(),
    partId: text('part_id').notNull(),
    /** Null where the row is gone. */
    content: text(),
  },
  (table) => [primaryKey({ columns: [table.votingEventId, table.number] })],
);

/** Full tiles of the tree: 256 hashes each, written once. What is not full yet is computed from the level below. */
export const logTiles = pgTable(
  'log_tiles',
  {
    votingEventId: eventId(),
    level: integer().notNull(),
    tileIndex: count('tile_index').notNull(),
    hashes: bytes('hashes').notNull(),
    /** The hash of the node above all of them: an entry of the tile one level up. */
    root: bytes('root').notNull(),
  },
  (table) => [primaryKey({ columns: [table.votingEventId, table.level, table.tileIndex] })],
);

/** Every signed head that there ever was. Append-only. */
export const logCheckpoints = pgTable(
  'log_checkpoints',
  {
    votingEventId: eventId(),
    size: count('size').notNull(),
    rootHash: bytes('root_hash').notNull(),
    note: text().notNull(),
    createdAt: timeMs('created_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.votingEventId, table.size] })],
);

/** Checkpoints that wait for their leaf in the service's own log (`service-log`). */
export const checkpointQueue = pgTable(
  'checkpoint_queue',
  { votingEventId: eventId(), size: count('size').notNull() },
  (table) => [primaryKey({ columns: [table.votingEventId, table.size] })],
);

/** Ballots that no longer count because their payment was reversed. Each gets a `void` leaf once its own leaf stands. */
export const voidedBallots = pgTable(
  'voided_ballots',
  {
    votingEventId: eventId(),
    codeTag: bytes('code_tag').notNull(),
    /** Index of the `void` leaf; null while it waits. */
    leafIndex: count('leaf_index'),
  },
  (table) => [
    primaryKey({ columns: [table.votingEventId, table.codeTag] }),
    index('voided_ballots_leaf').on(table.votingEventId, table.leafIndex),
  ],
);
