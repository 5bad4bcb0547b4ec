import type pg from 'pg';
import { type Finding, failed, found, warned, withConnection } from '#src/database/check-server.ts';
import { databaseErrorCode } from '#src/database/client.ts';
import { FolderUnusable, type KeyFolders } from '#src/platform/key-folders.ts';
import { createSecrets } from '#src/platform/secrets.ts';
import { wrappedKeyPlace } from './ballot-keys.ts';
import {
  checkpointFolder,
  isKeyOf,
  type KeyName,
  type KeySettings,
  keyFileOf,
  keyFoldersOf,
  listUnmarked,
  placesOf,
  readClusterId,
  readKeyFileName,
} from './key-places.ts';

const NAME = 'keys of elections';
const COPIES = 'copies of keys';
const PLACES = 'places of keys';

async function faultOf(folders: KeyFolders, folder: string): Promise<string | undefined> {
  try {
    await folders.check(folder);
    return undefined;
  } catch (fault) {
    if (fault instanceof FolderUnusable) return fault.message;
    throw fault;
  }
}

/** Checks that an election's key could be written now. If not, no election opens. */
export async function checkKeyFolders(settings: KeySettings): Promise<Finding[]> {
  const folders = keyFoldersOf(settings);
  if (folders === undefined)
    return [
      warned(
        NAME,
        'keys of secret elections stand in the database, sealed under SECRET_KEY: backups of the time of voting can be read with it',
        'Set BALLOT_KEYS_DIR to a folder that all processes share; docs/operations.md, "Keys of elections".',
      ),
    ];
  const fault = await faultOf(folders, folders.main);
  if (fault !== undefined)
    return [failed(NAME, `BALLOT_KEYS_DIR: ${fault}`, 'Make the folder, and let the service write there.')];
  const looks = await Array.fromAsync(folders.copies, (copy) => faultOf(folders, copy));
  const faults = looks.filter((one) => one !== undefined);
  const cure = 'No election opens meanwhile, and no key is destroyed. Bring the folder back, or take it off the list.';
  if (faults.length > 0) return [warned(COPIES, `BALLOT_KEYS_COPIES: ${faults.join(', ')}`, cure)];
  return [found(NAME, `they stand in ${folders.all.join(', ')}`)];
}

/**
 * Checks that each folder has the cluster's marker (`key-places.ts`). Reports nothing before the first start, which makes the
 * markers. A missing marker prevents the start if keys in folders are still needed; otherwise it is only a warning.
 */
export async function checkPlaces(settings: KeySettings, client: pg.Client): Promise<Finding[]> {
  const places = placesOf(settings);
  const clusterId = places.length === 0 ? undefined : await readClusterId(client).catch(ignoreUndefined);
  if (clusterId === undefined) return [];
  const unmarked = (await listUnmarked(settings, clusterId)).map(({ says }) => says).join(', ');
  if (unmarked === '') return [found(PLACES, `${places.length} folders bear the marker of this service`)];
  const waiting = (await listLivingKeys(client)).filter(({ wrapped }) => wrapped === null).length;
  const cure = `Mount what belongs there, and see that its files are there; a folder that is new gets its marker by \`ballot-keys init\`.`;
  return waiting > 0
    ? [failed(PLACES, `${unmarked}; keys of elections that are not final: ${waiting}`, cure)]
    : [warned(PLACES, `${unmarked}: no event opens, no voter of an election is added, no key is destroyed`, cure)];
}

/** The key of an event that accepts ballots, or will accept ballots. */
export interface LivingKey extends KeyName {
  readonly code: string;
  /** The key, encrypted with the secret key, if it is in the database; null if it is in files. */
  readonly wrapped: string | null;
}

/** PostgreSQL's error codes for an undefined table and an undefined column. */
const UNDEFINED = ['42P01', '42703'];

/** Ignores an error that means that the database is not migrated yet. */
function ignoreUndefined(fault: unknown): undefined {
  if (!UNDEFINED.includes(databaseErrorCode(fault) ?? '')) throw fault;
}

