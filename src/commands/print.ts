import type { Row } from './cli.ts';

/** Prints for programs (one JSON value) or for people (a table, or lines of name and value). */
export function print(value: Row | readonly Row[], json: boolean): void {
  if (json) {
    process.stdout.write(`${JSON.stringify(value)}\n`);
    return;
  }
  const text = (cell: unknown): string => (Array.isArray(cell) ? cell.join(',') : cell === null ? '–' : String(cell));
  if (!Array.isArray(value)) {
    for (const [name, cell] of Object.entries(value)) process.stdout.write(`${name.padEnd(14)} ${text(cell)}\n`);
    return;
  }
  const rows: readonly Row[] = value;
  const [first] = rows;
  if (first === undefined) {
    process.stdout.write('none\n');
    return;
  }
  const names = Object.keys(first);
  const widths = names.map((name) => Math.max(name.length, ...rows.map((row) => text(row[name]).length)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd();
  process.stdout.write(`${line(names)}\n${rows.map((row) => line(names.map((name) => text(row[name])))).join('\n')}\n`);
}
