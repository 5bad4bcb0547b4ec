import type { Executor } from '#src/database/client.ts';
import { EMPTY_ROOT, hashLeaf, type ReadHash, type TreeNode } from './merkle-tree.ts';
import { findHead, findTile, readLeaves, readTileRoots } from './repository.ts';
import { readFromTiles, TILE_WIDTH, type Tile, tilesHolding, tileWidth } from './tiles.ts';

export interface LogSize {
  readonly size: number;
  readonly rootHash: Uint8Array;
}

/** Size and root of an event's log as of now; an empty tree where it was not opened yet. */
export async function readLogSize(executor: Executor, eventId: string): Promise<LogSize> {
  const head = await findHead(executor, eventId);
  if (head === undefined) return { size: 0, rootHash: EMPTY_ROOT };
  return { size: head.frontier.size, rootHash: head.frontier.root() };
}

/** The hashes of a tile, the first `width` of them: one row when it is full, at most 255 of the level below otherwise. */
export async function readHashTile(
  executor: Executor,
  eventId: string,
  tile: { readonly level: number; readonly index: number; readonly width: number },
): Promise<Buffer | undefined> {
  const { level, index, width } = tile;
  const full = await findTile(executor, eventId, level, index);
  if (full !== undefined) return full.subarray(0, width * 32);
  const from = index * TILE_WIDTH;
  const hashes =
    level === 0
      ? (await readLeaves(executor, eventId, from, from + width)).map(hashLeaf)
      : await readTileRoots(executor, eventId, level - 1, from, from + width);
  return hashes.length === width ? Buffer.concat(hashes) : undefined;
}

/** The entries of a bundle, or undefined where the log has fewer. */
export async function readEntries(
  executor: Executor,
  eventId: string,
  tile: Pick<Tile, 'index' | 'width'>,
): Promise<Buffer[] | undefined> {
  const from = tile.index * TILE_WIDTH;
  const entries = await readLeaves(executor, eventId, from, from + tile.width);
  return entries.length === tile.width ? entries : undefined;
}

/** Loads the tiles that hold the nodes, two or three a level, and reads hashes from them. */
export async function loadNodes(
  executor: Executor,
  eventId: string,
  nodes: readonly TreeNode[],
  size: number,
): Promise<ReadHash> {
  const loaded = new Map<string, Buffer>();
  for (const { level, index } of tilesHolding(nodes, size)) {
    if (typeof level !== 'number') continue;
    const bytes = await readHashTile(executor, eventId, { level, index, width: tileWidth(level, index, size) });
    if (bytes !== undefined) loaded.set(`${level}/${index}`, bytes);
  }
  return readFromTiles((level, index) => loaded.get(`${level}/${index}`));
}
