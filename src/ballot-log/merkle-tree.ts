import { hash } from 'node:crypto';

/**
 * The hash tree of RFC 6962, section 2.1: a leaf is SHA-256(0x00 ‖ data), a node SHA-256(0x01 ‖ left ‖ right), the root of
 * no leaves SHA-256(""). A complete node, with 2^level leaves below it, is identified by its level (0 for leaves) and its
 * index in the level, and never changes. Incomplete nodes are never stored or identified.
 */
export const HASH_BYTES = 32;

const LEAF = 0x00;
const NODE = 0x01;
/** A higher subtree would have more leaves than a safe integer can count. */
const MAX_LEVEL = 52;

export interface TreeNode {
  readonly level: number;
  readonly index: number;
}

/** Reads the hash of a complete node. */
export type ReadHash = (level: number, index: number) => Uint8Array;

interface Range {
  readonly begin: number;
  readonly end: number;
}

const sha256 = (bytes: Uint8Array): Buffer => hash('sha256', bytes, 'buffer');

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

export const equalHashes = (left: Uint8Array, right: Uint8Array): boolean => Buffer.compare(left, right) === 0;

function requireSize(size: number): void {
  if (!Number.isSafeInteger(size) || size < 0) throw new RangeError(`a tree cannot have ${size} leaves`);
}

/** The largest power of two below `width` (at least 2). RFC 6962 splits a range of leaves at this number of leaves. */
function splitOf(width: number): number {
  let split = 1;
  while (split * 2 < width) split *= 2;
  return split;
}

/** Splits a range into complete nodes from left to right. In the ranges of proofs, the nodes get smaller to the right. */
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

const foldFromRight = (hashes: readonly Uint8Array[]): Uint8Array =>
  hashes.length === 0 ? EMPTY_ROOT : hashes.reduceRight((right, left) => hashChildren(left, right));

const hashRange = (range: Range, read: ReadHash): Uint8Array =>
  foldFromRight(nodesOfRange(range).map(({ level, index }) => read(level, index)));

/** Descends from the root towards a leaf until `isLast` accepts the range. @returns this range, and the path's siblings, nearest first */
function rangesBeside(size: number, isLast: (range: Range) => boolean, leaf: number): { beside: Range[]; last: Range } {
  const fromRoot: Range[] = [];
  let last: Range = { begin: 0, end: size };
  while (!isLast(last)) {
    const middle = last.begin + splitOf(last.end - last.begin);
    const [left, right] = [
      { begin: last.begin, end: middle },
      { begin: middle, end: last.end },
    ];
    fromRoot.push(leaf < middle ? right : left);
    last = leaf < middle ? left : right;
  }
  return { beside: fromRoot.reverse(), last };
}

/** The ranges whose hashes lead from a leaf to the root, the leaf's sibling first. */
function inclusionRanges(index: number, size: number): Range[] {
  requireSize(size);
  if (!Number.isSafeInteger(index) || index < 0 || index >= size)
    throw new RangeError(`a tree of ${size} leaves has no leaf ${index}`);
  return rangesBeside(size, ({ begin, end }) => end - begin === 1, index).beside;
}

/** The ranges whose hashes prove that the tree of `from` leaves is a prefix of the tree of `to` leaves. */
function consistencyRanges(from: number, to: number): Range[] {
  requireSize(to);
  if (!Number.isSafeInteger(from) || from < 1 || from > to)
    throw new RangeError(`no proof leads from ${from} to ${to} leaves`);
  const { beside, last } = rangesBeside(to, ({ end }) => end === from, from - 1);
  // If the smaller tree is one complete node, the verifier already has its hash: the root.
  return last.begin === 0 ? beside : [last, ...beside];
}

/** The complete nodes from which an inclusion proof is computed. @throws RangeError for a leaf outside of the tree */
export const nodesOfInclusion = (index: number, size: number): TreeNode[] =>
  inclusionRanges(index, size).flatMap(nodesOfRange);

/** The complete nodes from which a consistency proof is computed. @throws RangeError unless 1 ≤ from ≤ to */
export const nodesOfConsistency = (from: number, to: number): TreeNode[] =>
  consistencyRanges(from, to).flatMap(nodesOfRange);

