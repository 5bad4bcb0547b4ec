import type { Answer } from '#src/http/answer.ts';
import { hashLeaf, type ReadHash, type TreeNode } from './merkle-tree.ts';
import { encodeBundle, parseTilePath, readFromTiles, TILE_WIDTH, type Tile, tilesHolding, tileWidth } from './tiles.ts';
import type { TreeReader } from './tree-store.ts';

/**
 * The caches that may store a tile. A tile never changes: the URL of a partial tile contains its width. If the log requires a key,
 * shared caches must not store its tiles. No cache may store a tile of a rehearsal, which is wiped.
 */
const KEPT_BY = {
  anybody: { 'Cache-Control': 'public, max-age=31536000, immutable' },
  reader: { 'Cache-Control': 'private, max-age=31536000, immutable' },
  nobody: {},
} as const;

/** The answer for a signed note or a verifier key. */
export const noteAnswer = (content: string): Answer => ({
  status: 200,
  text: { content, type: 'text/plain; charset=utf-8' },
});

export const tileAnswer = (content: Uint8Array<ArrayBuffer>, keptBy: keyof typeof KEPT_BY): Answer => ({
  status: 200,
  headers: KEPT_BY[keptBy],
  bytes: { content, type: 'application/octet-stream' },
});

/** The first `width` hashes of a tile: from one row if the tile is full, otherwise from at most 255 rows of the level below. */
async function readHashTileOf(
  tree: TreeReader,
  tile: { readonly level: number; readonly index: number; readonly width: number },
): Promise<Buffer | undefined> {
  const { level, index, width } = tile;
  const full = await tree.findTile(level, index);
  if (full !== undefined) return full.hashes.subarray(0, width * 32);
  const from = index * TILE_WIDTH;
  const hashes =
    level === 0
      ? (await tree.readLeaves(from, from + width)).map(hashLeaf)
      : await tree.readTileRoots(level - 1, from, from + width);
  return hashes.length === width ? Buffer.concat(hashes) : undefined;
}

/** The bytes of a tile of hashes or of a bundle of entries, by its path; undefined if the log does not have it. */
export async function readTileBytes(tree: TreeReader, path: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const tile = parseTilePath(path);
  if (tile === undefined) return undefined;
  const { level, index, width } = tile;
  if (level !== 'entries') {
    const hashes = await readHashTileOf(tree, { level, index, width });
    return hashes && new Uint8Array(hashes);
  }
  const entries = await readEntries(tree, tile);
  return entries && new Uint8Array(encodeBundle(entries));
}

/** The entries of a bundle, or undefined if the log has fewer. */
async function readEntries(tree: TreeReader, tile: Tile): Promise<Buffer[] | undefined> {
  const from = tile.index * TILE_WIDTH;
  const entries = await tree.readLeaves(from, from + tile.width);
  return entries.length === tile.width ? entries : undefined;
}

/** Loads the tiles that contain the nodes, two or three per level. @returns a function that reads hashes from them */
export async function loadNodes(tree: TreeReader, nodes: readonly TreeNode[], size: number): Promise<ReadHash> {
  const loaded = new Map<string, Buffer>();
  for (const { level, index } of tilesHolding(nodes, size)) {
    if (typeof level !== 'number') continue;
    const bytes = await readHashTileOf(tree, { level, index, width: tileWidth(level, index, size) });
    if (bytes !== undefined) loaded.set(`${level}/${index}`, bytes);
  }
  return readFromTiles((level, index) => loaded.get(`${level}/${index}`));
}
