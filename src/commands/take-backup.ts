import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { z } from 'zod';
import type { Config } from '#src/config.ts';
import { lookAt } from '#src/database/check-server.ts';
import { findPrograms, type ProgramFolders, type Programs } from '#src/database/postgres-programs.ts';
import { withoutPassword } from '#src/database/writer.ts';
import { conflict } from '#src/platform/errors.ts';
import { createSecrets } from '#src/platform/secrets.ts';
import { readVersion } from '#src/platform/version.ts';
import { keyFoldersOf } from '#src/voting-events/key-places.ts';
import {
  type BackupManifest,
  dataFolder,
  liesIn,
  requireNewFolder,
  walFileBefore,
  walFileOf,
  writeManifest,
} from './backup-files.ts';
import { type Answer, commandLine } from './cli.ts';
import { NO_PROGRESS, showProgress } from './progress.ts';
import { readControlData, requireDone, runProgram } from './run-program.ts';

const NAMES = ['pg_basebackup', 'pg_verifybackup', 'pg_controldata'];
/** Time limit for archiving a WAL file, which a working archive_command does within seconds. */
const ARCHIVE_MS = 60_000;
const LOOK_AGAIN_MS = 250;

interface BackupSource {
  readonly config: Config;
  readonly url: string;
  readonly programs: ProgramFolders;
  readonly json: boolean;
}

interface Server {
  readonly version: string;
  readonly major: number;
  readonly segmentBytes: number;
  readonly archiving: boolean;
  readonly superuser: string;
  readonly database: string;
}

async function describeServer(client: pg.Client): Promise<Server> {
  const { rows } = await client.query<Server>(`
    SELECT split_part(current_setting('server_version'), ' ', 1) AS version,
      current_setting('server_version_num')::int / 10000 AS major,
      (SELECT setting::int FROM pg_settings WHERE name = 'wal_segment_size') AS "segmentBytes",
      current_setting('archive_mode') <> 'off' AS archiving,
      (SELECT rolname FROM pg_roles WHERE oid = 10) AS superuser, current_database() AS database`);
  const [server] = rows;
  if (server === undefined) throw new Error('the server describes itself with no row');
  return server;
}

interface Archiver {
  /** The newest archived WAL file; null before the first. */
  readonly last: string | null;
  /** The WAL file whose archiving failed most recently; null if a later try succeeded. */
  readonly failing: string | null;
}

async function readArchiver(client: pg.Client): Promise<Archiver> {
  const { rows } = await client.query<Archiver>(`
    SELECT last_archived_wal AS last,
      CASE WHEN last_failed_time > coalesce(last_archived_time, '-infinity') THEN last_failed_wal END AS failing
    FROM pg_stat_archiver`);
  return rows[0] ?? { last: null, failing: null };
}

const FAILING_CURE =
  'The server’s own log says why (archive_command). Without the archive, nothing after a backup can be given back.';

function requireArchiving(server: Server, { failing }: Archiver): void {
  if (!server.archiving)
    throw conflict(
      'archive_off',
      'the server does not archive its write-ahead log (archive_mode is off): only the moment of a backup could be given back. Set archive_mode and archive_command; docs/operations.md, "Backup", has the lines.',
    );
  if (failing !== null) throw conflict('archive_fails', `the server could not archive ${failing}. ${FAILING_CURE}`);
}

/** Waits until the WAL of the backup itself is archived, which proves that archiving works. */
async function awaitArchived(client: pg.Client, file: string): Promise<void> {
  const until = performance.now() + ARCHIVE_MS;
  for (;;) {
    const { last, failing } = await readArchiver(client);
    // `last` may also be the history file of a timeline or backup. Such names sort among the names of WAL files.
    if (last !== null && last.slice(0, 24) >= file) return;
    if (failing !== null) throw conflict('archive_fails', `the server could not archive ${failing}. ${FAILING_CURE}`);
    if (performance.now() > until)
      throw conflict(
        'archive_slow',
        `the server has not archived ${file} within ${ARCHIVE_MS / 1_000} s. ${FAILING_CURE}`,
      );
    await delay(LOOK_AGAIN_MS);
  }
}

