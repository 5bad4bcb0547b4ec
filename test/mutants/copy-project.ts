import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export const ROOT = path.resolve(import.meta.dirname, '../..');
const PARTS = ['src', 'sandbox', 'sdk', 'test', 'verifier', 'migrations', 'docs', 'examples', 'scripts', 'build'];
const FILES = ['package.json', 'package-lock.json', 'tsconfig.json', 'vitest.config.ts'];

/** The program without its dependencies, which the copy shares; in a folder that is the caller's to remove. */
export function copyProject(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'mutants-'));
  for (const name of [...PARTS, ...FILES])
    cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true, force: true });
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
  return folder;
}

/** A wrong rule: a text that must stand once in a file, and what takes its place. */
export interface Mutant {
  readonly name: string;
  /** From the project's folder. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** Of a merchant: the habit that is red on it. */
  readonly habit?: string;
  /** A part of the name of the fault that is red on it. */
  readonly fault?: string;
  /** Where the text stands in its file, which may hold it more than once. */
  readonly at?: number;
  /** Of a rule in SQL: the files of tests that hold it, in the order in which they are run. */
  readonly tests?: readonly (readonly string[])[];
  /** Of a promise: the test that is red on it, by its file and a part of its name. */
  readonly test?: { readonly file: string; readonly title: string };
}

/** Writes the wrong rule into the copy. @throws Error where its text does not stand once in its file: the list is older than the rule */
export function apply(folder: string, mutant: Mutant): () => void {
  const { name, file, find } = mutant;
  const target = path.join(folder, file);
  const right = readFileSync(target, 'utf8');
  if (mutant.at === undefined && right.split(find).length !== 2)
    throw new Error(`"${name}": its text does not stand once in ${file}`);
  writeFileSync(target, changed(right, mutant));
  return () => writeFileSync(target, right);
}

/** The text of a file with the wrong rule in it. */
export function changed(text: string, { find, replace, at = text.indexOf(find) }: Mutant): string {
  return `${text.slice(0, at)}${replace}${text.slice(at + find.length)}`;
}
