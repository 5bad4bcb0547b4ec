import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type pg from 'pg';
import type { Config } from '#src/config.ts';
import { conflict } from '#src/platform/errors.ts';
import { FolderUnusable, KeyFolders } from '#src/platform/key-folders.ts';
import { SECRET_KEY_BYTES } from '#src/platform/secrets.ts';
import { noteSeen } from './ballot-key-repository.ts';

// A folder whose disk is not mounted looks empty. So each folder of keys and checkpoints contains a marker: a file with the identity of
// the cluster (the installation), which the database also stores (completions 9.8). In a folder without the marker, the service writes no
// file, and regards no key as destroyed.

export type KeySettings = Pick<Config, 'ballotKeysDir' | 'ballotKeysCopies' | 'dataDir'>;

type Client = Pick<pg.Client | pg.Pool, 'query'>;

export const MARKER = 'cluster-id';
/** Prefix of the identity until the first start has made all markers. If that start is interrupted, the next start repeats it. */
const NEW = 'new ';

const ID_CHARACTERS = 16;
const KEY_FILE = /^(evt_[0-9a-z]+)\.([0-9a-f]{16})\.key$/i;

export interface KeyName {
  readonly eventId: string;
  readonly id: string;
}

export const keyFileOf = ({ eventId, id }: KeyName): string => `${eventId}.${id}.key`;

/** The event and ID of a key file; undefined for any other file. */
export function readKeyFileName(name: string): KeyName | undefined {
  const [, eventId, id] = KEY_FILE.exec(name) ?? [];
  return eventId === undefined || id === undefined ? undefined : { eventId, id };
}

export const idOf = (key: Uint8Array): string =>
  createHash('sha256').update('ballot key').update(key).digest('hex').slice(0, ID_CHARACTERS);

/** Whether a file contains the right key: the hash of its content is the ID in its name. */
export const isKeyOf = ({ id }: KeyName, content: Uint8Array): boolean =>
  content.length === SECRET_KEY_BYTES && idOf(content) === id;

export async function holdsKey(folders: KeyFolders, key: KeyName): Promise<boolean> {
  const content = await folders.read(keyFileOf(key), (read) => isKeyOf(key, read));
  content?.fill(0);
  return content !== undefined;
}

export const checkpointFolder = (dataDir: string): string => path.join(dataDir, 'checkpoints');

/** The configured folders of keys; undefined if keys are kept in the database. */
export function keyFoldersOf({ ballotKeysDir, ballotKeysCopies }: KeySettings): KeyFolders | undefined {
  return ballotKeysDir === undefined ? undefined : new KeyFolders(ballotKeysDir, ballotKeysCopies);
}

/** Every folder that needs a marker; none if the database stores the keys. */
export function placesOf(settings: KeySettings): readonly string[] {
  const folders = keyFoldersOf(settings);
  return folders === undefined ? [] : [...folders.all, checkpointFolder(settings.dataDir)];
}

async function readIdentity(client: Client): Promise<string | undefined> {
  const { rows } = await client.query<{ value: Buffer }>("SELECT value FROM service_identity WHERE kind = 'cluster'");
  return rows[0]?.value.toString('utf8');
}

/** The identity of the cluster; undefined before the first start. */
export async function readClusterId(client: Client): Promise<string | undefined> {
  const id = await readIdentity(client);
  return id?.replace(NEW, '');
}

const codeOf = (fault: unknown): string => String(Reflect.get(Object(fault), 'code'));

export interface Unmarked {
  readonly folder: string;
  readonly says: string;
  /** Whether the folder has no marker file at all. Only then a marker may be made. */
  readonly isBare: boolean;
}

export async function listUnmarked(settings: KeySettings, clusterId: string | undefined): Promise<Unmarked[]> {
  const found: Unmarked[] = [];
  for (const folder of placesOf(settings)) {
    const marker = await readFile(path.join(folder, MARKER), 'utf8').catch(codeOf);
    if (marker.trim() === clusterId) continue;
    const isBare = marker === 'ENOENT';
    found.push({
      folder,
      isBare,
      says: `${folder} has ${isBare ? 'no marker' : 'the marker of another service, or none that can be read'}`,
    });
  }
  return found;
}

async function mark(settings: KeySettings, folder: string, clusterId: string): Promise<void> {
  // A missing folder of copies is not created, because its disk may not be mounted. Any other missing folder is created.
  const folders = settings.ballotKeysCopies.includes(folder) ? keyFoldersOf(settings) : new KeyFolders(folder);
  await folders?.writeTo(folder, MARKER, `${clusterId}\n`);
}

