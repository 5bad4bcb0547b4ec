import { inPages } from './loop-turns.ts';

const NUMERIC = /^-?\d+(\.\d+)?$/;
/** Characters with which a formula begins in spreadsheets, also in small, full-width, superscript and subscript forms. */
const SIGNS = '=+\\-@＝＋－＠﹦﹢﹣﹫⁼⁺⁻₌₊₋−';
/** Characters that a spreadsheet may drop in front of a formula: white space, quotes and invisible characters. */
const SKIPPED = '[\\s\\p{Cf}\\p{Default_Ignorable_Code_Point}"]*';
const FORMULA_START = new RegExp(`^[\\t\\r\\n]|^${SKIPPED}[${SIGNS}]`, 'u');
/** A formula after a separator within a cell. A program that uses another separator ignores our quotes, and splits the cell there. */
const FORMULA_WITHIN = new RegExp(
  `(\\r\\n|[,;|\\t\\r\\n])(?=[\\p{Zs}\\p{Cf}\\p{Default_Ignorable_Code_Point}"]*[${SIGNS}])`,
  'gu',
);

/** Puts an apostrophe before each formula, so that no spreadsheet runs the formula, whatever its separator setting is. */
export function guardFormulas(text: string): string {
  const within = text.replace(FORMULA_WITHIN, "$1'");
  return FORMULA_START.test(text) ? `'${within}` : within;
}

/** A cell of RFC 4180. Text is quoted and guarded against formulas. With `figure`, a number given as text stays bare and keeps its sign. */
export function csvCell(value: string | number | boolean | null | undefined, figure = false): string {
  if (value === undefined || value === null || value === '') return '';
  const text = String(value);
  if (typeof value !== 'string' || (figure && NUMERIC.test(text))) return text;
  return `"${guardFormulas(text).replaceAll('"', '""')}"`;
}

export const csvLine = (cells: readonly string[]): string => `${cells.join(',')}\r\n`;

const ROWS_AT_ONCE = 500;

/** Writes a column's times in ISO 8601, for people and spreadsheets. The names of such columns end in `At`. */
const shown = (column: string | undefined, value: Parameters<typeof csvCell>[0]): Parameters<typeof csvCell>[0] =>
  column?.endsWith('At') === true && typeof value === 'number' ? new Date(value).toISOString() : value;

/** A CSV file in the order of IDs, after a byte order mark for spreadsheets. @param readAfter as in `inPages` */
export async function* csvById<Row extends { readonly id: string }>(
  head: readonly string[],
  readAfter: (after: string, limit: number) => Promise<readonly Row[]>,
  cellsOf: (row: Row) => readonly Parameters<typeof csvCell>[0][],
): AsyncGenerator<string> {
  yield `\ufeff${csvLine(head)}`;
  for await (const row of inPages(ROWS_AT_ONCE, readAfter))
    yield csvLine(cellsOf(row).map((value, at) => csvCell(shown(head[at], value))));
}
