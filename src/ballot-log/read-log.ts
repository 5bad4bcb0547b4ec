import type { Answer } from '#src/http/answer.ts';
import {
  consistencyProof,
  hashLeaf,
  inclusionProof,
  nodesOfConsistency,
  nodesOfInclusion,
  type ReadHash,
  type TreeNode,
} from './merkle-tree.ts';
import { encodeBundle, type HashTile, parseTilePath, readFromTiles, TILE_WIDTH, tilesHolding } from './tiles.ts';
import type { TreeReader } from './tree-store.ts';

/** Caching of tiles, which never change. A log that needs a key excludes shared caches; a rehearsal, whose log is wiped, all caches. */
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
async function readHashTileOf(tree: TreeReader, { level, index, width }: HashTile): Promise<Buffer | undefined> {
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
  const entries = await tree.readLeaves(index * TILE_WIDTH, index * TILE_WIDTH + width);
  return entries.length === width ? new Uint8Array(encodeBundle(entries)) : undefined;
}

/** Loads the tiles that contain the nodes, two or three per level. @returns a function that reads hashes from them */
export async function loadNodes(tree: TreeReader, nodes: readonly TreeNode[], size: number): Promise<ReadHash> {
  const loaded = new Map<string, Buffer>();
  for (const tile of tilesHolding(nodes, size)) {
    const bytes = await readHashTileOf(tree, tile);
    if (bytes !== undefined) loaded.set(`${tile.level}/${tile.index}`, bytes);
  }
  return readFromTiles((level, index) => loaded.get(`${level}/${index}`));
}

const base64 = (hash: Uint8Array): string => Buffer.from(hash).toString('base64');

/** The inclusion proof of a leaf in the tree of the first `size` leaves: hashes in base64. */
export async function proveInclusion(tree: TreeReader, index: number, size: number): Promise<string[]> {
  const read = await loadNodes(tree, nodesOfInclusion(index, size), size);
  return inclusionProof(index, size, read).map(base64);
}

/** The proof that the first `from` leaves are a prefix of the first `to` leaves: hashes in base64. */
export async function proveConsistency(tree: TreeReader, from: number, to: number): Promise<string[]> {
  const read = await loadNodes(tree, nodesOfConsistency(from, to), to);
  return consistencyProof(from, to, read).map(base64);
}
