import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { exists } from '#src/platform/files.ts';

/** The folder that holds the database of `dataDir`: `<dataDir>/postgres`, or the place its link names. Undefined when there is none yet. */
export async function findHome(dataDir: string): Promise<string | undefined> {
  const beside = path.join(dataDir, 'postgres');
  for (const place of [path.join(beside, 'home'), beside]) {
    if (await exists(place)) return await realpath(place);
  }
  return undefined;
}
