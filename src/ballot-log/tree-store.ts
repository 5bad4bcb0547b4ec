import { and, asc, type ColumnBaseConfig, eq, gte, lt, type SQL, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import { type Executor, firstOf, type Transaction } from '#src/database/client.ts';
import { type CompactRange, hashLeaf, type TreeNode } from './merkle-tree.ts';
import { readLeaves } from './repository.ts';
import { logTiles } from './tables.ts';
import { TILE_HEIGHT, TILE_WIDTH } from './tiles.ts';

/** Read access to a log's leaves and full tiles. */
export interface TreeReader {
  /** The data of leaves `from` to before `to`, in order. */
  readLeaves(from: number, to: number): Promise<Buffer[]>;
  /** Undefined if the tile is not full. */
  findTile(level: number, index: number): Promise<Pick<NewTile, 'hashes' | 'root'> | undefined>;
  /** The root hashes of a level's full tiles `from` to before `to`, in order. */
  readTileRoots(level: number, from: number, to: number): Promise<Buffer[]>;
}

export type NewTile = Readonly<Omit<typeof logTiles.$inferSelect, 'votingEventId'>>;

export interface TreeStore extends TreeReader {
  insertLeaves(first: number, leaves: readonly Buffer[]): Promise<void>;
  insertTile(tile: NewTile): Promise<void>;
}

type Bytes = PgColumn<ColumnBaseConfig<'custom', string> & { data: Buffer; notNull: true }>;
type TileTable = PgTable & Record<'level' | 'tileIndex', PgColumn> & Record<'hashes' | 'root', Bytes>;

/** Reads the full tiles of a log. @param own condition on the log's rows; all rows of the table if left out */
export const tilesIn = (
  executor: Executor,
  table: TileTable,
  own?: SQL,
): Pick<TreeReader, 'findTile' | 'readTileRoots'> => ({
  findTile(level, index) {
    const { hashes, root } = table;
    const at = and(own, eq(table.level, level), eq(table.tileIndex, index));
    return firstOf(executor.select({ hashes, root }).from(table).where(at));
  },
  async readTileRoots(level, from, to) {
    const { tileIndex, root } = table;
    const within = and(own, eq(table.level, level), gte(tileIndex, from), lt(tileIndex, to));
    const rows = await executor.select({ root }).from(table).where(within).orderBy(asc(tileIndex));
    return rows.map((row) => row.root);
  },
});

export const eventTree = (executor: Executor, eventId: string): TreeReader => ({
  readLeaves: (from, to) => readLeaves(executor, eventId, from, to),
  ...tilesIn(executor, logTiles, eq(logTiles.votingEventId, eventId)),
});

const eventTreeStore = (tx: Transaction, eventId: string): TreeStore => ({
  ...eventTree(tx, eventId),
  async insertLeaves(first, leaves) {
    await tx.execute(sql`
      INSERT INTO log_leaves (voting_event_id, leaf_index, data)
      SELECT ${eventId}, ${first}::bigint + place - 1, data
      FROM unnest(${sql.param(leaves)}::bytea[]) WITH ORDINALITY AS leaf(data, place) ORDER BY place`);
  },
  async insertTile(tile) {
    await tx.insert(logTiles).values({ votingEventId: eventId, ...tile });
  },
});

/** A tile that an append filled. */
type FullTile = Omit<NewTile, 'hashes'>;

/** The tile whose root is this node, if its level is a multiple of eight: the tile's 256 hashes are eight levels below. */
function tileBelow({ level, index }: TreeNode, hash: Uint8Array): FullTile[] {
  if (level === 0 || level % TILE_HEIGHT !== 0) return [];
  return [{ level: level / TILE_HEIGHT - 1, tileIndex: index, root: Buffer.from(hash) }];
}

async function hashesOf(tree: TreeStore, { level, tileIndex }: FullTile): Promise<Buffer[]> {
  const from = tileIndex * TILE_WIDTH;
  if (level > 0) return tree.readTileRoots(level - 1, from, from + TILE_WIDTH);
  return (await tree.readLeaves(from, from + TILE_WIDTH)).map(hashLeaf);
}

export const appendLeaves = (
  tx: Transaction,
  eventId: string,
  frontier: CompactRange,
  leaves: readonly Buffer[],
): Promise<void> => appendToTree(eventTreeStore(tx, eventId), frontier, leaves);

/** Appends leaves, advances the frontier (right edge of the tree), and writes tiles that became full, at a cost independent of its size. */
export async function appendToTree(tree: TreeStore, frontier: CompactRange, leaves: readonly Buffer[]): Promise<void> {
  if (leaves.length === 0) return;
  const full: FullTile[] = [];
  await tree.insertLeaves(frontier.size, leaves);
  for (const data of leaves) frontier.append(hashLeaf(data), (node, hash) => full.push(...tileBelow(node, hash)));
  // In the order of completion, from the leaves up: a higher tile is computed from the roots of the tiles below.
  for (const tile of full) {
    const hashes = await hashesOf(tree, tile);
    if (hashes.length !== TILE_WIDTH) throw new Error(`tile ${tile.level}/${tile.tileIndex} of a log lacks hashes`);
    await tree.insertTile({ ...tile, hashes: Buffer.concat(hashes) });
  }
}
