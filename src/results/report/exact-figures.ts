import type { VotingEvent } from '#src/voting-events/voting-event.ts';

/** Decimals that comparisons of figures are made with: a transferable vote has eleven. */
export const SCALE_DECIMALS = 12;

/** `"1.5"` → 1.5 × 10¹², exactly. Takes the decimal strings that a count gives. */
export function decimalToScaled(text: string): bigint {
  const [whole = '0', fraction = ''] = text.replace('-', '').split('.');
  const scaled = BigInt(whole + fraction.padEnd(SCALE_DECIMALS, '0').slice(0, SCALE_DECIMALS));
  return text.startsWith('-') ? -scaled : scaled;
}

/** part / whole with so many decimals, rounded half up, or undefined of nothing. */
export function quotient(part: bigint, whole: bigint, decimals: number): string | undefined {
  if (whole <= 0n) return undefined;
  if (part < 0n) return `-${quotient(-part, whole, decimals)}`;
  const factor = 10n ** BigInt(decimals);
  const digits = ((part * factor * 2n + whole) / (whole * 2n)).toString().padStart(decimals + 1, '0');
  return decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

export type Language = VotingEvent['language'];

/** How figures and moments are written in a language. */
export interface Formats {
  readonly language: Language;
  /** `"1234567.5"` → `"1,234,567.5"`, `"1.234.567,5"`: every digit of an exact decimal. */
  readonly digits: (figure: string | number | bigint) => string;
  /** part / whole as `33.3 %`, or a dash of nothing. */
  readonly percent: (part: bigint, whole: bigint) => string;
  /** `21 November 2026, 08:15 GMT+01:00`, in the zone of the event; a dash where there is no such moment. */
  readonly date: (timeMs: number | null, timeZone: string) => string;
}

/** A space that a line does not break at and that every face has, where a language has a narrower one. */
const plainSpaces = (text: string): string => text.replaceAll('\u202f', '\u00a0');

export function formatsOf(language: Language): Formats {
  const locale = language === 'en' ? 'en-GB' : language;
  const wholes = new Intl.NumberFormat(locale);
  const point = wholes.formatToParts(0.5).find(({ type }) => type === 'decimal')?.value ?? '.';
  const digits: Formats['digits'] = (figure) => {
    const text = String(figure);
    // The sign stands apart: of "-0.5" the whole part alone would lose it.
    const [whole = '', fraction] = text.replace('-', '').split('.');
    const grouped = plainSpaces(wholes.format(BigInt(whole)));
    return `${text.startsWith('-') ? '-' : ''}${grouped}${fraction === undefined ? '' : `${point}${fraction}`}`;
  };
  return {
    language,
    digits,
    percent: (part, whole) => {
      const text = part < 0n ? undefined : quotient(part * 100n, whole, 1);
      return text === undefined ? '–' : `${digits(text)} %`;
    },
    date: (timeMs, timeZone) => {
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
