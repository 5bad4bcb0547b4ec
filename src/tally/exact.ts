import { requireThat } from './count-refused.ts';

/** Decimals of a weight: weights are held in millionths. */
export const WEIGHT_DECIMALS = 6;

const LARGEST_WHOLE = BigInt(Number.MAX_SAFE_INTEGER);

/** `scaledToDecimal(12_500_000n, 6)` → `"12.5"`: the exact decimal string, without trailing zeros. */
export function scaledToDecimal(value: bigint, decimals: number): string {
  const digits = (value < 0n ? -value : value).toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  return `${value < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`;
}

/** The JSON number of a whole figure; refuses one that a number cannot hold exactly. */
export function toWholeNumber(value: bigint): number {
  requireThat(value <= LARGEST_WHOLE && value >= -LARGEST_WHOLE, 'a figure is too large for an exact whole number');
  return Number(value);
}

/** The whole part of a figure that is not negative and has `decimals` decimals: cut down, never rounded up. */
export function cutToWholeNumber(value: bigint, decimals: number): number {
  return toWholeNumber(value / 10n ** BigInt(decimals));
}

/** The largest of the values, or `floor` if none is above it. */
export function largestAbove(floor: bigint, values: readonly bigint[]): bigint {
  let largest = floor;
  for (const value of values) {
    if (value > largest) {
      largest = value;
    }
  }
  return largest;
}

export function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  let [larger, smaller] = [a, b];
  while (smaller !== 0n) {
    [larger, smaller] = [smaller, larger % smaller];
  }
  return larger;
}
