import type { Executor, Transaction } from '#src/database/client.ts';
import { type CompactRange, hashLeaf, type TreeNode } from './merkle-tree.ts';
import { findTile, insertLeaves, insertTile, readLeaves, readTileRoots } from './repository.ts';
import { TILE_HEIGHT, TILE_WIDTH } from './tiles.ts';

/** Where a log's leaves and full tiles are read from. */
export interface TreeReader {
  /** The data of leaves `from` to before `to`, in order. */
  readLeaves(from: number, to: number): Promise<Buffer[]>;
  /** The 256 hashes of a full tile; undefined where it is not full. */
  findTile(level: number, index: number): Promise<Buffer | undefined>;
  /** The root hashes of full tiles of a level, `from` to before `to`, in order. */
  readTileRoots(level: number, from: number, to: number): Promise<Buffer[]>;
}

export interface NewTile {
  readonly level: number;
  readonly tileIndex: number;
  /** 256 hashes. */
  readonly hashes: Buffer;
  readonly root: Buffer;
}

/** Where they are written to as well. */
export interface TreeStore extends TreeReader {
  insertLeaves(first: number, leaves: readonly Buffer[]): Promise<void>;
  insertTile(tile: NewTile): Promise<void>;
}

/** The log of an event. */
export const eventTree = (executor: Executor, eventId: string): TreeReader => ({
  readLeaves: (from, to) => readLeaves(executor, eventId, from, to),
  findTile: async (level, index) => (await findTile(executor, eventId, level, index))?.hashes,
  readTileRoots: (level, from, to) => readTileRoots(executor, eventId, level, from, to),
});

/** The log of an event, to be appended to. */
const eventTreeStore = (tx: Transaction, eventId: string): TreeStore => ({
  ...eventTree(tx, eventId),
  insertLeaves: (first, leaves) => insertLeaves(tx, eventId, first, leaves),
  insertTile: (tile) => insertTile(tx, eventId, tile),
});

/** A tile that the append has filled. */
interface FullTile {
  readonly level: number;
  readonly index: number;
  readonly root: Buffer;
}

/** The tile that a node crowns: 256 hashes of a tile's level, eight levels of the tree below it. */
function tileBelow({ level, index }: TreeNode, hash: Uint8Array): FullTile[] {
  if (level === 0 || level % TILE_HEIGHT !== 0) return [];
  return [{ level: level / TILE_HEIGHT - 1, index, root: Buffer.from(hash) }];
}

async function hashesOf(tree: TreeStore, { level, index }: FullTile): Promise<Buffer[]> {
  const from = index * TILE_WIDTH;
  if (level > 0) return tree.readTileRoots(level - 1, from, from + TILE_WIDTH);
  return (await tree.readLeaves(from, from + TILE_WIDTH)).map(hashLeaf);
}

/** Appends leaves to the log of an event. */
export const appendLeaves = (
  tx: Transaction,
  eventId: string,
  frontier: CompactRange,
  leaves: readonly Buffer[],
): Promise<void> => appendToTree(eventTreeStore(tx, eventId), frontier, leaves);

/**
 * Appends leaves to a log in the caller's transaction and moves its frontier on; tiles that become full are written once.
 * What is read back is the last 256 hashes of a level, and only when a tile is full: no cost grows with the log.
 */
export async function appendToTree(tree: TreeStore, frontier: CompactRange, leaves: readonly Buffer[]): Promise<void> {
  if (leaves.length === 0) return;
  const full: FullTile[] = [];
  await tree.insertLeaves(frontier.size, leaves);
  for (const data of leaves) frontier.append(hashLeaf(data), (node, hash) => full.push(...tileBelow(node, hash)));
  // From the leaves up, as they became full: a higher tile is made from the roots of those below.
  for (const tile of full) {
    const hashes = await hashesOf(tree, tile);
    if (hashes.length !== TILE_WIDTH) throw new Error(`tile ${tile.level}/${tile.index} of a log lacks hashes`);
    const { level, index: tileIndex, root } = tile;
    await tree.insertTile({ level, tileIndex, hashes: Buffer.concat(hashes), root });
  }
}
