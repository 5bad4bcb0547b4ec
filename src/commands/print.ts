import stringWidth from 'string-width';
import type { Answer, Row } from './cli.ts';

/** Pads a text with spaces to a width in columns; on the left for numbers, so that their digits align. */
export function padTo(text: string, width: number, side: 'left' | 'right'): string {
  const space = ' '.repeat(Math.max(0, width - stringWidth(text)));
  return side === 'left' ? space + text : text + space;
}

/** Characters that could move the cursor or change colours. They are shown as codes: strangers chose the names in the tables. */
const UNPRINTABLE = /[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu;
const code = (character: string): string => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;

/** Whether a number under this name is a time: `createdAt`, or `at` alone. */
const isTime = (name: string): boolean => /^at$|At$/.test(name);

/** A cell for people: times as dates, lists with commas, missing values as a dash. */
function cellText(name: string, value: unknown): string {
  if (value === null || value === undefined || value === '') return '–';
  if (typeof value === 'number' && isTime(name))
    return `${new Date(value).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  if (name === 'port') return String(value);
  if (typeof value === 'number') return value.toLocaleString('en-US', { useGrouping: true, maximumFractionDigits: 6 });
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.length === 0 ? '–' : value.join(', ');
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return text.replace(UNPRINTABLE, code);
}

function card(row: Row): string {
  const names = Object.keys(row);
  const width = Math.max(0, ...names.map((text) => stringWidth(text)));
  return names.map((name) => `${padTo(name, width, 'right')}  ${cellText(name, row[name])}\n`).join('');
}

/** A table with a head; columns of figures are right-aligned. */
export function table(rows: readonly Row[]): string {
  const [first] = rows;
  if (first === undefined) return 'none\n';
  const columns = Object.keys(first).map((name) => {
    const cells = rows.map((row) => cellText(name, row[name]));
    const figures = !isTime(name) && rows.every((row) => row[name] === null || typeof row[name] === 'number');
    const side: 'left' | 'right' = figures && rows.some((row) => row[name] !== null) ? 'left' : 'right';
    return { name, cells, side, width: Math.max(stringWidth(name), ...cells.map((text) => stringWidth(text))) };
  });
  const line = (cells: readonly string[]): string =>
    columns
      .map(({ width, side }, index) => padTo(cells[index] ?? '', width, side))
      .join('  ')
      .trimEnd();
  const lines = [
    line(columns.map(({ name }) => name)),
    line(columns.map(({ width }) => '─'.repeat(width))),
    ...rows.map((_, index) => line(columns.map(({ cells }) => cells[index] ?? ''))),
  ];
  return `${lines.join('\n')}\n`;
}

const REFUSED = 1;

/** Prints JSON for programs; for people a table or card, and the next steps to standard error. Sets the exit status. */
export function print({ value, shown = value, also, next = [], refused = false }: Answer, json: boolean): void {
  if (refused) process.exitCode = REFUSED;
  if (json) {
    process.stdout.write(`${JSON.stringify(value)}\n`);
    return;
  }
  const blocks: readonly unknown[] = Array.isArray(shown) ? shown : [shown];
  process.stdout.write(Array.isArray(shown) ? table(blocks as readonly Row[]) : card(shown as Row));
  if (also !== undefined) process.stdout.write(`\n${table(also)}`);
  if (next.length > 0) process.stderr.write(`\nNext:\n${next.map((line) => `  ${line}\n`).join('')}`);
}
