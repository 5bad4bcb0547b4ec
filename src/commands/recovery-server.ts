import { type ChildProcess, spawn } from 'node:child_process';
import { chownSync, closeSync, fchownSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { ASSUMED } from '#src/database/writer.ts';
import { SERVER_ENVIRONMENT, type ServerUser } from '#src/embedded-postgres/user.ts';
import { listLivingKeys } from '#src/voting-events/check-ballot-keys.ts';
import type { BackupManifest } from './backup-files.ts';

/** Settings of a server that replays WAL. Only a socket in a private folder reaches this server. */
interface RecoverySettings {
  readonly programs: string;
  readonly data: string;
  readonly logFile: string;
  readonly user: ServerUser | undefined;
  readonly manifest: BackupManifest;
}

export type Recovered = NonNullable<Awaited<ReturnType<typeof describeRecovered>>>;

interface ReplayEnd {
  /** Undefined if the server gave up. */
  readonly recovered: Recovered | undefined;
  readonly log: string;
}

const POLL_MS = 200;
const SHOWN_EVENTS = 10;
/** The server listens on no port: this number is only part of the socket's name. */
const SOCKET_PORT = 5432;

/** Options with the places of the configuration files: the restored configuration may name folders of another machine. */
export const ownFiles = (data: string): string[] =>
  Object.entries({
    data_directory: data,
    config_file: path.join(data, 'postgresql.conf'),
    hba_file: path.join(data, 'pg_hba.conf'),
    ident_file: path.join(data, 'pg_ident.conf'),
  }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);

function spawnServer(settings: RecoverySettings, sockets: string): ChildProcess {
  const changed = {
    listen_addresses: '',
    port: String(SOCKET_PORT),
    unix_socket_directories: sockets,
    hba_file: path.join(sockets, 'pg_hba.conf'),
    // A hot standby would refuse settings smaller than production's, and no query needs a hot standby before the replay ends.
    hot_standby: 'off',
    logging_collector: 'off',
    log_destination: 'stderr',
    log_min_messages: 'log',
    // `replayedFiles` and `lastFatal` read the log in English. The restored configuration may name another language.
    lc_messages: 'C',
    log_line_prefix: '',
  };
  const words = Object.entries(changed).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const file = openSync(settings.logFile, 'a', 0o600);
  if (settings.user !== undefined) fchownSync(file, settings.user.uid, settings.user.gid);
  try {
    return spawn(path.join(settings.programs, 'postgres'), [...ownFiles(settings.data), ...words], {
      ...settings.user,
      cwd: '/',
      env: SERVER_ENVIRONMENT,
      stdio: ['ignore', file, file],
    });
  } finally {
    closeSync(file);
  }
}

/** A folder that only the server's user and this process can enter, because its socket asks for no password. */
function makeSocketFolder(user: ServerUser | undefined): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'voting-restore-'));
  const rules = path.join(folder, 'pg_hba.conf');
  writeFileSync(rules, 'local all all trust\n', { mode: 0o600 });
  if (user !== undefined) for (const one of [folder, rules]) chownSync(one, user.uid, user.gid);
  return folder;
}

async function describeRecovered(sockets: string, manifest: BackupManifest) {
  const client = new pg.Client({
    host: sockets,
    port: SOCKET_PORT,
    user: manifest.superuser,
    database: manifest.database,
  });
  // A server that ends breaks the connection; the pending query already reports that.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query(ASSUMED);
    const { rows } = await client.query<{ recovering: boolean; at: string | null; known: boolean }>(`
      SELECT pg_is_in_recovery() AS recovering, extract(epoch FROM pg_last_xact_replay_timestamp()) * 1000 AS at,
        to_regclass('public.voting_events') IS NOT NULL AS known`);
    const [row] = rows;
    if (row === undefined || row.recovering) return undefined;
    const events = row.known
      ? await client.query<{ code: string; count: string }>(
          `SELECT code, count(*) OVER () AS count FROM voting_events ORDER BY created_at DESC LIMIT ${SHOWN_EVENTS}`,
        )
      : { rows: [] };
    return {
      /** Commit time of the last replayed transaction, Unix ms; null if the WAL had none. */
      lastCommitAt: row.at === null ? null : Math.floor(Number(row.at)),
      /** Codes of the newest events, newest first, and the number of all events; none if the service's tables are missing. */
      events: events.rows.map(({ code }) => code),
      eventCount: Number(events.rows[0]?.count ?? 0),
      /** Keys of elections that took ballots at the restored moment. */
      livingKeys: row.known ? await listLivingKeys(client) : [],
    };
  } catch (fault) {
    // The server replays (57P03), has no socket yet, or has given up. The caller's loop sees whether the server has ended.
    const isNotThere = !(fault instanceof pg.DatabaseError) || fault.code?.startsWith('57P') === true;
    if (isNotThere) return undefined;
    throw fault;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** The WAL files that a server's log says it took out of the archive. */
export const replayedFiles = (log: string): string[] =>
  [...log.matchAll(/restored log file "([0-9A-F]{24})"/g)].map(([, file = '']) => file);

/**
 * Runs a server on restored files until it has replayed the WAL and is promoted, or gives up.
 * @param onReplayed gets the number of WAL files so far @param signal ends the server @throws AbortError
 */
export async function replay(
  settings: RecoverySettings,
  onReplayed: (files: number) => void,
  signal: AbortSignal,
): Promise<ReplayEnd> {
  const sockets = makeSocketFolder(settings.user);
  const server = spawnServer(settings, sockets);
  const state = { ended: false };
  const ended = new Promise<void>((resolve) => {
    server.once('error', () => resolve());
    server.once('exit', () => resolve());
  }).then(() => {
    state.ended = true;
  });
  try {
    while (!state.ended) {
      const recovered = await describeRecovered(sockets, settings.manifest);
      const log = await readFile(settings.logFile, 'utf8');
      if (recovered !== undefined) return { recovered, log };
      onReplayed(replayedFiles(log).length);
      await Promise.race([delay(POLL_MS, undefined, { signal }), ended]);
    }
    return { recovered: undefined, log: await readFile(settings.logFile, 'utf8') };
  } finally {
    // A fast shutdown writes a checkpoint, so that the next start needs no recovery.
    server.kill('SIGINT');
    await ended;
    rmSync(sockets, { recursive: true, force: true });
  }
}
