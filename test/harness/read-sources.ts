import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** The files in a folder of the project, as deep as they lie, whose names match. */
export const readSources = (folder: string, kinds: RegExp) =>
  readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => kinds.test(name))
    .toSorted()
    .map((name) => ({ name, text: readFileSync(path.join(ROOT, folder, name), 'utf8') }));
