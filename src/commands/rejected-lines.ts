import { type FileHandle, open, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { guardFormulas } from '#src/platform/csv.ts';
import type { Issue } from '#src/platform/errors.ts';
import type { Roll, RollLine } from './read-roll.ts';

/** A line that was not taken, and why. */
export interface RejectedLine {
  readonly from: RollLine;
  readonly issues: readonly Issue[];
}

export const lineReason = (issues: readonly Issue[]): string =>
  issues.map(({ field, message }) => (field === '' ? message : `${field} ${message}`)).join('; ');

/** Where the rejected lines of a file are written unless said otherwise: beside it. */
export function reportFileOf({ file, format }: Pick<Roll, 'file' | 'format'>): string {
  const { dir, name } = path.parse(file);
  return path.join(dir, `${name}.rejected.${format}`);
}

/**
 * The report of rejected lines: what stood there, the line and the reason, in the format of the file, so that it can be
 * mended and imported as it is. Written at a position that the import's progress knows: what a killed run wrote behind it is
 * written again, once.
 */
export class RejectedLines {
  readonly #roll: Roll;
  readonly #file: string;
  #handle: FileHandle | undefined;
  #open: Promise<FileHandle> | undefined;

  constructor(roll: Roll, file: string) {
    this.#roll = roll;
    this.#file = file;
  }

  /** Where the report goes on: at its beginning when what it held is gone. */
  async resumeAt(position: number): Promise<number> {
    const size = (await stat(this.#file).catch(() => undefined))?.size ?? 0;
    return size >= position ? position : 0;
  }

  /** Writes rejected lines and returns the position behind them. Doing it again at the same position changes nothing. */
  async write(lines: readonly RejectedLine[], position: number): Promise<number> {
    if (lines.length === 0) return position;
    const head = position === 0 ? this.#head() : '';
    const bytes = Buffer.from(head + lines.map((line) => this.#line(line)).join(''));
    this.#open ??= open(this.#file, position === 0 ? 'w' : 'r+');
    this.#handle = await this.#open;
    await this.#handle.write(bytes, 0, bytes.length, position);
    return position + bytes.length;
  }

  /** @param position behind the last line that counts; whatever an earlier run left behind it goes */
  async close(position: number): Promise<void> {
    await this.#handle?.truncate(position);
    await this.#handle?.close();
    if (position === 0) await rm(this.#file, { force: true });
  }

  #cells(cells: readonly string[], line: string, reason: string): string {
    const own = this.#roll.headCells.flatMap((_, index) =>
      this.#roll.head?.columns[index] === null ? [] : [guardFormulas(cells[index] ?? '')],
    );
    // Also where another separator than the file's own would begin a cell.
    const quoted = [...own, line, reason].map((cell) =>
      /[,;|\t"\n\r]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell,
    );
    return `${quoted.join(this.#roll.delimiter)}\n`;
  }

  #head(): string {
    // Spreadsheets take a file without this mark for Latin-1.
    return this.#roll.format === 'csv' ? `\uFEFF${this.#cells(this.#roll.headCells, 'line', 'reason')}` : '';
  }

  #line({ from, issues }: RejectedLine): string {
    const reason = lineReason(issues);
    const { line, text = '' } = from;
    if (this.#roll.format === 'csv') return this.#cells(from.cells ?? [text], String(line), reason);
    return `${JSON.stringify({ ...(from.row ?? { text }), line, reason })}\n`;
  }
}
