import path from 'node:path';
import { KeyFolders } from '#src/platform/key-folders.ts';
import { type LivingKey, readLivingKey } from '#src/voting-events/check-ballot-keys.ts';

export interface RestoredKeys {
  /** Codes of the elections whose waiting ballots nothing here can read. */
  readonly lacking: readonly string[];
  /** What to do about it, for people. */
  readonly next: readonly string[];
}

/**
 * Which elections that took ballots at the restored moment have their key in a folder. Keys that stand in the restored database
 * itself are left out: SECRET_KEY opens them.
 * @param folder undefined where none was named
 */
export async function compareKeys(folder: string | undefined, living: readonly LivingKey[]): Promise<RestoredKeys> {
  const folders = folder === undefined ? undefined : new KeyFolders(path.resolve(folder));
  const wanted = living.filter(({ wrapped }) => wrapped === null);
  const lacking: string[] = [];
  for (const key of wanted) if ((await readLivingKey(key, folders, [])) === undefined) lacking.push(key.code);
  const named = wanted.length > 0 && folders !== undefined ? [`export BALLOT_KEYS_DIR=${folders.main}`] : [];
  const hint =
    lacking.length > 0
      ? [
          `Without their keys, ballots of ${lacking.join(', ')} that waited at that moment cannot be read: a later restore finds them with --keys. Of an election that is over since, no key is left.`,
        ]
      : [];
  return { lacking, next: [...hint, ...named] };
}
