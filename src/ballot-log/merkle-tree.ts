import { hash } from 'node:crypto';

/**
 * The hash tree of RFC 6962, section 2.1: a leaf is SHA-256(0x00 ‖ data), a node SHA-256(0x01 ‖ left ‖ right), the root of
 * no leaves SHA-256(""). A node is named by its level (0 for leaves) and its index in it, and only complete nodes, those
 * with 2^level leaves below them, have a name: they never change once they are there.
 */
export const HASH_BYTES = 32;

const LEAF = 0x00;
const NODE = 0x01;
/** A subtree of more levels would have more leaves than a whole number can count exactly. */
const MAX_LEVEL = 52;

export interface TreeNode {
  readonly level: number;
  readonly index: number;
}

/** The hash of a complete node. */
export type ReadHash = (level: number, index: number) => Uint8Array;

/** Leaves from `begin` to before `end`. */
interface Range {
  readonly begin: number;
  readonly end: number;
}

function sha256(bytes: Uint8Array): Buffer {
  return hash('sha256', bytes, 'buffer');
}

export const EMPTY_ROOT: Uint8Array = sha256(new Uint8Array());

export function hashLeaf(data: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(1 + data.length);
  bytes[0] = LEAF;
  bytes.set(data, 1);
  return sha256(bytes);
}

export function hashChildren(left: Uint8Array, right: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(1 + 2 * HASH_BYTES);
  bytes[0] = NODE;
  bytes.set(left, 1);
  bytes.set(right, 1 + HASH_BYTES);
  return sha256(bytes);
}

export function equalHashes(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}

function requireSize(size: number): void {
  if (!Number.isSafeInteger(size) || size < 0) throw new RangeError(`a tree cannot have ${size} leaves`);
}

/** The largest power of two below `width`, which is at least 2: where RFC 6962 splits a range of leaves. */
function splitOf(width: number): number {
  let split = 1;
  while (split * 2 < width) split *= 2;
  return split;
}

/** A range as complete nodes from left to right. Ranges that proofs need shrink to the right, so these do too. */
function nodesOfRange({ begin, end }: Range): TreeNode[] {
  const nodes: TreeNode[] = [];
  let at = begin;
  while (at < end) {
    let level = 0;
    let width = 1;
    while (level < MAX_LEVEL && at % (width * 2) === 0 && at + width * 2 <= end) {
      level += 1;
      width *= 2;
    }
    nodes.push({ level, index: at / width });
    at += width;
  }
  return nodes;
}

function foldFromRight(hashes: readonly Uint8Array[]): Uint8Array {
  return hashes.length === 0 ? EMPTY_ROOT : hashes.reduceRight((right, left) => hashChildren(left, right));
}

function hashRange(range: Range, read: ReadHash): Uint8Array {
  return foldFromRight(nodesOfRange(range).map(({ level, index }) => read(level, index)));
}

/** The ranges whose hashes lead from a leaf to the root, the leaf's neighbour first. */
function inclusionRanges(index: number, size: number): Range[] {
  requireSize(size);
  if (!Number.isSafeInteger(index) || index < 0 || index >= size) {
    throw new RangeError(`a tree of ${size} leaves has no leaf ${index}`);
  }
  const fromRoot: Range[] = [];
  let [begin, end] = [0, size];
  while (end - begin > 1) {
    const middle = begin + splitOf(end - begin);
    if (index < middle) {
      fromRoot.push({ begin: middle, end });
      end = middle;
    } else {
      fromRoot.push({ begin, end: middle });
      begin = middle;
    }
  }
  return fromRoot.reverse();
}

/** The ranges whose hashes show that the tree of `from` leaves is the beginning of that of `to`. */
function consistencyRanges(from: number, to: number): Range[] {
  requireSize(to);
  if (!Number.isSafeInteger(from) || from < 1 || from > to) {
    throw new RangeError(`no proof leads from ${from} to ${to} leaves`);
  }
  const fromRoot: Range[] = [];
  let [begin, end] = [0, to];
  while (end !== from) {
    const middle = begin + splitOf(end - begin);
    if (from <= middle) {
      fromRoot.push({ begin: middle, end });
      end = middle;
    } else {
      fromRoot.push({ begin, end: middle });
      begin = middle;
    }
  }
  // The checker holds the root of the smaller tree already when that tree is one complete node.
  if (begin > 0) fromRoot.push({ begin, end });
  return fromRoot.reverse();
}

/** The complete nodes that the root of a tree is made of: what must be read to compute it. */
export function nodesOfRoot(size: number): TreeNode[] {
  requireSize(size);
  return nodesOfRange({ begin: 0, end: size });
}

/** The complete nodes that an inclusion proof is made of. @throws RangeError for a leaf outside of the tree */
export function nodesOfInclusion(index: number, size: number): TreeNode[] {
  return inclusionRanges(index, size).flatMap(nodesOfRange);
}

/** The complete nodes that a consistency proof is made of. @throws RangeError unless 1 ≤ from ≤ to */
export function nodesOfConsistency(from: number, to: number): TreeNode[] {
  return consistencyRanges(from, to).flatMap(nodesOfRange);
}

/** The root of the tree's first `size` leaves, 32 bytes. */
export function rootOfSize(size: number, read: ReadHash): Uint8Array {
  requireSize(size);
  return hashRange({ begin: 0, end: size }, read);
}

/** Hashes that lead from a leaf to the root of the first `size` leaves (RFC 6962, 2.1.1). @throws RangeError */
export function inclusionProof(index: number, size: number, read: ReadHash): Uint8Array[] {
  return inclusionRanges(index, size).map((range) => hashRange(range, read));
}

/** Hashes that show one tree to be the beginning of another (RFC 6962, 2.1.2). @throws RangeError unless 1 ≤ from ≤ to */
export function consistencyProof(from: number, to: number, read: ReadHash): Uint8Array[] {
  return consistencyRanges(from, to).map((range) => hashRange(range, read));
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
