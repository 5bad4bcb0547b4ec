import { createReadStream } from 'node:fs';
import type { Issue } from '#src/platform/errors.ts';

/** A file that cannot be used as it is. The message says what would be right; `issues` name all that is wrong within. */
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
  /** Without its end; undefined when it is longer than any row of a roll may be. */
  readonly text: string | undefined;
}

/** Longer than a voter with the longest of everything; what is longer is not kept in memory. */
export const MAX_LINE_LENGTH = 65_536;

/**
 * The lines of a UTF-8 file, as many together as were read at once, so that memory does not grow with the file.
 * @throws FileRefused when the file is not UTF-8
 */
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
