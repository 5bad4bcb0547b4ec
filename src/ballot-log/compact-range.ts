import { EMPTY_ROOT, HASH_BYTES, hashChildren, type TreeNode } from './merkle-tree.ts';

const SIZE_BYTES = 8;

/** Called for every node that an append completes, the leaf first. */
type OnNode = (node: TreeNode, hash: Uint8Array) => void;

/**
 * The right edge of a growing tree: one hash for each 1 in the binary form of its size, the largest subtree first. That is
 * all that appending needs, so a log of any size grows from at most 53 hashes.
 */
export class CompactRange {
  #size = 0;
  readonly #subtrees: Uint8Array[] = [];

  get size(): number {
    return this.#size;
  }

  /** Appends one leaf hash of 32 bytes: as many node hashes as the tree has levels at most, one on average. */
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

  /** The root of all leaves so far, 32 bytes. */
  root(): Uint8Array {
    return this.#subtrees.length === 0
      ? EMPTY_ROOT
      : this.#subtrees.reduceRight((right, left) => hashChildren(left, right));
  }

  /** The size as 8 bytes, big-endian, then the hashes. */
  toBytes(): Buffer {
    const size = Buffer.alloc(SIZE_BYTES);
    size.writeBigUInt64BE(BigInt(this.#size));
    return Buffer.concat([size, ...this.#subtrees]);
  }

  /** @throws RangeError for bytes that are no frontier */
  static fromBytes(bytes: Uint8Array): CompactRange {
    const buffer = Buffer.from(bytes);
    const size = buffer.length < SIZE_BYTES ? undefined : buffer.readBigUInt64BE();
    if (size === undefined || size > Number.MAX_SAFE_INTEGER) throw new RangeError('these bytes are no frontier');
    const subtrees = size.toString(2).replaceAll('0', '').length;
    if (buffer.length !== SIZE_BYTES + subtrees * HASH_BYTES) throw new RangeError('these bytes are no frontier');
    const frontier = new CompactRange();
    frontier.#size = Number(size);
    for (let at = SIZE_BYTES; at < buffer.length; at += HASH_BYTES) {
      frontier.#subtrees.push(buffer.subarray(at, at + HASH_BYTES));
    }
    return frontier;
  }
}
