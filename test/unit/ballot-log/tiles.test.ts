import { expect, test } from 'vitest';
import {
  CompactRange,
  hashLeaf,
  inclusionProof,
  nodesOfInclusion,
  type TreeNode,
} from '#src/ballot-log/merkle-tree.ts';
import {
  encodeBundle,
  parseTilePath,
  readFromTiles,
  tilePath,
  tilesHolding,
  tileWidth,
} from '#src/ballot-log/tiles.ts';
import { decodeBundle, nodesOfRoot, rootOfSize, tilesOfTree, verifyInclusion } from '#test/harness/read-log-proofs.ts';
import { naiveRoot, someLeaves } from './naive-tree.ts';

const PATHS = [
  [{ level: 0, index: 1234067, width: 256 }, 'tile/0/x001/x234/067'],
  [{ level: 0, index: 0, width: 256 }, 'tile/0/000'],
  [{ level: 1, index: 999, width: 1 }, 'tile/1/999.p/1'],
  [{ level: 63, index: 1000, width: 255 }, 'tile/63/x001/000.p/255'],
  [{ level: 'entries', index: 67, width: 5 }, 'tile/entries/067.p/5'],
] as const;

test('a tile has the address that the format gives it', () => {
  for (const [tile, path] of PATHS) expect(tilePath(tile)).toBe(path);
});

test('the address of a tile is read back as the tile', () => {
  for (const [tile, path] of PATHS) expect(parseTilePath(path.slice('tile/'.length))).toEqual(tile);
});

test('a tile has no second address', () => {
  const others = [
    '00/000',
    '64/000',
    '-1/000',
    '0/0',
    '0/1234',
    '0/x000/001',
    '0/x001/x001',
    '0/001/001',
    '0/000.p/0',
    '0/000.p/256',
    '0/000.p/01',
    '0/000.p/',
    'entry/000',
    '0/000/',
    '0/000.p/5\n',
    `0/${'x999/'.repeat(6)}999`,
  ];
  for (const path of others) expect({ path, tile: parseTilePath(path) }).toEqual({ path, tile: undefined });
});

test('a tree of 70,000 leaves has the tiles that the format names as its example', () => {
  const tiles = tilesOfTree(70_000);
  expect(tiles.filter(({ level, width }) => level === 0 && width === 256)).toHaveLength(273);
  expect(tiles.filter(({ level, width }) => level === 1 && width === 256)).toHaveLength(1);
  expect(tiles.filter(({ width }) => width < 256)).toEqual([
    { level: 0, index: 273, width: 112 },
    { level: 1, index: 1, width: 17 },
    { level: 2, index: 0, width: 1 },
  ]);
  expect(tilesOfTree(256)).toEqual([
    { level: 0, index: 0, width: 256 },
    { level: 1, index: 0, width: 1 },
  ]);
  expect(tilesOfTree(0)).toEqual([]);
  expect(tileWidth('entries', 273, 70_000)).toBe(112);
  expect(tileWidth('entries', 274, 70_000)).toBe(0);
});

test('roots and proofs come out of the tiles alone, over three levels of them', () => {
  const size = 66_300;
  const leaves = someLeaves(size);
  const tiles = new Map<string, Uint8Array[]>();
  const frontier = new CompactRange();
  for (const leaf of leaves) {
    frontier.append(hashLeaf(leaf), ({ level, index }, hash) => {
      if (level % 8 !== 0) return;
      const name = `${level / 8}/${Math.floor(index / 256)}`;
      const tile = tiles.get(name);
      if (tile === undefined) tiles.set(name, [hash]);
      else tile.push(hash);
    });
  }
  const readHolding = (nodes: readonly TreeNode[]) => {
    const loaded = new Set(tilesHolding(nodes, size).map(({ level, index }) => `${level}/${index}`));
    return readFromTiles((level, index) => {
      const name = `${level}/${index}`;
      return loaded.has(name) ? Buffer.concat(tiles.get(name) ?? []) : undefined;
    });
  };
  const root = frontier.root();
  const read = readHolding(nodesOfRoot(size));
  expect(Buffer.from(rootOfSize(size, read)).equals(root)).toBe(true);
  for (const index of [0, 1, 255, 256, 65_535, 65_536, 66_048, size - 1]) {
    const hashes = inclusionProof(index, size, readHolding(nodesOfInclusion(index, size)));
    expect(verifyInclusion({ index, size, leafHash: hashLeaf(Buffer.from(`leaf ${index}`)), hashes, root })).toBe(true);
  }
  const early = rootOfSize(600, readHolding(nodesOfRoot(600)));
  expect(naiveRoot(leaves.slice(0, 600)).equals(early)).toBe(true);
});

test('a tile that is missing or too short is an error, never another hash', () => {
  const read = readFromTiles((level, index) => (level === 0 && index === 0 ? Buffer.alloc(64) : undefined));
  expect(read(0, 1)).toHaveLength(32);
  expect(() => read(0, 2)).toThrow(RangeError);
  expect(() => read(0, 256)).toThrow(RangeError);
});

test('a bundle is each entry after its length in two bytes, and gives the entries back', () => {
  const entries = [Buffer.from('a'), Buffer.alloc(0), Buffer.alloc(65_535, 7)];
  const bundle = encodeBundle(entries);
  expect([...bundle.subarray(0, 5)]).toEqual([0, 1, 0x61, 0, 0]);
  expect(decodeBundle(bundle).map((entry) => entry.toString('hex'))).toEqual(
    entries.map((entry) => entry.toString('hex')),
  );
  expect(decodeBundle(Buffer.alloc(0))).toEqual([]);
  expect(() => encodeBundle([Buffer.alloc(65_536)])).toThrow(RangeError);
  expect(() => decodeBundle(bundle.subarray(0, -1))).toThrow(RangeError);
  expect(() => decodeBundle(Buffer.of(0))).toThrow(RangeError);
});
