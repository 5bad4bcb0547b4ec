import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** Where a run of the tests names its bundles (global-setup.ts) to all of its processes. */
export const BUNDLES = 'TEST_BUNDLES';
/** Where a copy of the checkout has them. */
const COPIED = 'programs';

const readBundles = (): Record<string, string> => JSON.parse(process.env[BUNDLES] ?? '{}');

/**
 * The file that a process is started with. Within a run of the tests it is a bundle of the sources where there is one, which
 * starts in half the time; service-process.test.ts, built-assets.test.ts and output.test.ts start the sources as they are.
 * @param source from the top of the checkout, as `src/main.ts`
 * @param root the checkout: this one, or a copy that has its bundles from `copyBundles`
 */
export function programFile(source: string, root: string = ROOT): string {
  const bundle = readBundles()[source];
  if (bundle === undefined) return path.join(root, source);
  return root === ROOT ? bundle : path.join(root, COPIED, path.basename(bundle));
}

/** Writes the bundles into a copy of this checkout, so that they find everything there. @param change what differs in the copy */
export function copyBundles(folder: string, change: (text: string) => string): void {
  mkdirSync(path.join(folder, COPIED));
  const files = new Set(Object.values(readBundles()));
  for (const file of files) {
    const text = readFileSync(file, 'utf8');
    for (const [, name = ''] of text.matchAll(/"\.\/([\w-]+\.mjs)"/g)) files.add(path.join(path.dirname(file), name));
    const moved = text.replaceAll(`"${ROOT}/`, `"${folder}/`).replaceAll(`"file://${ROOT}/`, `"file://${folder}/`);
    writeFileSync(path.join(folder, COPIED, path.basename(file)), change(moved));
  }
}
