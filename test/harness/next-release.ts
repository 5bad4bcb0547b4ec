import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { SCHEMA } from '#src/database/schema-number.ts';
import { copyBundles } from './programs.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const COPIED = ['src', 'migrations', 'sandbox', 'sdk', 'verifier', 'docs', 'build', 'package.json'];

/** Copied: a program that goes on as a later release does (test/chaos) changes it. */
const OWN = { ...SCHEMA };
export const NEXT_NUMBER = OWN.number + 1;
/** Of every next release. */
export const NEXT_DIGEST = '0123456789abcdef';

function change(file: string, from: string, to: string): void {
  const text = readFileSync(file, 'utf8');
  if (!text.includes(from)) throw new Error(`${file} does not hold ${from}`);
  writeFileSync(file, text.replace(from, to));
}

interface Changes {
  /** Of the next release; one more than this one's unless said otherwise. */
  readonly number?: number;
  /** Its migration. */
  readonly statements?: string;
}

/** Copies this checkout into a folder as another release: another number, a migration more, a function that differs. */
export function copyRelease(folder: string, changes: Changes = {}): string {
  const { number = NEXT_NUMBER, statements = 'ALTER TABLE voting_events ADD COLUMN of_next_release text;' } = changes;
  mkdirSync(folder, { mode: 0o755 });
  for (const name of COPIED) cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true });
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
  change(path.join(folder, 'src/database/schema-number.ts'), `number: ${OWN.number}`, `number: ${number}`);
  change(path.join(folder, 'src/database/schema-number.ts'), OWN.digest, NEXT_DIGEST);
  copyBundles(folder, (text) =>
    text.replace(`number: ${OWN.number}, digest: "${OWN.digest}"`, `number: ${number}, digest: "${NEXT_DIGEST}"`),
  );
  change(path.join(folder, 'src/database/functions/living-processes.sql'), 'now_ms() - 2000', 'now_ms() - 2001');
  const journalFile = path.join(folder, 'migrations/meta/_journal.json');
  const journal = JSON.parse(readFileSync(journalFile, 'utf8'));
  const [idx, when] = [journal.entries.length, journal.entries.at(-1).when + number];
  journal.entries.push({ idx, version: '7', when, tag: 'of_next_release', breakpoints: true });
  writeFileSync(journalFile, JSON.stringify(journal));
  writeFileSync(path.join(folder, 'migrations/of_next_release.sql'), statements);
  return folder;
}
