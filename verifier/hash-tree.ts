import { sha256 } from './primitives.ts';

// The tree of RFC 6962, written separately for the verifier, which shares no code with the service that it checks.

const LEAF_MARK = Buffer.of(0x00);
const NODE_MARK = Buffer.of(0x01);

export const leafHash = (data: Uint8Array): Buffer => sha256(LEAF_MARK, data);
export const nodeHash = (left: Uint8Array, right: Uint8Array): Buffer => sha256(NODE_MARK, left, right);

/** Adds leaves one by one, and gives the root so far. Keeps only one hash for each level. */
export class GrowingTree {
  /** By level: the root of a full subtree that still lacks its right neighbour. */
  readonly #waiting: (Buffer | undefined)[] = [];
  size = 0;

  add(leaf: Buffer): void {
    let hash = leaf;
    let level = 0;
    for (let left = this.#waiting[level]; left !== undefined; left = this.#waiting[level]) {
      this.#waiting[level] = undefined;
      hash = nodeHash(left, hash);
      level += 1;
    }
    this.#waiting[level] = hash;
    this.size += 1;
  }

  root(): Buffer {
    let root: Buffer | undefined;
    for (const hash of this.#waiting) {
      if (hash !== undefined) root = root === undefined ? hash : nodeHash(hash, root);
    }
    return root ?? sha256();
  }
}

/** The root to which an inclusion proof leads (RFC 9162, 2.1.3.2); undefined if the proof is too short or too long. */
export function rootOfProof(leaf: Buffer, index: number, size: number, hashes: readonly Buffer[]): Buffer | undefined {
  let [place, last, root] = [index, size - 1, leaf];
  for (const hash of hashes) {
    if (last === 0) return undefined;
    if (place % 2 === 1 || place === last) {
      root = nodeHash(hash, root);
      while (place % 2 === 0 && place !== 0) [place, last] = [place / 2, Math.floor(last / 2)];
    } else {
      root = nodeHash(root, hash);
    }
    [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
  }
  return last === 0 ? root : undefined;
}
