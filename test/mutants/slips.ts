import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type Mutant, ROOT } from './copy-project.ts';

/** A text of a file, by its place, and what stands there by mistake. */
export interface Slip {
  readonly at: number;
  readonly find: string;
  readonly replace: string;
}

/** A sign or word, and what it is mistaken for. */
export type Swap = readonly [pattern: RegExp, change: (found: string) => string];

/** The rules of a language: their files below `src`, each with the tests that hold it, the likeliest first. */
export interface Rules {
  readonly tests: Readonly<Record<string, readonly string[]>>;
  /** The text with a blank for each sign that is no rule: comments, and what is shown to people. */
  readonly blank: (text: string) => string;
  readonly slips: (text: string) => readonly Slip[];
}

export const swapsOf = (text: string, swaps: readonly Swap[]): Slip[] =>
  swaps.flatMap(([pattern, change]) =>
    [...text.matchAll(pattern)].map(({ 0: find, index }) => ({ at: index, find, replace: change(find) })),
  );

const TESTS = readdirSync(path.join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .toSorted();

/** The files of tests whose path begins so. @throws Error where there is none: it was renamed */
function filesOf(name: string): string[] {
  const files = TESTS.filter((file) => file.startsWith(name));
  if (files.length === 0) throw new Error(`no file of tests begins with ${name}`);
  return files.map((file) => path.join('test', file));
}

/** Every mutant of some rules, in the order of files and places. */
export function allMutants({ tests, blank, slips }: Rules): Mutant[] {
  return Object.entries(tests).flatMap(([name, holding]) => {
    const file = path.join('src', name);
    const text = readFileSync(path.join(ROOT, file), 'utf8');
    return slips(blank(text))
      .filter(({ find, replace }) => find !== replace)
      .toSorted((one, other) => one.at - other.at)
      .map((slip) => {
        const [find, replace] = [slip.find.trim().replace(/\s+/g, ' ').slice(0, 90), slip.replace.trim()];
        const line = text.slice(0, slip.at).split('\n').length;
        return { name: `${name}:${line} ${find} → ${replace}`, file, ...slip, tests: holding.map(filesOf) };
      });
  });
}
