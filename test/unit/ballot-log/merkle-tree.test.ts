import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  CompactRange,
  consistencyProof,
  EMPTY_ROOT,
  hashLeaf,
  inclusionProof,
  nodesOfConsistency,
  nodesOfInclusion,
  nodesOfPrefix,
  type ReadHash,
  rootOfPrefix,
} from '#src/ballot-log/merkle-tree.ts';
import { nodesOfRoot, rootOfSize, verifyConsistency, verifyInclusion } from '#test/harness/read-log-proofs.ts';
import { naiveLeaf, naiveRoot, someLeaves } from './naive-tree.ts';

const LARGEST = 300;
/** Every proof up to this size is tried. */
const EXHAUSTIVE = 64;

const leaves = someLeaves(LARGEST);
const roots = Array.from({ length: LARGEST + 1 }, (_, size) => naiveRoot(leaves.slice(0, size)));
const rootAt = (size: number): Buffer => roots[size] ?? Buffer.alloc(0);
const leafAt = (index: number): Buffer => naiveLeaf(leaves[index] ?? Buffer.alloc(0));

const nodes = new Map<string, Uint8Array>();
const grown = new CompactRange();
for (const leaf of leaves) {
  grown.append(hashLeaf(leaf), ({ level, index }, hash) => nodes.set(`${level}/${index}`, hash));
}

/** Reads complete nodes, and refuses those that a tree of `size` leaves does not have yet. */
function readUpTo(size: number): ReadHash {
  return (level, index) => {
    const hash = nodes.get(`${level}/${index}`);
    if (hash === undefined || (index + 1) * 2 ** level > size) throw new Error(`no node ${level}/${index} at ${size}`);
    return hash;
  };
}

/** Reads only what was announced: a caller that loads the announced nodes in one trip must need no more. */
function readOnly(announced: readonly { level: number; index: number }[], size: number): ReadHash {
  const names = new Set(announced.map(({ level, index }) => `${level}/${index}`));
  return (level, index) => {
    if (!names.has(`${level}/${index}`)) throw new Error(`node ${level}/${index} was not announced`);
    return readUpTo(size)(level, index);
  };
}

