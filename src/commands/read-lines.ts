import { createReadStream } from 'node:fs';
import type { Issue } from '#src/platform/errors.ts';

/** The file cannot be used. The message says what would be valid; `issues` lists all errors in its content. */
export class FileRefused extends Error {
  readonly issues: readonly Issue[];

  constructor(message: string, issues: readonly Issue[] = []) {
    super(message);
    this.issues = issues;
  }
}

export interface FileLine {
  /** Counted from 1. */
  readonly line: number;
  /** Without the line break; undefined if longer than `MAX_LINE_LENGTH`. */
  readonly text: string | undefined;
}

/** Characters of a line, enough for a voter with the longest value in every field. Longer lines are not kept in memory. */
export const MAX_LINE_LENGTH = 65_536;

/** Yields the lines of a UTF-8 file in groups, so that memory does not grow with the file. @throws FileRefused if it is not UTF-8 */
export async function* readLines(file: string): AsyncGenerator<FileLine[]> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let line = 0;
  let rest = '';
  let tooLong = false;
  const decode = (bytes?: Buffer): string => {
    try {
      return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
    } catch {
      const [sound = ''] = new TextDecoder().decode(bytes).split('\uFFFD', 1);
      throw new FileRefused(
        `${file} is not UTF-8 (line ${line + sound.split('\n').length}). Save it as “CSV UTF-8”, or convert it: iconv -f WINDOWS-1252 -t UTF-8`,
      );
    }
  };
  const take = (text: string): FileLine => {
    line += 1;
    const whole = !tooLong && text.length <= MAX_LINE_LENGTH;
    tooLong = false;
    return { line, text: whole ? text.replace(/\r$/, '') : undefined };
  };
  for await (const bytes of createReadStream(file) as AsyncIterable<Buffer>) {
    const pieces = (rest + decode(bytes)).split('\n');
    rest = pieces.pop() ?? '';
    const lines = pieces.map(take);
    if (rest.length > MAX_LINE_LENGTH) {
      tooLong = true;
      rest = '';
    }
    if (lines.length > 0) yield lines;
  }
  rest += decode();
  if (rest !== '' || tooLong) yield [take(rest)];
}
