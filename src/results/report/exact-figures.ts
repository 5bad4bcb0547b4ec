import type { VotingEvent } from '#src/voting-events/voting-event.ts';

/** Decimals with which figures are compared. A tally of a transferable vote has eleven. */
export const SCALE_DECIMALS = 12;

/** Converts a decimal string of a count exactly: `"1.5"` → 1.5 × 10¹². */
export function decimalToScaled(text: string): bigint {
  const [whole = '0', fraction = ''] = text.replace('-', '').split('.');
  const scaled = BigInt(whole + fraction.padEnd(SCALE_DECIMALS, '0').slice(0, SCALE_DECIMALS));
  return text.startsWith('-') ? -scaled : scaled;
}

/** part / whole with `decimals` decimals, rounded half up; undefined unless `whole` is above 0. */
export function quotient(part: bigint, whole: bigint, decimals: number): string | undefined {
  if (whole <= 0n) return undefined;
  if (part < 0n) return `-${quotient(-part, whole, decimals)}`;
  const factor = 10n ** BigInt(decimals);
  const digits = ((part * factor * 2n + whole) / (whole * 2n)).toString().padStart(decimals + 1, '0');
  return decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

export type Language = VotingEvent['language'];

/** Replaces the narrow no-break space of some languages by a no-break space, which every font face has. */
const plainSpaces = (text: string): string => text.replaceAll('\u202f', '\u00a0');

export function formatsOf(language: Language) {
  const locale = language === 'en' ? 'en-GB' : language;
  const wholes = new Intl.NumberFormat(locale);
  const point = wholes.formatToParts(0.5).find(({ type }) => type === 'decimal')?.value ?? '.';
  /** Groups the digits of an exact decimal, and keeps all: `"1234567.5"` → `"1,234,567.5"`, `"1.234.567,5"`. */
  const digits = (figure: string | number | bigint): string => {
    const text = String(figure);
    // Handle the sign separately: BigInt("-0") would lose the sign of "-0.5".
    const [whole = '', fraction] = text.replace('-', '').split('.');
    const grouped = plainSpaces(wholes.format(BigInt(whole)));
    return `${text.startsWith('-') ? '-' : ''}${grouped}${fraction === undefined ? '' : `${point}${fraction}`}`;
  };
  return {
    language,
    digits,
    /** part / whole as `33.3 %`; a dash if `whole` is 0 or `part` is negative. */
    percent: (part: bigint, whole: bigint): string => {
      const text = part < 0n ? undefined : quotient(part * 100n, whole, 1);
      return text === undefined ? '–' : `${digits(text)} %`;
    },
    /** `21 November 2026, 08:15 GMT+01:00`, in the event's time zone; a dash for null. */
    date: (timeMs: number | null, timeZone: string): string => {
      if (timeMs === null) return '–';
      const format = new Intl.DateTimeFormat(locale, {
        timeZone,
        day: 'numeric',
        month: 'long',
        year: 'numeric',
        hour: '2-digit',
        minute: '2-digit',
        timeZoneName: 'longOffset',
      });
      return plainSpaces(format.format(timeMs).replace(' at ', ', '));
    },
  };
}
