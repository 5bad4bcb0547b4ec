import { expect, test } from 'vitest';
import { BitCounts } from '#src/tally/bit-counts.ts';
import { createRandom } from '#test/second-count/random-elections.ts';

const [ROWS, BITS] = [3, 32];

test.each([0, 1, 7, 8, 9, 1_000, 5_000])('counts the bits of %i masks a row exactly', (masks) => {
  const random = createRandom(masks);
  const counts = new BitCounts(ROWS);
  const expected = Array.from({ length: ROWS }, () => new Array<number>(BITS).fill(0));
  for (let mask = 0; mask < masks; mask += 1) {
    const column = counts.next();
    for (const [row, bits] of expected.entries()) {
      // The last row gets a mask now and then only, the first one mostly full ones: counts of every size.
      if (row === 2 && random(3) > 0) continue;
      const word = (random(2 ** 16) * 2 ** 16 + random(2 ** 16)) | (row === 0 ? -2 : 0);
      counts.waiting[row * counts.stride + column] = word;
      for (let bit = 0; bit < BITS; bit += 1) bits[bit] = (bits[bit] ?? 0) + ((word >>> bit) & 1);
    }
  }
  expect(expected.map((bits, row) => bits.map((_, bit) => counts.count(row, bit)))).toEqual(expected);
});

test('goes on counting after it was asked', () => {
  const counts = new BitCounts(1);
  for (let mask = 1; mask <= 20; mask += 1) {
    counts.waiting[counts.next()] = 0b10;
    expect([counts.count(0, 0), counts.count(0, 1)]).toEqual([0, mask]);
  }
});
