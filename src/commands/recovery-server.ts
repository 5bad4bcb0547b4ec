import { type ChildProcess, spawn } from 'node:child_process';
import { chownSync, closeSync, fchownSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { SERVER_ENVIRONMENT, type ServerUser } from '#src/embedded-postgres/user.ts';
import { type LivingKey, listLivingKeys } from '#src/voting-events/check-ballot-keys.ts';
import type { BackupManifest } from './backup-files.ts';

/** A server that replays a log. It is reached through a folder of its own alone. */
interface RecoverySettings {
  /** The folder of PostgreSQL's programs. */
  readonly programs: string;
  readonly data: string;
  readonly logFile: string;
  readonly user: ServerUser | undefined;
  readonly manifest: BackupManifest;
}

export interface Recovered {
  /** The timeline that the restored server follows from now on. */
  readonly timeline: number;
  /** When the last transaction was committed that is there, Unix milliseconds; null where the log held none. */
  readonly lastCommitAt: number | null;
  /** Codes of events, newest first, and how many there are; none where the database holds no service. */
  readonly events: readonly string[];
  readonly eventCount: number;
  /** Keys of elections that took ballots at that moment. */
  readonly livingKeys: readonly LivingKey[];
}

type ReplayEnd =
  | { readonly kind: 'recovered'; readonly recovered: Recovered }
  | { readonly kind: 'ended'; readonly log: string };

const POLL_MS = 200;
const SHOWN_EVENTS = 10;
/** No port is listened on: the number names the socket. */
const SOCKET_PORT = 5432;

/** Where the files of a configuration lie, whatever the restored one says of folders of another machine. */
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
    // A standby would wait for settings as large as production's; there are no readers before the end.
    hot_standby: 'off',
    logging_collector: 'off',
    log_destination: 'stderr',
    log_min_messages: 'log',
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

/** A folder that only the server's user and we can enter: who gets there is let in without a password. */
function makeSocketFolder(user: ServerUser | undefined): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'voting-restore-'));
  const rules = path.join(folder, 'pg_hba.conf');
  writeFileSync(rules, 'local all all trust\n', { mode: 0o600 });
  if (user !== undefined) for (const one of [folder, rules]) chownSync(one, user.uid, user.gid);
  return folder;
}

async function describeRecovered(sockets: string, manifest: BackupManifest): Promise<Recovered | undefined> {
  const client = new pg.Client({
    host: sockets,
    port: SOCKET_PORT,
    user: manifest.superuser,
    database: manifest.database,
  });
  // A server that ends breaks the connection: the query that waits on it says so.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ recovering: boolean; timeline: string; at: string | null; known: boolean }>(`
      SELECT pg_is_in_recovery() AS recovering, substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) AS timeline,
        extract(epoch FROM pg_last_xact_replay_timestamp()) * 1000 AS at,
        to_regclass('public.voting_events') IS NOT NULL AS known`);
    const [row] = rows;
    if (row === undefined || row.recovering) return undefined;
    const events = row.known
      ? await client.query<{ code: string; count: string }>(
          `SELECT code, count(*) OVER () AS count FROM voting_events ORDER BY created_at DESC LIMIT ${SHOWN_EVENTS}`,
        )
      : { rows: [] };
    return {
      timeline: Number.parseInt(row.timeline, 16),
      lastCommitAt: row.at === null ? null : Math.floor(Number(row.at)),
      events: events.rows.map(({ code }) => code),
      eventCount: Number(events.rows[0]?.count ?? 0),
      livingKeys: row.known ? await listLivingKeys(client) : [],
    };
  } catch (fault) {
    // It replays (57P03), is about to open its socket, or has given up and breaks connections off: who waits for its end sees which.
    const isNotThere = !(fault instanceof pg.DatabaseError) || fault.code?.startsWith('57P') === true;
    if (isNotThere) return undefined;
    throw fault;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/**
 * Starts a server on restored files and waits until it has replayed the log and is promoted, or has given up.
 * @param onReplayed hears how many files of the log are dealt with
 */
export async function replay(settings: RecoverySettings, onReplayed: (files: number) => void): Promise<ReplayEnd> {
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
      if (recovered !== undefined) return { kind: 'recovered', recovered };
      const log = await readFile(settings.logFile, 'utf8');
      onReplayed([...log.matchAll(/restored log file "[0-9A-F]{24}"/g)].length);
      await Promise.race([delay(POLL_MS), ended]);
    }
    return { kind: 'ended', log: await readFile(settings.logFile, 'utf8') };
  } finally {
    // A clean shutdown writes everything out.
    server.kill('SIGINT');
    await ended;
    rmSync(sockets, { recursive: true, force: true });
  }
}
