const LARGEST_WHOLE = BigInt(Number.MAX_SAFE_INTEGER);

/** The input of a count is impossible, for example a ballot that the method forbids. A bug: counting on could publish a wrong result. */
export class CountRefused extends Error {
  constructor(reason: string) {
    super(`The count refuses to go on: ${reason}.`);
    this.name = 'CountRefused';
  }
}

/** Throws `CountRefused` unless the condition holds. The reason names the rule, never a ballot's content. */
export function requireThat(condition: boolean, reason: string): asserts condition {
  if (!condition) throw new CountRefused(reason);
}

/** Always throws. For inner loops, in which calling `requireThat` for each entry would be too slow. @throws CountRefused */
export function refuseCount(reason: string): never {
  throw new CountRefused(reason);
}

/** Converts a whole figure to a JSON number. @throws CountRefused if it exceeds 2^53 − 1 in size and so would not be exact */
export function toWholeNumber(value: bigint): number {
  requireThat(value <= LARGEST_WHOLE && value >= -LARGEST_WHOLE, 'a figure is too large for an exact whole number');
  return Number(value);
}

/** The whole part of a non-negative figure with `decimals` decimals; never rounded up. */
export const cutToWholeNumber = (value: bigint, decimals: number): number =>
  toWholeNumber(value / 10n ** BigInt(decimals));

/** The largest of the values; 0 if none is above 0. */
export function largestOf(values: readonly bigint[]): bigint {
  let largest = 0n;
  for (const value of values) {
    if (value > largest) largest = value;
  }
  return largest;
}

export const compare = <T extends bigint | number | string>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);