/** The complete nodes from which the root of the first `size` leaves is computed. */
export const nodesOfPrefix = (size: number): TreeNode[] => nodesOfRange({ begin: 0, end: size });

/** The root of the first `size` leaves (at least 1) of a longer tree. */
export const rootOfPrefix = (size: number, read: ReadHash): Uint8Array => hashRange({ begin: 0, end: size }, read);

/** Hashes that lead from a leaf to the root of the first `size` leaves (RFC 6962, 2.1.1). @throws RangeError */
export const inclusionProof = (index: number, size: number, read: ReadHash): Uint8Array[] =>
  inclusionRanges(index, size).map((range) => hashRange(range, read));

/** Whether a leaf is at an index of the tree with this size and root. `read` need not be trusted: false nodes lead to another root. */
export function leadsToRoot(
  leafHash: Uint8Array,
  index: number,
  size: number,
  read: ReadHash,
  root: Uint8Array,
): boolean {
  const own = inclusionRanges(index, size).reduce((hash, range) => {
    const neighbour = hashRange(range, read);
    return range.begin > index ? hashChildren(hash, neighbour) : hashChildren(neighbour, hash);
  }, leafHash);
  return equalHashes(own, root);
}

/** Hashes that prove one tree to be a prefix of another (RFC 6962, 2.1.2). @throws RangeError unless 1 ≤ from ≤ to */
export const consistencyProof = (from: number, to: number, read: ReadHash): Uint8Array[] =>
  consistencyRanges(from, to).map((range) => hashRange(range, read));

const SIZE_BYTES = 8;

/** Called for every node that an append completes, the leaf first. */
type OnNode = (node: TreeNode, hash: Uint8Array) => void;

/** The frontier (right edge) of a growing tree, enough for an append: a hash for each 1 in its binary size, largest subtree first. */
export class CompactRange {
  #size = 0;
  readonly #subtrees: Uint8Array[] = [];

  get size(): number {
    return this.#size;
  }

  /** Appends one leaf hash of 32 bytes. Computes at most one node hash per level of the tree, one on average. */
  append(leafHash: Uint8Array, onNode?: OnNode): void {
    if (leafHash.length !== HASH_BYTES) throw new RangeError(`a leaf hash has ${HASH_BYTES} bytes`);
    if (this.#size === Number.MAX_SAFE_INTEGER) throw new RangeError('the tree is full');
    let node: TreeNode = { level: 0, index: this.#size };
    let hash = leafHash;
    onNode?.(node, hash);
    while (node.index % 2 === 1) {
      const left = this.#subtrees.pop();
      if (left === undefined) throw new Error('a frontier lacks a subtree that its size names');
      hash = hashChildren(left, hash);
      node = { level: node.level + 1, index: (node.index - 1) / 2 };
      onNode?.(node, hash);
    }
    this.#subtrees.push(hash);
    this.#size += 1;
  }

  root(): Uint8Array {
    return foldFromRight(this.#subtrees);
  }

  /** The size as 8 bytes, big-endian, then the hashes. */
  toBytes(): Buffer {
    const size = Buffer.alloc(SIZE_BYTES);
    size.writeBigUInt64BE(BigInt(this.#size));
    return Buffer.concat([size, ...this.#subtrees]);
  }

  /** @throws RangeError if the bytes are not a stored frontier (`toBytes`) */
  static fromBytes(bytes: Uint8Array): CompactRange {
    const buffer = Buffer.from(bytes);
    const size = buffer.length < SIZE_BYTES ? undefined : buffer.readBigUInt64BE();
    if (size === undefined || size > Number.MAX_SAFE_INTEGER) throw new RangeError('these bytes are no frontier');
    const subtrees = size.toString(2).replaceAll('0', '').length;
    if (buffer.length !== SIZE_BYTES + subtrees * HASH_BYTES) throw new RangeError('these bytes are no frontier');
    const frontier = new CompactRange();
    frontier.#size = Number(size);
    for (let at = SIZE_BYTES; at < buffer.length; at += HASH_BYTES)
      frontier.#subtrees.push(buffer.subarray(at, at + HASH_BYTES));
    return frontier;
  }
}
