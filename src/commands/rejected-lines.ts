import { type FileHandle, open, stat } from 'node:fs/promises';
import path from 'node:path';
import { guardFormulas } from '#src/platform/csv.ts';
import type { Issue } from '#src/platform/errors.ts';
import type { Roll, RollLine } from './read-roll.ts';

export interface RejectedLine {
  readonly from: RollLine;
  readonly issues: readonly Issue[];
}

export const lineReason = (issues: readonly Issue[]): string =>
  issues.map(({ field, message }) => (field === '' ? message : `${field} ${message}`)).join('; ');

export function reportFileOf(file: string): string {
  const { dir, name } = path.parse(file);
  return path.join(dir, `${name}.rejected.csv`);
}

/**
 * The report of rejected lines: original content, line number and reason, so that a corrected report
 * can be imported unchanged. It is created at the first rejected line. A report of an earlier run is kept, because the operator
 * may have corrected it; the new report's name then gets a number.
 */
export class RejectedLines {
  readonly #roll: Roll;
  readonly #path: string;
  #handle: FileHandle | undefined;
  /** Path of the report; null before the first rejected line. */
  file: string | null = null;

  constructor(roll: Roll, file: string) {
    this.#roll = roll;
    this.#path = file;
  }

  async write(lines: readonly RejectedLine[]): Promise<void> {
    if (lines.length === 0) return;
    const head = this.#handle === undefined ? this.#head() : '';
    this.#handle ??= await this.#open();
    await this.#handle.appendFile(head + lines.map((line) => this.#line(line)).join(''));
  }

  async close(): Promise<void> {
    await this.#handle?.close();
  }

  async #open(): Promise<FileHandle> {
    const { dir, name, ext } = path.parse(this.#path);
    for (let number = 1; ; number += 1) {
      this.file = number === 1 ? this.#path : path.join(dir, `${name}-${number}${ext}`);
      try {
        return await open(this.file, 'wx');
      } catch (fault) {
        if (!(fault instanceof Error && Reflect.get(fault, 'code') === 'EEXIST')) throw fault;
        // A device such as /dev/null has no content to lose.
        if (!(await stat(this.file)).isFile()) return open(this.file, 'w');
      }
    }
  }

  #cells(cells: readonly string[], line: string, reason: string): string {
    const own = this.#roll.headCells.flatMap((_, index) =>
      this.#roll.head.columns[index] === null ? [] : [guardFormulas(cells[index] ?? '')],
    );
    // Also quotes cells that contain a separator other than the file's: a spreadsheet could split them there.
    const quoted = [...own, line, reason].map((cell) =>
      /[,;|\t"\n\r]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell,
    );
    return `${quoted.join(this.#roll.delimiter)}\n`;
  }

  #head(): string {
    // The byte order mark: without it, spreadsheets read the file as Latin-1.
    return `\uFEFF${this.#cells(this.#roll.headCells, 'line', 'reason')}`;
  }

  #line({ from, issues }: RejectedLine): string {
    return this.#cells(from.cells ?? [from.text ?? ''], String(from.line), lineReason(issues));
  }
}
