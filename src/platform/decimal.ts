/** Decimals of a weight. Weights are stored as integers in millionths. */
export const WEIGHT_DECIMALS = 6;
export const MICRO = 10n ** BigInt(WEIGHT_DECIMALS);

/** `1500000n` → `1.5`: the JSON number of a weight. Exact while the weight has at most 15 significant digits. */
export function microToNumber(micro: bigint): number {
  return Number(microToDecimal(micro));
}

/** `scaledToDecimal(12_500_000n, 6)` → `"12.5"`: the exact decimal string, without trailing zeros. */
export function scaledToDecimal(value: bigint, decimals: number): string {
  const digits = (value < 0n ? -value : value).toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const [fraction = ''] = /^\d*[1-9]/.exec(digits.slice(digits.length - decimals)) ?? [];
  return `${value < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`;
}

/** `1500000n` → `"1.5"`. */
export const microToDecimal = (micro: bigint): string => scaledToDecimal(micro, WEIGHT_DECIMALS);

/** A share with six decimals; 0 if `whole` is 0. For display only, because no decision may depend on a rounded share. */
export function shareOf(part: bigint, whole: bigint): number {
  return whole === 0n ? 0 : Number((part * MICRO) / whole) / Number(MICRO);
}

/** Converts a JSON number with at most six decimals to millionths; undefined if it has more decimals. */
export function numberToMicro(value: number): bigint | undefined {
  const text = value.toString();
  const match = /^(-?)(\d+)(?:\.(\d{1,6}))?$/.exec(text);
  if (match === null) {
    // JavaScript writes numbers below 1e-6 with an exponent. The smallest weight, 0.000001, is accepted in either notation.
    return text === '0.000001' || text === '1e-6' ? 1n : undefined;
  }
  const [, sign = '', whole = '0', fraction = ''] = match;
  const micro = BigInt(whole) * MICRO + BigInt(fraction.padEnd(6, '0'));
  return sign === '-' ? -micro : micro;
}

export function greatestCommonDivisor(one: bigint, other: bigint): bigint {
  let [left, right] = [one, other];
  while (right !== 0n) [left, right] = [right, left % right];
  return left;
}
