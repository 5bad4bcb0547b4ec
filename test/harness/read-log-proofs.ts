import {
  EMPTY_ROOT,
  equalHashes,
  HASH_BYTES,
  hashChildren,
  type ReadHash,
  type TreeNode,
} from '#src/ballot-log/merkle-tree.ts';
import { NoteRefused, type NoteVerifier, openNote } from '#src/ballot-log/signed-note.ts';
import { type Tile, tileWidth } from '#src/ballot-log/tiles.ts';

/** What an observer of a log does with its proofs, tiles and promises; the service only makes them. */
const LENGTH_BYTES = 2;
const WORDS = 'this leaf will be in the log';
const UNTIL = 'until ';

/** The complete nodes that the root of a tree is made of, from left to right: one for each 1 in the binary form of its size. */
export function nodesOfRoot(size: number): TreeNode[] {
  const nodes: TreeNode[] = [];
  let begin = 0;
  for (let level = Math.floor(Math.log2(Math.max(size, 1))); level >= 0; level -= 1) {
    const width = 2 ** level;
    if (begin + width > size) continue;
    nodes.push({ level, index: begin / width });
    begin += width;
  }
  return nodes;
}

/** The root of the tree's first `size` leaves, 32 bytes. */
export function rootOfSize(size: number, read: ReadHash): Uint8Array {
  const hashes = nodesOfRoot(size).map(({ level, index }) => read(level, index));
  return hashes.length === 0 ? EMPTY_ROOT : hashes.reduceRight((right, left) => hashChildren(left, right));
}

/** Whether a proof puts the leaf at its place in a tree; false for anything malformed. */
export function verifyInclusion(proof: {
  readonly index: number;
  readonly size: number;
  readonly leafHash: Uint8Array;
  readonly hashes: readonly Uint8Array[];
  readonly root: Uint8Array;
}): boolean {
  const { index, size, leafHash, hashes, root } = proof;
  const inside = Number.isSafeInteger(size) && Number.isSafeInteger(index) && index >= 0 && index < size;
  if (!inside || !areHashes([leafHash, root, ...hashes])) return false;
  let node = index;
  let last = size - 1;
  let rising: Uint8Array = leafHash;
  for (const sibling of hashes) {
    if (last === 0) return false;
    if (node % 2 === 1 || node === last) {
      rising = hashChildren(sibling, rising);
      // The last node of a level has no sibling where the level is odd: it rises unchanged.
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, Math.floor(last / 2)];
    } else {
      rising = hashChildren(rising, sibling);
    }
    [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
  }
  return last === 0 && equalHashes(rising, root);
}

/** Whether a proof shows the tree of `from` leaves to be the beginning of the other; false from an empty tree, of which nothing is shown. */
export function verifyConsistency(proof: {
  readonly from: number;
  readonly to: number;
  readonly fromRoot: Uint8Array;
  readonly toRoot: Uint8Array;
  readonly hashes: readonly Uint8Array[];
}): boolean {
  const { from, to, fromRoot, toRoot, hashes } = proof;
  const sized = Number.isSafeInteger(to) && Number.isSafeInteger(from) && from >= 1 && from <= to;
  if (!sized || !areHashes(hashes)) return false;
  if (from === to) return hashes.length === 0 && equalHashes(fromRoot, toRoot);
  let node = from - 1;
  let last = to - 1;
  while (node % 2 === 1) [node, last] = [(node - 1) / 2, Math.floor(last / 2)];
  // A smaller tree that is one complete node is itself where the way up begins.
  const [start, ...rest] = node === 0 ? [fromRoot, ...hashes] : hashes;
  if (start === undefined) return false;
  let [smaller, larger] = [start, start];
  for (const sibling of rest) {
    if (last === 0) return false;
    if (node % 2 === 1 || node === last) {
      smaller = hashChildren(sibling, smaller);
      larger = hashChildren(sibling, larger);
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, Math.floor(last / 2)];
    } else {
      larger = hashChildren(larger, sibling);
    }
    [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
  }
  return last === 0 && equalHashes(smaller, fromRoot) && equalHashes(larger, toRoot);
}

function areHashes(hashes: readonly Uint8Array[]): boolean {
  return hashes.every((one) => one.length === HASH_BYTES);
}

/** All hash tiles of a tree, level by level; partial ones stand at the right edge. */
export function tilesOfTree(size: number): Tile[] {
  const tiles: Tile[] = [];
  for (let level = 0; tileWidth(level, 0, size) > 0; level += 1) {
    for (let index = 0; tileWidth(level, index, size) > 0; index += 1)
      tiles.push({ level, index, width: tileWidth(level, index, size) });
  }
  return tiles;
}

/** @throws RangeError for bytes that end within an entry */
export function decodeBundle(bytes: Uint8Array): Buffer[] {
  const bundle = Buffer.from(bytes);
  const entries: Buffer[] = [];
  let at = 0;
  while (at < bundle.length) {
    const begin = at + LENGTH_BYTES;
    const end = begin <= bundle.length ? begin + bundle.readUInt16BE(at) : Number.POSITIVE_INFINITY;
    if (end > bundle.length) throw new RangeError('a bundle ends within an entry');
    entries.push(bundle.subarray(begin, end));
    at = end;
  }
  return entries;
}

/** What the key has promised: a leaf, by its hash of 32 bytes, until a time (Unix ms). @throws NoteRefused for a note that is no promise of this key */
export function openLogPromise(note: string, verifier: NoteVerifier) {
  const lines = openNote(note, verifier).split('\n');
  const [origin = '', words, encoded = '', date] = lines;
  const leafHash = Buffer.from(encoded, 'base64');
  const untilMs = readDate(date);
  const formed = words === WORDS && lines.length === 5 && lines.at(-1) === '';
  if (!formed || untilMs === undefined || leafHash.length !== HASH_BYTES || leafHash.toString('base64') !== encoded)
    throw new NoteRefused('this is no promise of a leaf');
  return { origin, leafHash, untilMs };
}

/** Undefined for a line that is not `until` and a date in its one form. */
function readDate(line = ''): number | undefined {
  const ms = line.startsWith(UNTIL) ? Date.parse(line.slice(UNTIL.length)) : Number.NaN;
  return !Number.isNaN(ms) && line === `${UNTIL}${new Date(ms).toISOString()}` ? ms : undefined;
}
