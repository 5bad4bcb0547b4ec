import { constants } from 'node:fs';
import { appendFile, chmod, chown, copyFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { findPrograms, type ProgramFolders } from '#src/database/postgres-programs.ts';
import { canEnter, canRun, chooseServerUser, type ServerUser } from '#src/embedded-postgres/user.ts';
import { conflict } from '#src/platform/errors.ts';
import { KeyFolders } from '#src/platform/key-folders.ts';
import { requireFreePort } from '#src/server/listen.ts';
import { isReadable, type LivingKey } from '#src/voting-events/check-ballot-keys.ts';
import {
  type BackupManifest,
  chooseTimeline,
  dataFolder,
  findSegments,
  liesIn,
  readArchive,
  readManifest,
  requireNewFolder,
} from './backup-files.ts';
import { type Answer, commandLine } from './cli.ts';
import { parseMoment } from './options.ts';
import { listenForStop, NO_PROGRESS, showProgress } from './progress.ts';
import { ownFiles, type Recovered, replay, replayedFiles } from './recovery-server.ts';
import { requireDone, runProgram } from './run-program.ts';

/**
 * Checks if a folder holds the key of each election that took ballots at the restored moment. Keys stored in the restored database
 * are not checked: SECRET_KEY decrypts them.
 * @param folder undefined if `--keys` was not given
 * @returns the codes of elections without a key, whose waiting ballots are unreadable, and hints for the operator
 */
async function compareKeys(folder: string | undefined, living: readonly LivingKey[]) {
  const folders = folder === undefined ? undefined : new KeyFolders(path.resolve(folder));
  const wanted = living.filter(({ wrapped }) => wrapped === null);
  const lacking: string[] = [];
  for (const key of wanted) if (!(await isReadable(key, folders, []))) lacking.push(key.code);
  const named =
    wanted.length > 0 && folders !== undefined
      ? [`export BALLOT_KEYS_DIR=${folders.main}`, `${commandLine('ballot-keys init')}   (after migrate)`]
      : [];
  const hint =
    lacking.length > 0
      ? [
          `Without their keys, ballots of ${lacking.join(', ')} that waited at that moment cannot be read: a later restore finds them with --keys. Of an election that is over since, no key is left.`,
        ]
      : [];
  return { lacking, next: [...hint, ...named] };
}

export interface RestoreOptions {
  readonly backup: string;
  readonly archive: string;
  readonly to: string;
  /** The moment to restore, in PostgreSQL's format with a time zone. */
  readonly at?: string;
  readonly point?: string;
  readonly timeline?: number;
  readonly port: number;
  /** The folder with the keys of elections: written by `backup --keys`, or a copy of BALLOT_KEYS_DIR. */
  readonly keys?: string;
}

const NAMES = ['postgres', 'pg_ctl', 'pg_verifybackup'];
const BLOCK = '# Written by `restore`';

/** Quotes a value for a configuration file of the server. */
const quoted = (value: string): string => `'${value.replaceAll("'", "''")}'`;
const shellQuoted = (value: string): string => `'${value.replaceAll("'", "'\\''")}'`;

const serverUserName = (user: ServerUser | undefined): string =>
  `the user that PostgreSQL runs as (${user?.uid ?? 'yours'})`;

/** If this process is root, the server runs as an ordinary user, who must be able to reach the files. @throws ApiError 409 */
function requireReach(user: ServerUser | undefined, archive: string, parent: string): void {
  const mayRead = canRun(
    '/bin/sh',
    ['-c', 'cd -- "$1" && for one in *; do test -r "$one" || exit 1; done', 'sh', archive],
    user,
  );
  if (!mayRead)
    throw conflict(
      'archive_unreadable',
      `${serverUserName(user)} cannot read every file of ${archive}. Run this as the user who owns the archive, or give that one the right to read.`,
    );
  if (!canEnter(parent, user))
    throw conflict(
      'folder_unreachable',
      `${serverUserName(user)} cannot enter ${parent}. Name a folder elsewhere, such as below /var/lib.`,
    );
}

async function give(user: ServerUser | undefined, ...files: readonly string[]): Promise<void> {
  if (user !== undefined) for (const file of files) await chown(file, user.uid, user.gid);
}

/** Copies what is in a folder with the modes and the owner that the server requires. @param onCopied called with the number of files so far */
async function copyTree(
  from: string,
  to: string,
  user: ServerUser | undefined,
  onCopied: (files: number) => void,
): Promise<void> {
  let copied = 0;
  await give(user, to);
  for (const entry of await readdir(from, { recursive: true, withFileTypes: true })) {
    const source = path.join(entry.parentPath, entry.name);
    const target = path.join(to, path.relative(from, source));
    if (entry.isDirectory()) await mkdir(target, { recursive: true, mode: 0o700 });
    else {
      await mkdir(path.dirname(target), { recursive: true, mode: 0o700 });
      await copyFile(source, target, constants.COPYFILE_FICLONE);
      await chmod(target, 0o600);
      copied += 1;
      onCopied(copied);
    }
    await give(user, target);
  }
}

const countFiles = async (folder: string): Promise<number> =>
  (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => !entry.isDirectory()).length;

/** Permanent settings of the restored server, which runs beside production and must not write to production's files or archive. */
const lastingSettings = (port: number): Record<string, string> => ({
  archive_mode: 'off',
  archive_command: '',
  primary_conninfo: '',
  primary_slot_name: '',
  synchronous_standby_names: '',
  listen_addresses: '127.0.0.1',
  port: String(port),
  ssl: 'off',
  // Paths and libraries of production's machine, which may not exist or be writable on this one.
  unix_socket_directories: '',
  external_pid_file: '',
  logging_collector: 'off',
  log_destination: 'stderr',
  shared_preload_libraries: '',
});

function recoverySettings(options: RestoreOptions, archive: string, timeline: number): Record<string, string> {
  const folder = archive.replaceAll('%', '%%');
  return {
    restore_command: `cp ${shellQuoted(folder)}/%f "%p"`,
    recovery_target_timeline: String(timeline),
    recovery_target_action: 'promote',
    // The server refuses two targets, even if one is empty.
    ...(options.at === undefined ? {} : { recovery_target_time: options.at }),
    ...(options.point === undefined ? {} : { recovery_target_name: options.point }),
  };
}

const lines = (settings: Readonly<Record<string, string>>): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name} = ${quoted(value)}\n`)
    .join('');

/** Adds files that a base backup lacks, because some packages of PostgreSQL keep them outside of the data folder. */
async function addMissingFiles(data: string, user: ServerUser | undefined): Promise<void> {
  const files = {
    'postgresql.conf': '',
    'pg_hba.conf': 'host all all 127.0.0.1/32 scram-sha-256\n',
    'pg_ident.conf': '',
  };
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(data, name);
    if ((await stat(file).catch(() => undefined)) !== undefined) continue;
    await writeFile(file, text, { mode: 0o600 });
    await give(user, file);
  }
}

async function writeSettings(
  data: string,
  user: ServerUser | undefined,
  port: number,
  recovery: Readonly<Record<string, string>>,
): Promise<void> {
  await addMissingFiles(data, user);
  const file = path.join(data, 'postgresql.auto.conf');
  await appendFile(file, `${BLOCK}: beside production, nothing is archived.\n${lines(lastingSettings(port))}`);
  await appendFile(file, `${BLOCK}: while the log is replayed.\n${lines(recovery)}`);
  await rm(path.join(data, 'standby.signal'), { force: true });
  const signal = path.join(data, 'recovery.signal');
  await writeFile(signal, '', { mode: 0o600 });
  await give(user, file, signal);
}

/** Removes the settings of the replay: the next recovery would otherwise obey them. */
async function dropRecoverySettings(data: string): Promise<void> {
  const file = path.join(data, 'postgresql.auto.conf');
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.slice(0, text.lastIndexOf(BLOCK)));
}

function reasonIn(log: string, options: RestoreOptions): string {
  const last = [...log.matchAll(/last completed transaction was at log time ([^\n]+)/g)].at(-1)?.[1];
  const asked = options.point === undefined ? `the moment ${options.at}` : `the point ${options.point}`;
  if (/recovery ended before configured recovery target was reached/.test(log)) {
    const end =
      last === undefined
        ? 'the archive holds no transaction after the backup'
        : `the last transaction that the archive holds is of ${last}`;
    return `${asked} was not reached: ${end}. Name an earlier one, bring the rest of the log into the archive, or leave it away to get everything that is there`;
  }
  if (/requested recovery stop point is before consistent recovery point/.test(log))
    return `${asked} is before this backup was complete: take an older backup`;
  return `the server gave up: ${lastFatal(log) ?? 'no reason given'}`;
}

/** The last FATAL or PANIC message in a server's log, whatever prefix the lines have. */
function lastFatal(log: string): string | undefined {
  return [...log.matchAll(/(?:FATAL|PANIC): +([^\n]+)/g)].at(-1)?.[1];
}

/**
 * PostgreSQL takes a damaged file for the end of the log, and would lose what is behind it in silence.
 * @param last the last file of the archive, if it has more than the backup @throws ApiError 409 if the server did not come to it
 */
function requireReplayed(log: string, last: string | undefined): void {
  const files = replayedFiles(log);
  if (last === undefined || files.includes(last)) return;
  throw conflict(
    'archive_damaged',
    `the replay ended in ${files.toSorted().at(-1) ?? 'the backup'}, while the archive goes on to ${last}. If that file is damaged, bring a sound copy of it into the archive, or name an earlier moment with --at; if the log ends in it, take away the files behind it, which are not of this log.`,
  );
}

function requireAfterBackup({ takenAt }: BackupManifest, at: string | undefined): void {
  if (at !== undefined && parseMoment(at) < takenAt)
    throw conflict(
      'moment_before_backup',
      `this backup was complete at ${new Date(takenAt).toISOString()}, after ${at}: take an older backup.`,
    );
}

function nextOf(
  options: RestoreOptions,
  manifest: BackupManifest,
  { events, eventCount }: Recovered,
  data: string,
): string[] {
  const more = eventCount - events.length;
  return [
    `export DATABASE_URL=postgres://ROLE:PASSWORD@127.0.0.1:${options.port}/${manifest.database}   (roles and passwords are those of the backup)`,
    `${commandLine('migrate')}   (as the owner)`,
    commandLine('doctor'),
    ...events.map((code) => commandLine(`recount --event ${code}`)),
    ...(more > 0 ? [`… and ${more} more events`] : []),
    commandLine('log verify --base-url URL --event CODE --since checkpoint.txt'),
    `The server runs: pg_ctl -D ${data} stop ends it. It archives nothing; docs/operations.md says how it becomes production.`,
  ];
}

