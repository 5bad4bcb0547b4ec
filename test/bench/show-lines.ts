import { type Figure, type Goal, isBeyond, isMeasured, isReached, type Line, ratioOf } from './line.ts';

function round(value: number): string {
  if (value >= 100) return value.toFixed(0);
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function goalText(goal: Goal | undefined): string {
  if (goal === undefined) return '';
  return 'atLeast' in goal ? `≥ ${goal.atLeast}` : `≤ ${goal.atMost}`;
}

function figureText(figure: Figure, unit: string): string {
  const spread = figure.kept.length === 1 ? '' : ` (${round(figure.low)}–${round(figure.high)})`;
  return `${round(figure.median)}${unit}${spread}`;
}

function cellsOf(line: Line): string[] {
  if (!isMeasured(line)) return [line.work, '', '', '', goalText(line.goal), 'not measured', ''];
  const { work, reference, unit, ours, theirs, goal, processor } = line;
  const ratio = round(ratioOf(line));
  const reached = isBeyond(line) ? 'reached, and beyond' : isReached(line) ? 'reached' : 'MISSED';
  const verdict = goal === undefined ? 'watched' : reached;
  const beside = theirs === undefined ? '' : `${figureText(theirs, unit)} ${reference}`;
  const micros = processor === undefined ? [] : [processor.service, processor.database, processor.load].map(Math.round);
  return [
    ...[work, figureText(ours, unit), beside, theirs === undefined ? '' : ratio, goalText(goal), verdict],
    micros.join(' / '),
  ];
}

/** One line of the table by itself, its empty cells left out. */
export const summarise = (line: Line): string =>
  cellsOf(line)
    .filter((cell) => cell !== '')
    .join(' | ');

/** What there is to say of a line below the table. */
function remarksOf(line: Line): string[] {
  if (!isMeasured(line)) return [`${line.work}: not measured. ${line.missing}`];
  const figures = [line.ours, ...(line.theirs === undefined ? [] : [line.theirs])];
  const dropped = figures.reduce((sum, figure) => sum + figure.dropped, 0);
  return [
    ...(isReached(line) ? [] : [`${line.work}: missed. ${line.limit}`]),
    ...(dropped === 0 ? [] : [`${line.work}: ${dropped} windows were left out because of other programs.`]),
    ...(figures.some(({ disturbed }) => disturbed)
      ? [`${line.work}: other programs disturbed nearly all windows, so that all of them count.`]
      : []),
  ];
}

/** A table for people, in Markdown that is aligned: it reads in a terminal and in a document. */
export function describeLines(machine: string, lines: readonly Line[]): string {
  const head = ['Work', 'Ours', 'Reference', 'Ratio', 'Goal', '', 'µs: service / database / load'];
  const rows = [head, ...lines.map(cellsOf)];
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const show = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`;
  const table = [show(head), rule, ...rows.slice(1).map(show)];
  const remarks = lines.flatMap(remarksOf);
  const below = remarks.length === 0 ? [] : ['', ...new Set(remarks)];
  return `${machine}\nMedians of alternating windows, the spread in brackets. µs: of a core for each request.\n\n${[...table, ...below].join('\n')}\n`;
}

export function jsonOf(machine: string, lines: readonly Line[]): string {
  const measured = lines.map((line) =>
    isMeasured(line) ? { ...line, ratio: ratioOf(line), reached: isReached(line), beyond: isBeyond(line) } : line,
  );
  return `${JSON.stringify({ machine, measured }, null, 2)}\n`;
}
