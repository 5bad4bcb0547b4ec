import { setImmediate } from 'node:timers/promises';
import { type Align, INK, MUTED, PALE, RULE, type Sheet } from './sheet.ts';
import { lineHeight, type TextStyle } from './text-setter.ts';

export interface Column {
  readonly title: string;
  /** Width in points. The one column without a width takes the remaining width. */
  readonly width?: number;
  readonly align?: Align;
  /** Space in points before a text column that follows figures. */
  readonly indent?: number;
}

export interface Cell {
  readonly text: string;
  readonly bold?: boolean;
  readonly color?: string;
}

const SIZE = 8.5;
const PAD_X = 5;
const PAD_Y = 3;
/** Space below a table, in points. */
export const TABLE_GAP = 8;
/** Fewest rows of a table on its first and on its last page. */
const LEAST_ROWS = 2;
/** Fewest lines that a row which is higher than a page leaves on a page. */
const LEAST_LINES = 3;
/** Number of rows after which the event loop serves other work. */
const BREATH = 40;

interface Placed extends Column {
  readonly x: number;
  readonly width: number;
}

function place(sheet: Sheet, columns: readonly Column[]): Placed[] {
  const taken = columns.reduce((sum, column) => sum + (column.width ?? 0), 0);
  let x = sheet.left;
  return columns.map((column) => {
    const width = column.width ?? sheet.width - taken;
    const placed = { ...column, x, width };
    x += width;
    return placed;
  });
}

const inside = (column: Placed): { readonly x: number; readonly width: number } => {
  const indent = PAD_X + (column.indent ?? 0);
  return { x: column.x + indent, width: column.width - indent - PAD_X };
};

const styleOf = (cell: Cell): TextStyle => ({ size: SIZE, bold: cell.bold === true, color: cell.color ?? INK });

function drawRow(
  sheet: Sheet,
  columns: readonly Placed[],
  lines: readonly (readonly string[])[],
  cells: readonly Cell[],
  header: boolean,
): void {
  const top = sheet.y + PAD_Y;
  sheet.group('TR', () => {
    columns.forEach((column, index) => {
      const cell = cells[index] ?? { text: '' };
      const draw = (): void => {
        const { x, width } = inside(column);
        sheet.box(lines[index] ?? [], x, top, width, styleOf(cell), column.align);
      };
      sheet.content(header ? 'TH' : 'TD', draw, header ? { scope: 'Column' } : {});
    });
  });
}

const countOf = (lines: readonly (readonly string[])[]): number => Math.max(1, ...lines.map((own) => own.length));

const heightOf = (lines: readonly (readonly string[])[]): number =>
  countOf(lines) * lineHeight({ size: SIZE }) + 2 * PAD_Y;

/** How many lines a row of this height has. */
const linesIn = (height: number): number => Math.floor((height - 2 * PAD_Y) / lineHeight({ size: SIZE }));

/** Draws a table with wrapped cells, and its titles on every page. @param below height of a text that must stay below the table */
export async function drawTable(
  sheet: Sheet,
  columns: readonly Column[],
  rows: Iterable<readonly Cell[]>,
  below = 0,
): Promise<void> {
  const placed = place(sheet, columns);
  const wrap = (cells: readonly Cell[]): (readonly string[])[] =>
    placed.map((column, index) => {
      const cell = cells[index] ?? { text: '' };
      return cell.text === '' ? [] : sheet.text.lines(cell.text, styleOf(cell), inside(column).width);
    });
  const titles = columns.map(({ title }): Cell => ({ text: title, bold: true, color: MUTED }));
  const titleLines = wrap(titles);
  const titleHeight = heightOf(titleLines);
  const drawTitles = (): void => {
    sheet.artifact(() => sheet.doc.rect(sheet.left, sheet.y, sheet.width, titleHeight).fill(PALE));
    drawRow(sheet, placed, titleLines, titles, true);
    sheet.y += titleHeight;
  };
  const all = [...rows];
  // Keep three rows together: if two were kept, the third would be alone on the next page.
  const together = all.length === LEAST_ROWS + 1 ? all.length : LEAST_ROWS;
  const heights = (from: number, to: number): number =>
    all.slice(from, to).reduce((sum, cells) => sum + heightOf(wrap(cells)), to < all.length ? 0 : below);
  const first = heights(0, 1);
  // If rows are very high, keep only one with the titles: otherwise much of a page would stay empty.
  const most = sheet.pageHeight / 5;
  sheet.ensure(titleHeight + Math.max(first, Math.min(heights(0, together), most)));
  // Each page gets its own table element, so that screen readers find the titles on each page.
  let open: (() => void)[] = [];
  const flush = (): void => {
    const steps = open;
    open = [];
    if (steps.length === 0) return;
    sheet.group('Table', () => {
      for (const step of steps) step();
    });
  };
  open.push(drawTitles);
  let y = sheet.y + titleHeight;
  const fullPage = linesIn(sheet.pageHeight - titleHeight);
  for (const [index, cells] of all.entries()) {
    const row = wrap(cells);
    const last = index > 0 && index === all.length - LEAST_ROWS ? Math.min(heights(index, all.length), most) : 0;
    for (let at = 0; at < countOf(row); ) {
      const room = linesIn(sheet.bottom - y);
      // Only a row that is higher than a page is split.
      const size = countOf(row) <= fullPage ? countOf(row) : room >= LEAST_LINES ? room : fullPage;
      const lines = row.map((own) => own.slice(at, at + size));
      const height = heightOf(lines);
      if (y + Math.max(height, last) > sheet.bottom) {
        flush();
        sheet.newPage();
        open.push(drawTitles);
        y = sheet.y + titleHeight;
      }
      open.push(() => {
        drawRow(sheet, placed, lines, cells, false);
        sheet.y += height;
        sheet.rule(sheet.y, RULE);
      });
      y += height;
      at += size;
    }
    if (index % BREATH === BREATH - 1) await setImmediate();
  }
  flush();
  sheet.y += TABLE_GAP;
}
