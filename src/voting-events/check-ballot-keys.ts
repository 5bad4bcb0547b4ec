import type pg from 'pg';
import { type Finding, failed, found, warned, withConnection } from '#src/database/check-server.ts';
import { databaseErrorCode } from '#src/database/client.ts';
import { FolderUnusable, type KeyFolders } from '#src/platform/key-folders.ts';
import { createSecrets } from '#src/platform/secrets.ts';
import {
  isKeyOf,
  type KeyName,
  type KeySettings,
  keyFileOf,
  keyFoldersOf,
  readKeyFileName,
  wrappedKeyPlace,
} from './ballot-keys.ts';

const NAME = 'keys of elections';
const COPIES = 'copies of keys';

async function faultOf(folders: KeyFolders, folder: string): Promise<string | undefined> {
  try {
    await folders.check(folder);
    return undefined;
  } catch (fault) {
    if (fault instanceof FolderUnusable) return fault.message;
    throw fault;
  }
}

/** Whether the key of an election could be written now: without it none opens. */
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
  const faults: string[] = [];
  for (const copy of folders.copies) {
    const fault = await faultOf(folders, copy);
    if (fault !== undefined) faults.push(fault);
  }
  const cure = 'No election opens meanwhile, and no key is destroyed. Bring the folder back, or take it off the list.';
  if (faults.length > 0) return [warned(COPIES, `BALLOT_KEYS_COPIES: ${faults.join(', ')}`, cure)];
  return [found(NAME, `they stand in ${folders.all.join(', ')}`)];
}

/** The key of an event that takes ballots, or will. */
export interface LivingKey extends KeyName {
  /** The event's code. */
  readonly code: string;
  /** The key sealed under the secret key, where it stands in the database. */
  readonly wrapped: string | null;
}

/** A table or a column that is not there. */
const UNDEFINED = ['42P01', '42703'];

/** The keys that are still needed. None in a database that is not migrated yet. */
export async function listLivingKeys(client: Pick<pg.Client, 'query'>): Promise<LivingKey[]> {
  try {
    const { rows } = await client.query<LivingKey>(`
      SELECT k.voting_event_id AS "eventId", k.id, e.code, k.wrapped FROM ballot_keys k
      JOIN voting_events e ON e.id = k.voting_event_id AND e.ballot_key = k.id AND e.deleted_at IS NULL
      WHERE k.retired_at IS NULL ORDER BY 1`);
    return rows;
  } catch (fault) {
    if (UNDEFINED.includes(databaseErrorCode(fault) ?? '')) return [];
    throw fault;
  }
}

/** The key itself, in base64, from a folder or from its row. Undefined where neither gives it. */
export async function readLivingKey(
  key: LivingKey,
  folders: KeyFolders | undefined,
  secretKeys: readonly Uint8Array[],
): Promise<string | undefined> {
  const content = await folders?.read(keyFileOf(key), (read) => isKeyOf(key, read));
  if (content !== undefined || key.wrapped === null || secretKeys.length === 0) return content;
  const opened = createSecrets(secretKeys).openForeign(key.wrapped, wrappedKeyPlace(key.eventId, key.id));
  return opened === undefined ? undefined : `${opened.toString('base64')}\n`;
}

interface Settings extends KeySettings {
  readonly secretKeys: readonly Uint8Array[];
}

/** Whether this process could read the key of each election that takes ballots, and what lies beside them. */
export async function checkLivingKeys(settings: Settings, url: string): Promise<Finding[]> {
  const folders = keyFoldersOf(settings);
  const living = await withConnection(url, listLivingKeys);
  const lacking: string[] = [];
  for (const key of living)
    if ((await readLivingKey(key, folders, settings.secretKeys)) === undefined) lacking.push(key.code);
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
  return [...findings, ...(folders === undefined ? [] : await checkCopies(folders, living))];
}

async function checkCopies(folders: KeyFolders, living: readonly LivingKey[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  const wanted = living.filter(({ wrapped }) => wrapped === null).map(keyFileOf);
  for (const folder of folders.all) {
    const files = await folders.list(folder).catch((fault: unknown) => {
      if (fault instanceof FolderUnusable) return undefined;
      throw fault;
    });
    // `checkKeyFolders` has said so.
    if (files === undefined) continue;
    const there = new Set(files);
    const lacking = wanted.filter((name) => !there.has(name)).length;
    if (lacking > 0)
      findings.push(warned(COPIES, `${folder} lacks ${lacking} of ${wanted.length} keys`, `Copy them there.`));
    const surplus = files.filter((name) => readKeyFileName(name) !== undefined && !wanted.includes(name)).length;
    if (surplus > 0)
      findings.push(
        warned(
          COPIES,
          `${folder} holds ${surplus} keys that no open election has`,
          'Those of elections that are over go within a minute. Others were left by an opening that was cut off, or belong to another service.',
        ),
      );
  }
  return findings;
}
