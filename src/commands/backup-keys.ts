import path from 'node:path';
import type pg from 'pg';
import type { Config } from '#src/config.ts';
import { withConnection } from '#src/database/check-server.ts';
import { conflict } from '#src/platform/errors.ts';
import { exists, resolveLinks } from '#src/platform/files.ts';
import { KeyFolders } from '#src/platform/key-folders.ts';
import { listLivingKeys, readLivingKey } from '#src/voting-events/check-ballot-keys.ts';
import { keyFileOf, keyFoldersOf, MARKER, readKeyFileName } from '#src/voting-events/key-places.ts';
import { isInBackup, liesIn } from './backup-files.ts';
import type { Answer } from './cli.ts';

/** The events among `ids` that are in this database, or whose deletion from it the audit trail records; none that moves to or from another cell. */
async function listKnown(client: pg.Client, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT id FROM voting_events WHERE id = ANY ($1) AND code_key !~ '^(arriving|moved)/'
     UNION SELECT voting_event_id FROM audit_entries WHERE voting_event_id = ANY ($1) AND action = 'voting_event.deleted'`,
    [ids],
  );
  return new Set(rows.map(({ id }) => id));
}

/**
 * Copies the keys of unfinished elections into a separate folder, and deletes the keys of elections that are over or deleted from it,
 * because such a key could decrypt ballots in an old backup.
 * @throws FolderUnusable; ApiError 409 if the folder belongs to the service or to a base backup
 */
export async function backupKeys(config: Config, url: string, to: string): Promise<Answer> {
  const folder = await resolveLinks(path.resolve(to));
  const sources = keyFoldersOf(config);
  // A mount can lead to a folder of the service by another path: a marker file shows such a folder.
  if (
    (await liesIn(folder, [config.dataDir, ...(sources?.all ?? [])])) ||
    (await exists(path.join(folder, MARKER))) ||
    (await isInBackup(folder))
  )
    throw conflict(
      'folder_in_use',
      `${folder} lies in a folder of the service, or in a base backup: name a place of its own.`,
    );
  const target = new KeyFolders(folder);
  // List first, so that keys that another run writes from here on are not removed.
  const held = (await target.list(folder)).flatMap((name) => readKeyFileName(name) ?? []);
  const { living, known } = await withConnection(url, async (client) => ({
    living: await listLivingKeys(client),
    known: await listKnown(
      client,
      held.map(({ eventId }) => eventId),
    ),
  }));
  await target.destroyParts(folder);
  const lacking: string[] = [];
  const wanted = new Set(living.map(keyFileOf));
  let removed = 0;
  for (const key of living) {
    const content = await readLivingKey(key, sources, config.secretKeys);
    if (content === undefined) lacking.push(key.code);
    else await target.writeTo(folder, keyFileOf(key), content);
  }
  for (const key of held) {
    const name = keyFileOf(key);
    // Leaves keys of events that this database never had: another service may use the same folder.
    if (wanted.has(name) || !known.has(key.eventId)) continue;
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
