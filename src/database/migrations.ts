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

const journalShape = z.object({ entries: z.array(z.object({ tag: z.string(), when: z.number() })) });

/** What makes an empty database the present one, oldest first. The list is that of drizzle-kit, which adds to it. */
export function listMigrations(): readonly Migration[] {
  const journal: unknown = JSON.parse(readFileSync(path.join(FOLDER, 'meta/_journal.json'), 'utf8'));
  return journalShape.parse(journal).entries.map(({ tag, when }) => ({
    ...{ tag, when, afterFunctions: tag.endsWith('_triggers'), file: path.join(FOLDER, `${tag}.sql`) },
  }));
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
