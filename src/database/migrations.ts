import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';

const FOLDER = path.resolve(import.meta.dirname, '../../migrations');

/** A file of statements that changes tables or triggers, applied once to each database. */
export interface Migration {
  readonly tag: string;
  /** Orders migrations: a database stores that of the newest one that was applied. */
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

export const readMigration = ({ file }: Migration): string => readFileSync(file, 'utf8');
