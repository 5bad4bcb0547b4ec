/** Maximum UTF-16 units of raw text for each code point of the limit: NFC may compose four code points, of up to two units, into one. */
const RAW_FOR_EACH = 8;
/** Combining marks on one letter. No script needs so many, and normalising a run of marks takes quadratic time. */
const MAX_MARKS = 30;
const TOO_MANY_MARKS = new RegExp(`\\p{M}{${MAX_MARKS + 1}}`, 'u');

/** Why a text must not be normalised; undefined if it may be. Call it before `normaliseText`, which some texts would slow down (attack). */
export function rawTextFault(text: string, maxLength: number): string | undefined {
  if (text.trim().length > RAW_FOR_EACH * maxLength) return `must have at most ${maxLength} characters`;
  if (TOO_MANY_MARKS.test(text)) return `must not have more than ${MAX_MARKS} combining marks in a row`;
  return undefined;
}

/** The normalisation of every incoming string (completions 1.4). Call after `rawTextFault` found no fault. */
export function normaliseText(text: string): string {
  return text.trim().normalize('NFC');
}

export function codePointLength(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

// Line breaks and tabs are allowed in descriptions. In a name, a line break could forge a line in a mail or a report.
const CONTROL = /\p{Cc}/u;
const CONTROL_BUT_LINE_BREAKS = /[^\P{Cc}\n\r\t]/u;
const BIDI_OVERRIDE = /[\u202A-\u202E\u2066-\u2069]/u;
// The Braille blank counts as a symbol by its category, but is invisible. Marks without a letter do not count as visible.
const VISIBLE = /[^\p{C}\p{Z}\p{M}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** The fault of a longer text, which may have line breaks, in words; undefined for a valid text. */
export function paragraphFault(text: string, control = CONTROL_BUT_LINE_BREAKS): string | undefined {
  if (control.test(text)) return 'must not hold control characters';
  return BIDI_OVERRIDE.test(text) ? 'must not hold characters that reorder text' : undefined;
}

/** The fault of a name or title in words; undefined for a valid text. */
export const nameFault = (text: string): string | undefined =>
  paragraphFault(text, CONTROL) ?? (VISIBLE.test(text) ? undefined : 'must hold at least one visible character');

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
}

/** From this length on, a search matches inside of words. A shorter one would match too much: it matches only the beginning of words. */
const SHORTEST_INSIDE = 3;

/** The form in which texts are searched; `fold_text` in the database gives the same form. */
export const foldText = (text: string): string => text.toLowerCase().replaceAll('ς', 'σ').replaceAll('ß', 'ss');

/** Whether a search is so short that it matches only the beginning of words (completions 3). */
export function isShortSearch(search: string): boolean {
  return codePointLength(search) < SHORTEST_INSIDE;
}

/** Whether a text matches the `search` of a list. For rows in memory; `holdsText` is the same rule in SQL. */
export function textHolds(text: string, search: string): boolean {
  if (!isShortSearch(search)) return foldText(text).includes(foldText(search));
  // Escapes each sign as a code point: with the flag `u`, a backslash is allowed before few characters only.
  const literal = foldText(search).replace(/[^\p{L}\p{N}\s]/gu, (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`);
  return new RegExp(`(^|[^\\p{L}\\p{N}])${literal}`, 'u').test(foldText(text));
}

/** A code in the form in which the service issues it; then `readTyped` only removes dashes. */
const AS_GIVEN = /^[0-9A-HJKMNP-TV-Z-]*$/;

/** Reads base32 as people type it, by Crockford's rules: any case, no dashes or spaces, O is 0, I and L are 1. */
export function readTyped(text: string): string {
  if (AS_GIVEN.test(text)) return text.replaceAll('-', '');
  return text.toUpperCase().replace(/[\s-]/g, '').replaceAll('O', '0').replace(/[IL]/g, '1');
}

const COUNTRY_CODES = new Set(
  'AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW'.split(
    ' ',
  ),
);

/** The fault of an ISO 3166-1 alpha-2 code in words. Upper and lower case are valid, but only in ASCII: a dotless ı is not an I. */
export const countryCodeFault = (text: string): string | undefined =>
  /^[A-Za-z]{2}$/.test(text) && COUNTRY_CODES.has(text.toUpperCase())
    ? undefined
    : 'must be a two-letter country code (ISO 3166-1)';

export const MAX_URL_LENGTH = 2_048;

/** The fault of an absolute web address of any host, or undefined. */
export function addressFault(text: string): string | undefined {
  if (codePointLength(text) > MAX_URL_LENGTH) return `must have at most ${MAX_URL_LENGTH} characters`;
  if (/[\p{Cc}\s\\]/u.test(text)) return 'must not hold spaces, backslashes or control characters';
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return 'must be an absolute https address';
  const { username, password } = new URL(text);
  const hasCredentials = username !== '' || password !== '' || /^https?:\/\/[^/?#]*@/i.test(text);
  return hasCredentials ? 'must not hold credentials' : undefined;
}

/** Normalises a URL, and lowers its scheme, which providers and browsers' policies compare in lower case. Call as `normaliseText`. */
export const normaliseUrl = (text: string): string =>
  normaliseText(text).replace(/^https?(?=:)/i, (scheme) => scheme.toLowerCase());