interface Place {
  readonly data: string;
  readonly logFile: string;
  readonly user: ServerUser | undefined;
  readonly programs: string;
}

/** Starts the restored server for use, reachable from this machine only. */
async function startToStay({ data, logFile, user, programs }: Place): Promise<void> {
  const own = ownFiles(data)
    .map((word) => shellQuoted(word))
    .join(' ');
  // `pg_ctl` finds the process by the folder of `-D`, and passes the options in `own` to the server.
  const words = ['-D', data, '-l', logFile, '-o', own, '-w', '-t', '300', '-s', 'start'];
  const started = await runProgram(path.join(programs, 'pg_ctl'), words, { user });
  if (started.code !== 0)
    throw conflict(
      'start_failed',
      `the restored server did not start: ${lastFatal(await readFile(logFile, 'utf8')) ?? 'no reason given'} (${logFile}).`,
    );
}

/** Makes the folder of the data, and first the log beside it: of two restores into one folder, only one can make the log. @throws ApiError 409 */
async function claim({ data, logFile }: Place): Promise<void> {
  await writeFile(logFile, '', { mode: 0o600, flag: 'wx' }).catch(() => {
    throw conflict('folder_in_use', `${logFile} is there already, or cannot be made, and the server's log goes there.`);
  });
  try {
    await requireNewFolder(data);
    await mkdir(data, { mode: 0o700 });
  } catch (fault) {
    await rm(logFile);
    throw fault;
  }
}