describe('the root', () => {
  test(`equals the recursive definition for every size from 0 to ${LARGEST}, appended and read`, () => {
    const frontier = new CompactRange();
    for (let size = 0; size <= LARGEST; size += 1) {
      expect(frontier.size).toBe(size);
      expect(Buffer.from(frontier.root()).equals(rootAt(size))).toBe(true);
      expect(Buffer.from(rootOfSize(size, readOnly(nodesOfRoot(size), size))).equals(rootAt(size))).toBe(true);
      const next = leaves[size];
      if (next !== undefined) frontier.append(hashLeaf(next));
    }
  });

  test('of the first leaves of a longer tree is that of a tree of these leaves, read from the nodes that were announced', () => {
    for (let size = 1; size <= LARGEST; size += 1)
      expect(Buffer.from(rootOfPrefix(size, readOnly(nodesOfPrefix(size), LARGEST))).equals(rootAt(size))).toBe(true);
  });

  test('of no leaves is the hash of nothing', () => {
    expect(Buffer.from(EMPTY_ROOT).toString('hex')).toBe(
      'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    );
  });

  test('tells a leaf from a node with the same bytes', () => {
    const pair = Buffer.concat([leafAt(0), leafAt(1)]);
    expect(hashLeaf(pair).equals(rootAt(2))).toBe(false);
  });
});

describe('the frontier', () => {
  test('goes on from its bytes as if it had never been put away, at every size', () => {
    let frontier = new CompactRange();
    for (let size = 0; size < LARGEST; size += 1) {
      const bytes = frontier.toBytes();
      frontier = CompactRange.fromBytes(bytes);
      expect(frontier.toBytes().equals(bytes)).toBe(true);
      frontier.append(leafAt(size));
      expect(Buffer.from(frontier.root()).equals(rootAt(size + 1))).toBe(true);
    }
  });

  test('names each completed node exactly once', () => {
    const seen: string[] = [];
    const frontier = new CompactRange();
    for (const leaf of leaves) frontier.append(hashLeaf(leaf), ({ level, index }) => seen.push(`${level}/${index}`));
    const expected = [0, 1, 2, 3, 4, 5, 6, 7, 8].flatMap((level) =>
      Array.from({ length: Math.floor(LARGEST / 2 ** level) }, (_, index) => `${level}/${index}`),
    );
    expect(seen.toSorted()).toEqual(expected.toSorted());
  });

  test('refuses bytes that are not its own', () => {
    const bytes = grown.toBytes();
    for (const wrong of [Buffer.alloc(0), bytes.subarray(0, -1), Buffer.concat([bytes, Buffer.alloc(32)])]) {
      expect(() => CompactRange.fromBytes(wrong)).toThrow(RangeError);
    }
    expect(() => CompactRange.fromBytes(Buffer.alloc(8, 0xff))).toThrow(RangeError);
    expect(() => new CompactRange().append(Buffer.alloc(31))).toThrow(RangeError);
  });
});

describe('an inclusion proof', () => {
  test(`proves every leaf of every tree up to ${EXHAUSTIVE} leaves, and no other leaf, index, size or root`, () => {
    for (let size = 1; size <= EXHAUSTIVE; size += 1) {
      for (let index = 0; index < size; index += 1) {
        const hashes = inclusionProof(index, size, readOnly(nodesOfInclusion(index, size), size));
        const proof = { index, size, leafHash: leafAt(index), hashes, root: rootAt(size) };
        expect(verifyInclusion(proof)).toBe(true);
        expect(verifyInclusion({ ...proof, leafHash: leafAt(index + 1) })).toBe(false);
        expect(verifyInclusion({ ...proof, root: rootAt(size + 1) })).toBe(false);
        expect(verifyInclusion({ ...proof, hashes: [...hashes, leafAt(0)] })).toBe(false);
        if (size > 1) {
          expect(verifyInclusion({ ...proof, index: (index + 1) % size })).toBe(false);
          expect(verifyInclusion({ ...proof, hashes: hashes.slice(1) })).toBe(false);
          expect(verifyInclusion({ ...proof, hashes: hashes.slice(0, -1) })).toBe(false);
        }
      }
    }
  });

  test('is refused where it is malformed', () => {
    const proof = { index: 0, size: 1, leafHash: leafAt(0), hashes: [], root: rootAt(1) };
    expect(verifyInclusion(proof)).toBe(true);
    for (const wrong of [
      { index: -1 },
      { index: 0.5 },
      { size: 0 },
      { size: Number.NaN },
      { root: Buffer.alloc(31) },
    ]) {
      expect(verifyInclusion({ ...proof, ...wrong })).toBe(false);
    }
  });

  test('is not made for a leaf outside of the tree', () => {
    const outside = [
      [0, 0],
      [5, 5],
      [-1, 5],
      [1.5, 5],
    ] as const;
    for (const [index, size] of outside) expect(() => inclusionProof(index, size, readUpTo(size))).toThrow(RangeError);
  });
});

describe('a consistency proof', () => {
  test(`proves every pair of sizes up to ${EXHAUSTIVE} leaves, and no other root or size`, () => {
    for (let to = 1; to <= EXHAUSTIVE; to += 1) {
      for (let from = 1; from <= to; from += 1) {
        const hashes = consistencyProof(from, to, readOnly(nodesOfConsistency(from, to), to));
        const proof = { from, to, fromRoot: rootAt(from), toRoot: rootAt(to), hashes };
        expect(verifyConsistency(proof)).toBe(true);
        expect(verifyConsistency({ ...proof, fromRoot: rootAt(from + 1) })).toBe(false);
        expect(verifyConsistency({ ...proof, toRoot: rootAt(to + 1) })).toBe(false);
        expect(verifyConsistency({ ...proof, hashes: [...hashes, leafAt(0)] })).toBe(false);
        if (from < to) {
          expect(verifyConsistency({ ...proof, from: from + 1 })).toBe(false);
          expect(verifyConsistency({ ...proof, hashes: hashes.slice(0, -1) })).toBe(false);
        }
      }
    }
  });

  test('is neither made nor accepted from an empty tree, of which it would show nothing', () => {
    expect(() => consistencyProof(0, 3, readUpTo(3))).toThrow(RangeError);
    expect(() => consistencyProof(4, 3, readUpTo(3))).toThrow(RangeError);
    const proof = { from: 0, to: 3, fromRoot: rootAt(0), toRoot: rootAt(3), hashes: [] };
    expect(verifyConsistency(proof)).toBe(false);
  });
});

interface Vector {
  readonly proof: readonly string[] | null;
  readonly wantErr: boolean;
  readonly file: string;
}

interface InclusionVector extends Vector {
  readonly leafIdx: number;
  readonly treeSize: number;
  readonly root: string;
  readonly leafHash: string;
}

interface ConsistencyVector extends Vector {
  readonly size1: number;
  readonly size2: number;
  readonly root1: string;
  readonly root2: string;
}

interface Vectors {
  readonly inclusion: readonly InclusionVector[];
  readonly consistency: readonly ConsistencyVector[];
}

const FILE = path.resolve(import.meta.dirname, '../../../../shared/cases/merkle-vectors.json');
const bytes = (base64: string): Buffer => Buffer.from(base64, 'base64');

function readVectors(): Vectors {
  if (!existsSync(FILE)) {
    console.info('merkle vectors: the folder of shared cases is absent, none were run');
    return { inclusion: [], consistency: [] };
  }
  const vectors = JSON.parse(readFileSync(FILE, 'utf8')) as Vectors;
  console.info(
    `merkle vectors: ${vectors.inclusion.length} of inclusion, ${vectors.consistency.length} of consistency`,
  );
  return vectors;
}

const vectors = readVectors();

test('every published inclusion proof is accepted if it is right and refused if it is not', () => {
  const wrong = vectors.inclusion.filter(
    ({ leafIdx, treeSize, root, leafHash, proof, wantErr }) =>
      verifyInclusion({
        index: leafIdx,
        size: treeSize,
        leafHash: bytes(leafHash),
        hashes: (proof ?? []).map(bytes),
        root: bytes(root),
      }) === wantErr,
  );
  expect(wrong.map(({ file }) => file)).toEqual([]);
});

test('every published consistency proof is accepted if it is right and refused if it is not', () => {
  const wrong = vectors.consistency.filter(
    ({ size1, size2, root1, root2, proof, wantErr }) =>
      verifyConsistency({
        from: size1,
        to: size2,
        fromRoot: bytes(root1),
        toRoot: bytes(root2),
        hashes: (proof ?? []).map(bytes),
      }) === wantErr,
  );
  expect(wrong.map(({ file }) => file)).toEqual([]);
});