/** Creates the cluster's identity if it has none. Without events, which means before the first start, it gets the prefix `NEW`. */
async function makeIdentity(client: Client): Promise<void> {
  await client.query(
    `INSERT INTO service_identity (kind, id, value, created_at)
     SELECT 'cluster', 'current', convert_to(CASE WHEN EXISTS (SELECT FROM voting_events) THEN '' ELSE $2 END || $1, 'UTF8'),
       now_ms()
     ON CONFLICT DO NOTHING`,
    [randomBytes(16).toString('hex'), NEW],
  );
}

/** Makes the markers at the first start on an empty database. `checkPlaces` reports folders without a marker. */
export async function markFirst(settings: KeySettings, client: Client): Promise<void> {
  await makeIdentity(client);
  if ((await readIdentity(client))?.startsWith(NEW) !== true) return;
  const clusterId = (await readClusterId(client)) ?? '';
  for (const { folder, isBare } of await listUnmarked(settings, clusterId)) {
    if (!isBare) continue;
    await mark(settings, folder, clusterId).catch((fault: unknown) => {
      if (!(fault instanceof FolderUnusable)) throw fault;
    });
  }
  await noteMarked(client, clusterId);
}

/** Gives another cell (database) the identity of the main cell, if it has none. @returns whether both have the same */
export async function shareIdentity(main: Client, cell: Client): Promise<boolean> {
  await makeIdentity(main);
  const clusterId = (await readClusterId(main)) ?? '';
  await cell.query(
    `INSERT INTO service_identity (kind, id, value, created_at)
     SELECT 'cluster', 'current', convert_to($1, 'UTF8'), now_ms() WHERE NOT EXISTS (SELECT FROM voting_events)
     ON CONFLICT DO NOTHING`,
    [clusterId],
  );
  return (await readClusterId(cell)) === clusterId;
}

/** Removes `NEW` from the identity. From now on, only `ballot-keys init` makes markers. */
async function noteMarked(client: Client, clusterId: string): Promise<void> {
  await client.query("UPDATE service_identity SET value = convert_to($1, 'UTF8') WHERE kind = 'cluster'", [clusterId]);
}

/**
 * Makes missing markers.
 * @param others the databases of other cells, whose keys are in the same folders
 * @param acceptLoss whether to record keys that a folder lacks as finally lost there, instead of throwing
 * @returns the folders that got a marker now
 * @throws ApiError 409 if a folder lacks a key that is still needed, or belongs to another service; FolderUnusable
 */
export async function initPlaces(
  settings: KeySettings,
  client: Client,
  acceptLoss: boolean,
  others: readonly Client[] = [],
): Promise<string[]> {
  const folders = keyFoldersOf(settings);
  if (folders === undefined) throw conflict('keys_in_database', 'BALLOT_KEYS_DIR is not set: no folder has a marker.');
  await makeIdentity(client);
  const clusterId = (await readClusterId(client)) ?? '';
  // `living` means that ballots still need the key.
  const statement = `
    SELECT k.voting_event_id AS "eventId", k.id, coalesce(e.code, k.voting_event_id) AS code,
      coalesce(k.retired_at IS NULL AND k.id IN (e.ballot_key, e.real_key) AND e.deleted_at IS NULL, false) AS living
    FROM ballot_keys k LEFT JOIN voting_events e ON e.id = k.voting_event_id WHERE k.wrapped IS NULL ORDER BY 1`;
  const keys = [];
  for (const of of [client, ...others]) {
    const { rows } = await of.query<KeyName & { code: string; living: boolean }>(statement);
    keys.push(...rows.map((key) => ({ ...key, of })));
  }
  const lost: ((typeof keys)[number] & { readonly folder: string })[] = [];
  for (const folder of folders.all) {
    const own = new KeyFolders(folder);
    for (const key of keys) if (!(await holdsKey(own, key))) lost.push({ ...key, folder });
    const codes = lost.flatMap((key) => (key.living && key.folder === folder ? [key.code] : []));
    if (codes.length > 0 && !acceptLoss)
      throw conflict(
        'keys_missing',
        `${folder} has no key of ${codes.join(', ')}. Bring the files back, or accept with --accept-loss that they are lost there.`,
      );
  }
  const marked: string[] = [];
  for (const { folder, isBare, says } of await listUnmarked(settings, clusterId)) {
    if (!isBare)
      throw conflict('folder_in_use', `${says}. Name another folder, or delete ${path.join(folder, MARKER)}.`);
    await mark(settings, folder, clusterId);
    marked.push(folder);
  }
  await noteMarked(client, clusterId);
  if (acceptLoss) for (const { folder, of, ...key } of lost) await noteSeen(of, key, folder);
  return marked;
}
