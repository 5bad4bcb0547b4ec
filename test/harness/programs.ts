import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** Where a run of the tests names its bundles (global-setup.ts) to all of its processes. */
export const BUNDLES = 'TEST_BUNDLES';

/**
 * The file that a process is started with. Within a run of the tests it is a bundle of the sources where there is one, which
 * starts in half the time; service-process.test.ts, built-assets.test.ts and output.test.ts start the sources as they are.
 * @param source from the top of the checkout, as `src/main.ts`
 */
export function programFile(source: string): string {
  const bundles: Record<string, string> = JSON.parse(process.env[BUNDLES] ?? '{}');
  return bundles[source] ?? path.join(ROOT, source);
}