/** Splits the password off the URL, to pass it in the environment: every user of the machine can read arguments. */
async function copyServer(source: BackupSource, programs: Programs, target: string): Promise<void> {
  const { address, password } = withoutPassword(source.url);
  const environment = password === undefined ? {} : { PGPASSWORD: password };
  const words = ['-D', target, '-d', address, '-c', 'fast', '-X', 'stream', '--progress', '--no-password'];
  let bar = NO_PROGRESS;
  let total = 0;
  const end = await runProgram(path.join(programs.folder, 'pg_basebackup'), words, {
    environment,
    onText(text) {
      const [, done, all] = [...text.matchAll(/\b(\d+)\/(\d+) kB/g)].at(-1) ?? [];
      if (source.json || done === undefined) return;
      if (total === 0) {
        total = Number(all);
        bar = showProgress(total, 0, 'kB copied');
      }
      bar.update(Math.min(Number(done), total), '');
    },
  });
  bar.stop();
  requireDone(end, 'backup_failed', 'the backup could not be taken');
}

const manifestOfServer = z.object({
  'WAL-Ranges': z.array(z.object({ Timeline: z.int(), 'Start-LSN': z.string(), 'End-LSN': z.string() })).min(1),
});

async function describeBackup(
  source: BackupSource,
  programs: Programs,
  server: Server,
  folder: string,
  takenAt: number,
): Promise<BackupManifest> {
  const data = dataFolder(folder);
  const [systemIdentifier = ''] = await readControlData(programs.folder, data, ['Database system identifier']);
  const listed = manifestOfServer.parse(JSON.parse(await readFile(path.join(data, 'backup_manifest'), 'utf8')));
  const [first, last] = [listed['WAL-Ranges'][0], listed['WAL-Ranges'].at(-1)];
  if (first === undefined || last === undefined) throw new Error('a backup without its log');
  return {
    format: 1,
    takenAt,
    serviceVersion: readVersion(),
    serverVersion: server.version,
    serverMajor: server.major,
    systemIdentifier,
    timeline: last.Timeline,
    walSegmentBytes: server.segmentBytes,
    firstWalFile: walFileOf(first.Timeline, first['Start-LSN'], server.segmentBytes),
    lastWalFile: walFileBefore(last.Timeline, last['End-LSN'], server.segmentBytes),
    database: server.database,
    superuser: server.superuser,
    secretKeyIds: source.config.secretKeys.map((key) => createSecrets([key]).id),
  };
}

async function databaseTime(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ ms: string }>(
    'SELECT ceil(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms',
  );
  return Number(rows[0]?.ms);
}

/** Takes and checks a base backup, and waits until the archive has its WAL. @throws ApiError 409 if the backup failed or is incomplete */
export async function takeBackup(source: BackupSource, to: string): Promise<Answer> {
  const folder = path.resolve(to);
  // Keys of elections open the ballots of a backup.
  if (await liesIn(folder, keyFoldersOf(source.config)?.all ?? []))
    throw conflict('folder_in_use', `${folder} lies in a folder of keys: name a place of its own for the backup.`);
  return lookAt(source.url, async (client) => {
    const server = await describeServer(client);
    requireArchiving(server, await readArchiver(client));
    const programs = findPrograms(source.programs, NAMES, server.major, true);
    await requireNewFolder(folder);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await copyServer(source, programs, dataFolder(folder));
    const takenAt = await databaseTime(client);
    // PostgreSQL's programs can parse the WAL of their own major version only.
    const log = programs.major === server.major ? [] : ['--no-parse-wal'];
    const verify = await runProgram(path.join(programs.folder, 'pg_verifybackup'), [...log, dataFolder(folder)]);
    requireDone(verify, 'backup_damaged', 'the backup is not what the server sent');
    const manifest = await describeBackup(source, programs, server, folder, takenAt);
    await awaitArchived(client, manifest.lastWalFile);
    await writeManifest(folder, manifest);
    return {
      value: { folder, ...manifest },
      shown: {
        folder,
        takenAt,
        server: `PostgreSQL ${server.version}`,
        timeline: manifest.timeline,
        checked: 'every file is what the server sent',
        archived: manifest.lastWalFile,
      },
      next: [
        'Keep as well, each apart from this backup: SECRET_KEY, LOG_SIGNING_KEY, the folder checkpoints of DATA_DIR, and the archive.',
        `Try it: ${commandLine(`restore --backup ${folder} --archive … --to …`)}`,
      ],
    };
  });
}