/** The keys that are still needed; none in a database that is not migrated yet. */
export async function listLivingKeys(client: Pick<pg.Client, 'query'>): Promise<LivingKey[]> {
  try {
    const { rows } = await client.query<LivingKey>(`
      SELECT k.voting_event_id AS "eventId", k.id, e.code, k.wrapped FROM ballot_keys k
      JOIN voting_events e ON e.id = k.voting_event_id AND k.id IN (e.ballot_key, e.real_key) AND e.deleted_at IS NULL
      WHERE k.retired_at IS NULL ORDER BY 1`);
    return rows;
  } catch (fault) {
    ignoreUndefined(fault);
    return [];
  }
}

/** The bytes of a key, from a folder or from its row; the caller must wipe them. Undefined if neither has the key. */
export async function readLivingKey(
  key: LivingKey,
  folders: KeyFolders | undefined,
  secretKeys: readonly Uint8Array[],
): Promise<Buffer | undefined> {
  const content = await folders?.read(keyFileOf(key), (read) => isKeyOf(key, read));
  if (content !== undefined || key.wrapped === null || secretKeys.length === 0) return content;
  return createSecrets(secretKeys).openForeign(key.wrapped, wrappedKeyPlace(key.eventId, key.id));
}

export async function isReadable(...of: Parameters<typeof readLivingKey>): Promise<boolean> {
  const content = await readLivingKey(...of);
  content?.fill(0);
  return content !== undefined;
}

interface Settings extends KeySettings {
  readonly secretKeys: readonly Uint8Array[];
}

/** Checks that this process can read each key that is still needed. Reports the consequences that the loss of each folder would have. */
export async function checkLivingKeys(settings: Settings, url: string): Promise<Finding[]> {
  const folders = keyFoldersOf(settings);
  const living = await withConnection(url, listLivingKeys);
  const lacking: string[] = [];
  for (const key of living) if (!(await isReadable(key, folders, settings.secretKeys))) lacking.push(key.code);
  const findings =
    lacking.length > 0
      ? [
          failed(
            'keys of open elections',
            `no key of ${lacking.join(', ')} can be read: their ballots are refused`,
            'Bring the files back (cli backup --keys, BALLOT_KEYS_COPIES), or list the SECRET_KEY they were sealed under.',
          ),
        ]
      : [found('keys of open elections', `${living.length} can be read`)];
  if (folders === undefined) return findings;
  return [...findings, ...(await rehearseLosses(settings, folders, living))];
}

async function rehearseLosses(settings: KeySettings, folders: KeyFolders, living: readonly LivingKey[]) {
  const without = 'no event opens, no voter of an election is added and no key is destroyed';
  const wanted = living.filter(({ wrapped }) => wrapped === null);
  const held = new Map<string, readonly string[]>();
  // `checkKeyFolders` reports folders that cannot be read.
  for (const folder of folders.all) held.set(folder, await folders.list(folder).catch(() => []));
  const findings = [...held].map(([folder, files]) => {
    const others = [...held].flatMap(([other, elsewhere]) => (other === folder ? [] : elsewhere));
    const lost = wanted.filter((key) => !others.includes(keyFileOf(key))).map(({ code }) => code);
    const names = files.filter((name) => readKeyFileName(name) !== undefined);
    const own = names.filter((name) => wanted.some((key) => keyFileOf(key) === name)).length;
    const words = `it holds ${own} of ${wanted.length} keys of open elections, and ${names.length - own} others; without it ${lost.length === 0 ? 'all are read elsewhere' : `the ballots that wait in ${lost.join(', ')} are lost`}, ${without}`;
    return lost.length === 0 && own === wanted.length && own === names.length
      ? found(`loss of ${folder}`, `${words}; that is right`)
      : warned(
          `loss of ${folder}`,
          words,
          'Copy what is lacking there, and name a folder on another disk in BALLOT_KEYS_COPIES. Keys of elections that are over go within a minute; others were left by an opening that was cut off, or are another service’s.',
        );
  });
  const checkpoints = checkpointFolder(settings.dataDir);
  const words = `a database that was set back is not noticed, ${without}; right is a disk of its own, apart from the database`;
  return [...findings, found(`loss of ${checkpoints}`, words)];
}
