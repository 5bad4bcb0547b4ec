import type { Issue } from '#src/platform/errors.ts';

/** A file that cannot be used as it is. The message says what would be right; `issues` name all that is wrong within. */
export class FileRefused extends Error {
  readonly issues: readonly Issue[];

  constructor(message: string, issues: readonly Issue[] = []) {
    super(message);
    this.issues = issues;
  }
}