/**
 * Restores a moment on a new server: copies a backup, replays the archived WAL up to the moment, and starts the server.
 * @throws ApiError 409 if the moment cannot be restored; the copied files are then removed
 */
export async function restoreBackup(options: RestoreOptions, folders: ProgramFolders, json: boolean): Promise<Answer> {
  const backup = path.resolve(options.backup);
  const archiveFolder = path.resolve(options.archive);
  const data = path.resolve(options.to);
  // `pg_ctl` gives both names to a shell, between double quotes.
  if (/["$`\\]/.test(data))
    throw conflict(
      'folder_name',
      `${data}: the name may not hold a quotation mark ("), a $, a backslash or a backtick.`,
    );
  if (await liesIn(data, [backup, archiveFolder]))
    throw conflict('folder_in_use', `${data} lies in the backup or in the archive: name a folder elsewhere.`);
  const manifest = await readManifest(backup);
  requireAfterBackup(manifest, options.at);
  const { folder: programs } = findPrograms(folders, NAMES, manifest.serverMajor, false);
  const archive = await readArchive(archiveFolder, manifest.walSegmentBytes);
  const timeline = chooseTimeline(archive, manifest, options.timeline);
  const segments = findSegments(archive, manifest, timeline);
  // Check the port now, not after hours of copying and replaying.
  await requireFreePort({ port: options.port, host: '127.0.0.1' }).catch(() => {
    throw conflict('port_in_use', `port ${options.port} cannot be listened on: name another one with --port.`);
  });
  await mkdir(path.dirname(data), { recursive: true });
  const user = chooseServerUser();
  const place = { data, logFile: `${data}.log`, programs, user };
  await claim(place);
  const stop = listenForStop();
  const { signal } = stop;
  const work = { options, manifest, place, backup, archiveFolder, timeline, segments, json, signal };
  const recovered = await bringToMoment(work)
    .catch(async (fault: unknown) => {
      for (const made of [data, place.logFile]) await rm(made, { recursive: true, force: true });
      throw signal.aborted ? conflict('stopped', 'the restore was asked to stop: what was copied is removed.') : fault;
    })
    .finally(() => stop.release());
  await startToStay(work.place);
  const keys = await compareKeys(options.keys, recovered.livingKeys);
  const value = {
    folder: data,
    port: options.port,
    database: manifest.database,
    followedTimeline: timeline,
    lastCommitAt: recovered.lastCommitAt,
    events: recovered.eventCount,
    log: place.logFile,
    eventsWithoutKey: keys.lacking,
  };
  const shown = { ...value, eventsWithoutKey: keys.lacking.join(', ') || 'none' };
  return { value, shown, next: [...keys.next, ...nextOf(options, manifest, recovered, data)] };
}

interface Work {
  readonly options: RestoreOptions;
  readonly manifest: BackupManifest;
  readonly place: Place;
  readonly backup: string;
  readonly archiveFolder: string;
  readonly timeline: number;
  readonly segments: ReturnType<typeof findSegments>;
  readonly json: boolean;
  readonly signal: AbortSignal;
}

async function bringToMoment({ options, manifest, place, backup, ...work }: Work): Promise<Recovered> {
  const { data, user, programs } = place;
  const { archiveFolder, timeline, segments, json, signal } = work;
  requireReach(user, archiveFolder, path.dirname(data));
  const verify = await runProgram(path.join(programs, 'pg_verifybackup'), [dataFolder(backup)], { signal });
  requireDone(verify, 'backup_damaged', 'the backup is damaged');
  const shown = (total: number, unit: string) => (json ? NO_PROGRESS : showProgress(total, 0, unit));
  const copying = shown(await countFiles(dataFolder(backup)), 'files copied');
  const onCopied = (files: number): void => {
    signal.throwIfAborted();
    copying.update(files, '');
  };
  await copyTree(dataFolder(backup), data, user, onCopied).finally(() => copying.stop());
  await writeSettings(data, user, options.port, recoverySettings(options, archiveFolder, timeline));
  const replaying = shown(segments.count, 'files of the log replayed');
  const onReplayed = (files: number): void => replaying.update(Math.min(files, segments.count), '');
  const { recovered, log } = await replay({ ...place, manifest }, onReplayed, signal).finally(() => replaying.stop());
  if (recovered === undefined) throw conflict('moment_not_reached', `${reasonIn(log, options)}.`);
  if (options.at === undefined && options.point === undefined) requireReplayed(log, segments.last);
  const { lastCommitAt } = recovered;
  if (options.at !== undefined && lastCommitAt !== null && lastCommitAt > parseMoment(options.at))
    throw conflict(
      'moment_passed',
      `the server replayed more than was asked for, up to ${new Date(lastCommitAt).toISOString()}.`,
    );
  await dropRecoverySettings(data);
  return recovered;
}
