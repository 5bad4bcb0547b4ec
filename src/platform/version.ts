import { readFileSync } from 'node:fs';
import path from 'node:path';

const PROJECT_ROOT = path.resolve(import.meta.dirname, '../..');

/** The version that `/health`, the API document and the commands name. */
export function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(path.join(PROJECT_ROOT, 'package.json'), 'utf8'));
  const version: unknown = Reflect.get(Object(manifest), 'version');
  if (typeof version !== 'string') throw new Error('package.json names no version');
  return version;
}
