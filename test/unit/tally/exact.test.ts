import { describe, expect, test } from 'vitest';
import { greatestCommonDivisor, scaledToDecimal } from '#src/platform/decimal.ts';
import { CountRefused, cutToWholeNumber, toWholeNumber } from '#src/tally/exact.ts';
import { marks, position, result, values, votesOf, WHOLE, weightsOf } from './counting.ts';

describe('exact figures', () => {
  test.each([
    [12_500_000n, 6, '12.5'],
    [0n, 6, '0'],
    [3_000_000n, 6, '3'],
    [1n, 6, '0.000001'],
    [-4_000_000n, 6, '-4'],
    [-500_000n, 6, '-0.5'],
    [10n, 0, '10'],
    [100_000_000_000_000_000_000_000_001n, 6, '100000000000000000000.000001'],
  ])('%s with %s decimals is written %s, without zeros at the end', (value, decimals, text) => {
    expect(scaledToDecimal(value, decimals)).toBe(text);
  });

  test('a figure is cut down to a whole number, never rounded up', () => {
    expect(cutToWholeNumber(5_999_999n, 6)).toBe(5);
  });

  test('a figure that a JSON number cannot hold is refused rather than rounded', () => {
    expect(toWholeNumber(2n ** 53n - 1n)).toBe(9_007_199_254_740_991);
    expect(() => toWholeNumber(2n ** 53n)).toThrow(CountRefused);
  });

  test('the greatest common divisor of weights is the largest unit they are all multiples of', () => {
    expect(greatestCommonDivisor(12_000_000n, 4_500_000n)).toBe(1_500_000n);
    expect(greatestCommonDivisor(0n, 7n)).toBe(7n);
  });
});

describe('sums of weights', () => {
  test('weights of six decimals add up to the last decimal', () => {
    const counted = result(
      position('approval', 2),
      [
        [marks('a'), 1, 100_000n],
        [marks('ab'), 1, 200_000n],
        [marks('b'), 1, 1n],
      ],
      { wholeWeights: false },
    );
    expect(weightsOf(counted)).toEqual({ a: '0.3', b: '0.200001' });
    expect(votesOf(counted)).toEqual({ a: 2, b: 2 });
    expect(counted.totalVotes).toBe(4);
  });

  test('a weight multiplies a score once, however often the candidate was scored before', () => {
    const counted = result(position('score', 2), [
      [values({ a: 5, b: 2 }), 1, 3n * WHOLE],
      [values({ a: 1 }), 1, WHOLE],
    ]);
    expect(votesOf(counted)).toEqual({ a: 16, b: 6 });
    expect(weightsOf(counted)).toEqual({ a: '16', b: '6' });
    expect(counted.totalVotes).toBe(22);
  });

  test('five hundred different weights, more than get a row of their own, add up exactly', () => {
    const weights = Array.from({ length: 500 }, (_, index) => BigInt(index + 1) * 1_000_003n);
    const counted = result(
      position('score', 2),
      weights.map((weight) => [values({ a: 3, b: -1 }), 1, weight]),
      { wholeWeights: false },
    );
    const total = weights.reduce((sum, weight) => sum + weight, 0n);
    expect(weightsOf(counted)).toEqual({ a: scaledToDecimal(3n * total, 6), b: scaledToDecimal(-total, 6) });
    expect(votesOf(counted)).toEqual({ a: 1_500, b: -500 });
  });

  test('sums beyond 2^53 millionths stay exact', () => {
    const huge = 9_007_199_254_740_993n;
    const counted = result(position('approval', 1), [[marks('a'), 3, huge]], { wholeWeights: false });
    expect(weightsOf(counted)).toEqual({ a: '27021597764.222979' });
  });

  test('sums of values beyond 2^53 stay exact where they cancel out again', () => {
    const large = Number.MAX_SAFE_INTEGER;
    const counted = result(position('score', 1), [
      [values({ a: large }), 3],
      [values({ a: -large }), 2],
      [values({ a: -1 }), 1],
    ]);
    expect(votesOf(counted)).toEqual({ a: large - 1 });
  });

  test('weights said to be whole that are not are refused, not cut', () => {
    expect(() => result(position('plurality', 1), [[marks('a'), 1, 1_500_000n]])).toThrow(CountRefused);
    expect(() => result(position('ranked_choice', 1), [[marks('a'), 1, 1_500_000n]])).toThrow(CountRefused);
  });
});
