import { bigint, index, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { bytes, timeMs } from '#src/database/columns.ts';
import { eventId } from '#src/voting-events/tables.ts';

const count = (name: string) => bigint(name, { mode: 'number' });

/** The head of an event's log: everything that an append needs, independent of the log's length. */
export const ballotLogs = pgTable('ballot_logs', {
  votingEventId: eventId().primaryKey(),
  /** Leaves in the tree. */
  size: count('size').notNull(),
  /** Ballots in the log, including void ballots. */
  ballots: count('ballots').notNull(),
  /** Ballots confirmed at the last signature of the head, and the signed note. Both are renewed while ballots are queued. */
  confirmed: count('confirmed').notNull(),
  note: text().notNull(),
  /** The right edge of the tree (`CompactRange`). */
  frontier: bytes('frontier').notNull(),
  /** The hash of the last recorded configuration; `paper_version` below is the version of the definition that was read. */
  configHash: text('config_hash').notNull(),
  configSeq: integer('config_seq').notNull(),
  /** Queue rows that operators dropped, as recorded in `config` leaves. */
  dropped: integer().notNull().default(0),
  definitionVersion: count('paper_version').notNull(),
  /** Ballots confirmed at the first change of the event that the log has not recorded yet; null without such a change. */
  confirmedAtChange: count('confirmed_at_change'),
  /** The event's end as last recorded in the log; null without an end. */
  end: timeMs('ends_at'),
  /** The roll in the last `open` or `roll` leaf; null in polls. */
  rollHeads: count('roll_heads'),
  rollWeight: text('roll_weight'),
  rollIdentityChanges: integer('roll_identity_changes'),
  rollOtherChanges: integer('roll_other_changes'),
  rollSeq: integer('roll_seq').notNull(),
  /** The size right after the `close` leaf; less than `size` once `void` leaves follow. */
  closedSize: count('closed_size'),
  /** The encrypted seed of the lots that break ties, drawn when the log opened. */
  lotSeed: text('lot_seed').notNull(),
  /** The root before the `close` leaf, which determines the lots together with the seed. */
  lotRoot: bytes('lot_root'),
  /** The opening of the `close` leaf: its salt, and the canonical JSON of its content. Null before the close. */
  closeSalt: bytes('close_salt'),
  closeContent: text('close_content'),
  /** When the roll was last rewritten while the event was open (`rewrite-roll.ts`); null before the first time. */
  rollMixedAt: timeMs('roll_mixed_at'),
  /** When the roll was rewritten after the close, so that the order of its rows does not show who voted when. */
  rollScatteredAt: timeMs('roll_scattered_at'),
});

/** The data of the leaves. Append-only, enforced by a trigger. */
export const logLeaves = pgTable(
  'log_leaves',
  {
    votingEventId: eventId(),
    leafIndex: count('leaf_index').notNull(),
    data: bytes('data').notNull(),
  },
  (table) => [primaryKey({ columns: [table.votingEventId, table.leafIndex] })],
);

/** The changed parts of the configuration of a leaf: the event, or a row of its lists, as canonical JSON. Append-only. */
export const logConfigurations = pgTable(
  'log_configurations',
  {
    votingEventId: eventId(),
    number: integer().notNull(),
    leafIndex: count('leaf_index').notNull(),
    kind: text().$type<'event' | 'candidate' | 'group' | 'position'>().notNull(),
    partId: text('part_id').notNull(),
    /** Canonical JSON of the event, candidate, group or position; null if the leaf records its deletion. */
    content: text(),
  },
  (table) => [primaryKey({ columns: [table.votingEventId, table.number] })],
);

/** Full tiles of the tree: 256 hashes each, written once. A tile that is not full is computed from the level below. */
export const logTiles = pgTable(
  'log_tiles',
  {
    votingEventId: eventId(),
    level: integer().notNull(),
    tileIndex: count('tile_index').notNull(),
    hashes: bytes('hashes').notNull(),
    /** The hash of the node above all 256 hashes: an entry of the tile one level up. */
    root: bytes('root').notNull(),
  },
  (table) => [primaryKey({ columns: [table.votingEventId, table.level, table.tileIndex] })],
);

/** The signed head at every size that was signed. Append-only. */
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

/** Checkpoints that have no leaf in the service's own log yet (`service-log`). */
export const checkpointQueue = pgTable(
  'checkpoint_queue',
  { votingEventId: eventId(), size: count('size').notNull() },
  (table) => [primaryKey({ columns: [table.votingEventId, table.size] })],
);

/** Ballots whose payment was reversed. Each gets a `void` leaf after its own leaf. */
export const voidedBallots = pgTable(
  'voided_ballots',
  {
    votingEventId: eventId(),
    codeTag: bytes('code_tag').notNull(),
    /** Index of the `void` leaf; null until it is appended. */
    leafIndex: count('leaf_index'),
  },
  (table) => [
    primaryKey({ columns: [table.votingEventId, table.codeTag] }),
    index('voided_ballots_leaf').on(table.votingEventId, table.leafIndex),
  ],
);
