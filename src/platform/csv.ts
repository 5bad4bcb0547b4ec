import { inPages } from './loop-turns.ts';

const NUMERIC = /^-?\d+(\.\d+)?$/;
/** Everything that a spreadsheet reads as the sign of a formula: small, full-width, raised and lowered ones too. */
const SIGNS = '=+\\-@＝＋－＠﹦﹢﹣﹫⁼⁺⁻₌₊₋−';
/** What a spreadsheet may cut off in front of it: blanks, and everything that a font shows nothing for. */
const SKIPPED = '[\\s\\p{Cf}\\p{Default_Ignorable_Code_Point}"]*';
const FORMULA_START = new RegExp(`^[\\t\\r\\n]|^${SKIPPED}[${SIGNS}]`, 'u');
/** Where a cell begins for a program that is set to another separator, which pays no heed to our quotes there. */
const FORMULA_WITHIN = new RegExp(
  `(\\r\\n|[,;|\\t\\r\\n])(?=[\\p{Zs}\\p{Cf}\\p{Default_Ignorable_Code_Point}"]*[${SIGNS}])`,
  'gu',
);

/** Text that no spreadsheet runs as a formula, whichever separator it is set to: an apostrophe stands before each sign. */
export function guardFormulas(text: string): string {
  const within = text.replace(FORMULA_WITHIN, "$1'");
  return FORMULA_START.test(text) ? `'${within}` : within;
}

/**
 * One cell of RFC 4180. Text is always in quotes, and guarded where a spreadsheet would run it; figures of our own keep
 * their sign.
 */
export function csvCell(value: string | number | boolean | null | undefined, figure = false): string {
  if (value === undefined || value === null || value === '') return '';
  const text = String(value);
  if (typeof value !== 'string' || (figure && NUMERIC.test(text))) return text;
  return `"${guardFormulas(text).replaceAll('"', '""')}"`;
}

export const csvLine = (cells: readonly string[]): string => `${cells.join(',')}\r\n`;

const ROWS_AT_ONCE = 500;

/**
 * A table with its head, in the order of the rows' IDs. It begins with a byte order mark, without which spreadsheets read names
 * as Latin-1.
 * @param readAfter up to `limit` rows whose IDs come after the one that is given, which is empty at first
 */
export async function* csvById<Row extends { readonly id: string }>(
  head: readonly string[],
  readAfter: (after: string, limit: number) => Promise<readonly Row[]>,
  cellsOf: (row: Row) => readonly Parameters<typeof csvCell>[0][],
): AsyncGenerator<string> {
  yield `\ufeff${csvLine(head)}`;
  for await (const row of inPages(ROWS_AT_ONCE, readAfter)) yield csvLine(cellsOf(row).map((value) => csvCell(value)));
}
