import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { verifyConsistency, verifyInclusion } from '#test/harness/read-log-proofs.ts';

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
