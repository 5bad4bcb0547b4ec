import { HASH_BYTES, hashChildren, type ReadHash, type TreeNode } from './merkle-tree.ts';

/**
 * Tiles of the C2SP tlog-tiles format: 256 consecutive hashes of every eighth level of the tree, served at
 * `tile/<L>/<N>[.p/<W>]`, and the entries themselves, 256 at a time, at `tile/entries/<N>[.p/<W>]`. L is the tile's level
 * (the tree's level divided by 8), N its index in groups of three digits, `.p/<W>` the width of a tile that is not full.
 */
export const TILE_HEIGHT = 8;
export const TILE_WIDTH = 256;

const MAX_TILE_LEVEL = 63;
const MAX_ENTRY_BYTES = 0xffff;
const LENGTH_BYTES = 2;

type TileLevel = number | 'entries';

export interface Tile {
  readonly level: TileLevel;
  readonly index: number;
  /** Hashes or entries in it, 1 to 256. */
  readonly width: number;
}
export type HashTile = Tile & { readonly level: number };

/** `1234067` → `x001/x234/067`. */
function indexPath(index: number): string {
  const digits = index.toString();
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/\d{3}/g) ?? [];
  return groups.map((group, at) => (at < groups.length - 1 ? `x${group}` : group)).join('/');
}

/** The path of a tile, relative to the URL of its log. */
export function tilePath({ level, index, width }: Tile): string {
  const full = `tile/${level}/${indexPath(index)}`;
  return width === TILE_WIDTH ? full : `${full}.p/${width}`;
}

/** Parses the path after `tile/`, such as `0/x001/067.p/5`; undefined unless it is in canonical form. */
export function parseTilePath(path: string): Tile | undefined {
  const match = /^(entries|\d{1,2})\/((?:x\d{3}\/)*\d{3})(?:\.p\/(\d{1,3}))?$/.exec(path);
  const [, levelText = '', indexText = '', widthText = String(TILE_WIDTH)] = match ?? [];
  const level: TileLevel = levelText === 'entries' ? levelText : Number(levelText);
  const tile: Tile = { level, index: Number(indexText.replaceAll(/[x/]/g, '')), width: Number(widthText) };
  const known = match !== null && (level === 'entries' || level <= MAX_TILE_LEVEL) && Number.isSafeInteger(tile.index);
  // A tile has only one path: reject additional leading zeros, or `.p/256` for a full tile.
  return known && tile.width > 0 && tile.width <= TILE_WIDTH && tilePath(tile) === `tile/${path}` ? tile : undefined;
}

/** The number of hashes (or entries) that a tile has in a tree of `size` leaves, 0 to 256. */
export function tileWidth(level: TileLevel, index: number, size: number): number {
  const filled = Math.floor(size / TILE_WIDTH ** (level === 'entries' ? 0 : level));
  return Math.min(TILE_WIDTH, Math.max(0, filled - index * TILE_WIDTH));
}

/** The tile from which a node's hash is computed, and the range of hashes in it: `hashes` in number, from `start` on. */
function placeOf({ level, index }: TreeNode): { level: number; index: number; start: number; hashes: number } {
  const hashes = 2 ** (level % TILE_HEIGHT);
  const first = index * hashes;
  return {
    level: Math.floor(level / TILE_HEIGHT),
    index: Math.floor(first / TILE_WIDTH),
    start: first % TILE_WIDTH,
    hashes,
  };
}

/** The distinct tiles that contain the nodes, with their widths in a tree of `size` leaves. */
export function tilesHolding(nodes: readonly TreeNode[], size: number): HashTile[] {
  const tiles = new Map<string, HashTile>();
  for (const node of nodes) {
    const { level, index } = placeOf(node);
    tiles.set(`${level}/${index}`, { level, index, width: tileWidth(level, index, size) });
  }
  return [...tiles.values()];
}

function hashSubtree(hashes: Uint8Array, from: number, count: number): Uint8Array {
  if (count === 1) return hashes.subarray(from * HASH_BYTES, (from + 1) * HASH_BYTES);
  const half = count / 2;
  return hashChildren(hashSubtree(hashes, from, half), hashSubtree(hashes, from + half, half));
}

/** Reads nodes from tiles of 32 bytes per hash, which may be wider than needed. @throws RangeError if a tile is missing or short */
export function readFromTiles(find: (level: number, index: number) => Uint8Array | undefined): ReadHash {
  return (level, index) => {
    const place = placeOf({ level, index });
    const bytes = find(place.level, place.index);
    if (bytes === undefined || bytes.length < (place.start + place.hashes) * HASH_BYTES)
      throw new RangeError(`tile ${place.level}/${place.index} lacks node ${level}/${index}`);
    return hashSubtree(bytes, place.start, place.hashes);
  };
}

/** Encodes a bundle: each entry is preceded by its length in two bytes, big-endian. @throws RangeError for an entry above 65,535 bytes */
export function encodeBundle(entries: readonly Uint8Array[]): Buffer {
  return Buffer.concat(
    entries.flatMap((entry) => {
      if (entry.length > MAX_ENTRY_BYTES) throw new RangeError(`an entry has at most ${MAX_ENTRY_BYTES} bytes`);
      const length = Buffer.alloc(LENGTH_BYTES);
      length.writeUInt16BE(entry.length);
      return [length, entry];
    }),
  );
}
