import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';

const FOLDER = path.resolve(import.meta.dirname, '../../migrations');

/** A file of statements that changes tables or triggers, applied once to each database. */
export interface Migration {
  readonly tag: string;
  /** Orders migrations: a database stores it of each one that was applied. */
  readonly when: number;
  /** Triggers call functions, and so come after them; all else comes before. */
  readonly afterFunctions: boolean;
  readonly file: string;
}

const entries = z.array(z.object({ tag: z.string(), when: z.number() }));
const journalShape = z.object({ entries });
const earlierShape = z.object({ oldest: z.number(), entries });

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(path.join(FOLDER, file), 'utf8'));
}

const toMigration =
  (folder: string) =>
  ({ tag, when }: { readonly tag: string; readonly when: number }): Migration => ({
    tag,
    when,
    afterFunctions: tag.endsWith('_triggers'),
    file: path.join(FOLDER, folder, `${tag}.sql`),
  });

/** What makes an empty database the present one, oldest first. The list is that of drizzle-kit, which adds to it. */
export function listMigrations(): readonly Migration[] {
  return journalShape.parse(readJson('meta/_journal.json')).entries.map(toMigration(''));
}

interface CarryOver {
  /** What the newest migration of version 1.0.0 stored: databases before that are not carried over. */
  readonly oldest: number;
  /** What changed tables from version 1.0.0 on, until all of it was written down as the first migration of `listMigrations`. */
  readonly steps: readonly Migration[];
}

/** What brings a database of an earlier build to the first migration of `listMigrations`. */
export function readCarryOver(): CarryOver {
  const { oldest, entries: steps } = earlierShape.parse(readJson('carry-over/journal.json'));
  return { oldest, steps: steps.map(toMigration('carry-over')) };
}

interface MigrationText {
  readonly text: string;
  /** SHA-256, hexadecimal. */
  readonly hash: string;
}

export function readMigration({ file }: Migration): MigrationText {
  const text = readFileSync(file, 'utf8');
  return { text, hash: createHash('sha256').update(text).digest('hex') };
}
