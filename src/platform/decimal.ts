/** Weights are kept in millionths, so that six decimals are exact. */
export const MICRO = 1_000_000n;

/** `1500000n` → `1.5`: the JSON number of a weight. Exact while the weight has at most 15 significant digits. */
export function microToNumber(micro: bigint): number {
  return Number(microToDecimal(micro));
}

/** `1500000n` → `"1.5"`, without trailing zeros. */
export function microToDecimal(micro: bigint): string {
  const negative = micro < 0n;
  const digits = (negative ? -micro : micro).toString().padStart(7, '0');
  const whole = digits.slice(0, -6);
  const fraction = digits.slice(-6).replace(/0+$/, '');
  return `${negative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`;
}

/** A JSON number with at most six decimals to millionths, or undefined when it has more. */
export function numberToMicro(value: number): bigint | undefined {
  const text = value.toString();
  const match = /^(-?)(\d+)(?:\.(\d{1,6}))?$/.exec(text);
  if (match === null) {
    // Numbers below 1e-6 are written with an exponent; 0.000001 is the only one of six decimals.
    return text === '0.000001' || text === '1e-6' ? 1n : undefined;
  }
  const [, sign = '', whole = '0', fraction = ''] = match;
  const micro = BigInt(whole) * MICRO + BigInt(fraction.padEnd(6, '0'));
  return sign === '-' ? -micro : micro;
}
