import { expect, test } from 'vitest';
import { packList } from '#src/ballots/block-encoding.ts';
import { BlockSpoilt, splitBlock } from '#src/ballots/box.ts';

const tags = Buffer.concat([Buffer.alloc(32, 1), Buffer.alloc(32, 2)]);
const entries = packList([Buffer.from('one'), Buffer.from('two')]);

test('gives each ballot of a block its entries, its tag and its weight, or the one that all of them share', () => {
  const shown = (weights: string[]) =>
    splitBlock(7, { entries, weights, tags }).map((ballot) => [
      ...[ballot.entries.toString(), ballot.codeTag[0], ballot.codeTag.length, ballot.weightMicro],
    ]);
  expect(shown(['5'])).toEqual([
    ['one', 1, 32, 5n],
    ['two', 2, 32, 5n],
  ]);
  expect(shown(['5', '6'])).toEqual([
    ['one', 1, 32, 5n],
    ['two', 2, 32, 6n],
  ]);
});

test.each([
  ['a list of entries that ends within one', { entries: entries.subarray(0, -1), weights: ['5'], tags }],
  ['fewer tags than entries', { entries, weights: ['5'], tags: tags.subarray(0, 32) }],
  ['a tag that is cut off', { entries, weights: ['5'], tags: Buffer.concat([tags, Buffer.alloc(5)]) }],
  ['more weights than ballots', { entries, weights: ['5', '6', '7'], tags }],
])('refuses a block with %s, and names its first leaf', (_what, block) => {
  expect(() => splitBlock(7, block)).toThrow(BlockSpoilt);
  expect(() => splitBlock(7, block)).toThrow('the block of ballots at 7 cannot be read');
});
