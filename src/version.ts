import { readFileSync } from 'node:fs';
import path from 'node:path';

const MANIFEST = path.resolve(import.meta.dirname, '../package.json');

/** The version that `/health`, the API document and the commands name. */
export function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(MANIFEST, 'utf8'));
  const version: unknown = Reflect.get(Object(manifest), 'version');
  if (typeof version !== 'string') throw new Error('package.json names no version');
  return version;
}
