import { describe, expect, test } from 'vitest';
import { BitCounts } from '#src/tally/bit-counts.ts';
import { Rankings } from '#src/tally/rankings.ts';
import { createRandom } from '#test/second-count/random-elections.ts';
import { WHOLE } from './counting.ts';

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

const CANDIDATES = 8;

/** A different ranking for every number below 8^6 (candidates repeat, which grouping does not mind). */
function digits(number: number): Uint16Array {
  return Uint16Array.from({ length: 6 }, (_, place) => Math.floor(number / CANDIDATES ** place) % CANDIDATES);
}

describe('grouping of identical rankings', () => {
  test('identical rankings of one weight share a group, however many ballots and groups there are', () => {
    const rankings = new Rankings(CANDIDATES);
    for (let ballot = 0; ballot < 30_000; ballot += 1) rankings.add(digits(ballot % 3_000), 6, WHOLE, 1);
    expect(rankings.size).toBe(3_000);
    expect(rankings.heads.subarray(0, 3_000).every((heads) => heads === 10)).toBe(true);
  });

  test('a ranking, the beginning of it, and the same of another weight are three groups', () => {
    const rankings = new Rankings(CANDIDATES);
    for (let round = 0; round < 2; round += 1) {
      rankings.add(digits(7), 6, WHOLE, 1);
      rankings.add(digits(7), 5, WHOLE, 1);
      rankings.add(digits(7), 6, 2n * WHOLE, 1);
    }
    expect(rankings.size).toBe(3);
    expect(rankings.weights).toEqual([WHOLE, 2n * WHOLE]);
  });

  test('grouping goes on while it halves the groups, and ends where nearly every ballot is different', () => {
    const repeated = new Rankings(CANDIDATES);
    const different = new Rankings(CANDIDATES);
    for (let ballot = 0; ballot < 80_000; ballot += 1) {
      repeated.add(digits(ballot), 6, WHOLE, 2);
      different.add(digits(ballot), 6, WHOLE, 1);
    }
    repeated.add(digits(0), 6, WHOLE, 1);
    different.add(digits(0), 6, WHOLE, 1);
    expect(repeated.size).toBe(80_000);
    expect(different.size).toBe(80_001);
  });

  test('rankings that were announced are given room once, as soon as nearly each is known to be different', () => {
    const rankings = new Rankings(CANDIDATES);
    const ballots = 200_000;
    rankings.expect(ballots);
    const rooms = new Set<number>();
    for (let ballot = 0; ballot < ballots; ballot += 1) {
      rankings.add(digits(ballot), 6, WHOLE, 1);
      if (ballot > 2 ** 16) rooms.add(rankings.cells.length).add(rankings.heads.length);
    }
    expect(rankings.size).toBe(ballots);
    // Two of the columns as they were when grouping ended, and their last.
    expect(rooms.size).toBeLessThanOrEqual(4);
    expect(rankings.cells.length).toBeLessThan(rankings.end * 1.1);
    expect(rankings.heads.length).toBeLessThan(ballots * 1.1);
  });
});
