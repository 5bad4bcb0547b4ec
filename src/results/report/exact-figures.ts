/** Decimals that comparisons of figures are made with: a transferable vote has eleven. */
const SCALE_DECIMALS = 12;

/** `"1.5"` → 1.5 × 10¹², exactly. Takes the decimal strings that a count gives. */
export function decimalToScaled(text: string): bigint {
  const [whole = '0', fraction = ''] = text.replace('-', '').split('.');
  const scaled = BigInt(whole + fraction.padEnd(SCALE_DECIMALS, '0').slice(0, SCALE_DECIMALS));
  return text.startsWith('-') ? -scaled : scaled;
}

/** `"1234567.5"` → `"1,234,567.5"`. */
export function groupDigits(text: string | number | bigint): string {
  const [whole = '', fraction] = String(text).split('.');
  const grouped = BigInt(whole).toLocaleString('en-US');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

/** part / whole with so many decimals, rounded half up, or undefined of nothing. Neither may be negative. */
export function quotient(part: bigint, whole: bigint, decimals: number): string | undefined {
  if (whole <= 0n || part < 0n) return undefined;
  const factor = 10n ** BigInt(decimals);
  const digits = ((part * factor * 2n + whole) / (whole * 2n)).toString().padStart(decimals + 1, '0');
  return decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/** part / whole as `33.3 %`, or a dash of nothing. */
export function percent(part: bigint, whole: bigint): string {
  const text = quotient(part * 100n, whole, 1);
  return text === undefined ? '–' : `${text} %`;
}
