import { realpath } from 'node:fs/promises';
import path from 'node:path';
import type { Config } from '#src/config.ts';
import { withConnection } from '#src/database/check-server.ts';
import { conflict } from '#src/platform/errors.ts';
import { exists } from '#src/platform/files.ts';
import { KeyFolders } from '#src/platform/key-folders.ts';
import { listLivingKeys, readLivingKey } from '#src/voting-events/check-ballot-keys.ts';
import { keyFileOf, keyFoldersOf, MARKER, readKeyFileName } from '#src/voting-events/key-places.ts';
import { isInBackup, isWithin } from './backup-files.ts';
import type { Answer } from './cli.ts';

/**
 * Copies the keys of unfinished elections into a separate folder, and deletes the keys of finished elections from this folder,
 * because such a key could decrypt ballots in an old backup.
 * @throws FolderUnusable; ApiError 409 if the folder belongs to the service or to a base backup
 */
export async function backupKeys(config: Config, url: string, to: string): Promise<Answer> {
  const folder = await realpath(to).catch(() => path.resolve(to));
  const sources = keyFoldersOf(config);
  const owned = await Promise.all(
    [config.dataDir, ...(sources?.all ?? [])].map((own) => realpath(own).catch(() => own)),
  );
  // A mount leads to a folder of the service by another path: its marker is there.
  if (
    owned.some((own) => isWithin(folder, own)) ||
    (await exists(path.join(folder, MARKER))) ||
    (await isInBackup(folder))
  )
    throw conflict(
      'folder_in_use',
      `${folder} lies in a folder of the service, or in a base backup: name a place of its own.`,
    );
  const { living, known } = await withConnection(url, async (client) => ({
    living: await listLivingKeys(client),
    known: new Set(
      (
        await client.query<{ id: string }>(`SELECT id FROM voting_events WHERE NOT starts_with(code_key, 'moved/')`)
      ).rows.map(({ id }) => id),
    ),
  }));
  const target = new KeyFolders(folder);
  await target.destroyParts(folder);
  const lacking: string[] = [];
  const wanted = new Set(living.map(keyFileOf));
  let removed = 0;
  for (const key of living) {
    const content = await readLivingKey(key, sources, config.secretKeys);
    if (content === undefined) lacking.push(key.code);
    else await target.writeTo(folder, keyFileOf(key), content);
  }
  for (const name of await target.list(folder)) {
    const event = readKeyFileName(name)?.eventId;
    // Leaves keys of events that this database does not have: another service may use the same folder.
    if (event === undefined || wanted.has(name) || !known.has(event)) continue;
    await target.destroy(name);
    removed += 1;
  }
  return {
    value: { folder, written: living.length - lacking.length, removed, eventsWithoutKey: lacking },
    shown: { folder, written: living.length - lacking.length, removed, eventsWithoutKey: lacking.join(', ') || 'none' },
    next: [
      'Keep this folder apart from every backup of the database, and run this as often as elections open and end.',
    ],
    refused: lacking.length > 0,
  };
}
