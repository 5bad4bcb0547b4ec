import { type ChildProcess, spawn } from 'node:child_process';
import { chown, open, rename, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { unless } from '#src/platform/files.ts';
import type { Binaries } from './binaries.ts';
import type { Cluster } from './cluster.ts';
import { readPidFile, stopServer } from './leftovers.ts';
import { SERVER_ENVIRONMENT, type ServerUser } from './user.ts';

export interface ServerSettings {
  readonly binaries: Binaries;
  readonly cluster: Cluster;
  readonly user: ServerUser | undefined;
  readonly logFile: string;
  /** False gives up safety against power cuts for speed: for tests only. */
  readonly durable: boolean;
}

export type Server = Awaited<ReturnType<typeof launchServer>>;

/** Thrown if another program took the port after it was found free. */
export class PortTaken extends Error {}

const POLL_MS = 10;
/** Time limit of a start. Replaying the WAL after a crash can take minutes on a slow disk. */
const START_MS = 300_000;
const MAX_LOG_BYTES = 10 * 1024 * 1024;

function configuration(settings: ServerSettings, port: number): Record<string, string | number> {
  const sync = settings.durable ? 'on' : 'off';
  return {
    cluster_name: settings.cluster.name,
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: settings.durable ? 100 : 200,
    shared_buffers: settings.durable ? '128MB' : '64MB',
    fsync: sync,
    full_page_writes: sync,
    synchronous_commit: sync,
    // A new database grows fast: with the default of one minute the planner's statistics would be stale.
    autovacuum_naptime: '15s',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_destination: 'stderr',
    // Statements, values and error details contain voters' data, so this log has only the server's own events. The
    // service logs errors by code.
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
  };
}

async function openLog(settings: ServerSettings): Promise<{ fd: number; start: number; close(): Promise<void> }> {
  const size = (await unless(stat(settings.logFile), 'ENOENT'))?.size ?? 0;
  if (size > MAX_LOG_BYTES) await rename(settings.logFile, `${settings.logFile}.1`);
  const handle = await open(settings.logFile, 'a', 0o600);
  if (settings.user !== undefined) await chown(settings.logFile, settings.user.uid, settings.user.gid);
  return { fd: handle.fd, start: (await handle.stat()).size, close: () => handle.close() };
}

async function logSince(logFile: string, start: number): Promise<string> {
  await using handle = await open(logFile, 'r');
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(4_096), 0, 4_096, start);
  return buffer.toString('utf8', 0, bytesRead).trim();
}

/** A port of 127.0.0.1 that is free at this moment. */
export function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      const port = address !== null && typeof address === 'object' ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
}

function whenEnded(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (fault) => resolve(fault.message));
    child.once('exit', (code, signal) => resolve(signal === null ? `status ${code}` : `signal ${signal}`));
  });
}

// The database must not outlive a killed service. A shell reads from a pipe whose other end this process holds: when this
// process dies, the shell reads end-of-file and shuts the server down. A line instead of end-of-file means that the server
// has already ended, and that its process ID may have been reused.
function watchOver(server: number, user: ServerUser | undefined): () => void {
  const script = 'read -r released && exit 0; kill -INT "$1"';
  const watcher = spawn('/bin/sh', ['-c', script, 'sh', String(server)], {
    ...user,
    cwd: '/',
    env: SERVER_ENVIRONMENT,
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ignore = (): void => undefined;
  watcher.on('error', ignore).unref();
  // Writing fails if the watcher was killed: then there is nothing to release.
  watcher.stdin.on('error', ignore);
  return () => watcher.stdin.end('released\n');
}

const isRunning = ({ pid, exitCode, signalCode }: ChildProcess): boolean =>
  pid !== undefined && exitCode === null && signalCode === null;

/** @returns false if the server has ended, or is not ready in time */
async function becomesReady(cluster: Cluster, server: ChildProcess): Promise<boolean> {
  const STATUS_LINE = 7;
  const deadline = performance.now() + START_MS;
  while (isRunning(server) && performance.now() < deadline) {
    const lines = await readPidFile(cluster);
    if (Number(lines[0]) === server.pid && lines[STATUS_LINE]?.trim() === 'ready') return true;
    await delay(POLL_MS);
  }
  return false;
}

/**
 * Starts the server and waits for it to take connections. `ended` resolves with its exit status or signal.
 * @throws PortTaken; an Error with the end of its log
 */
export async function launchServer(settings: ServerSettings, port: number) {
  const serverLog = await openLog(settings);
  const options = Object.entries(configuration(settings, port)).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  // `detached` gives the server its own session: Ctrl-C signals the terminal's whole foreground group, but the database
  // must run until the service has finished its requests.
  const child = spawn(settings.binaries.postgres, ['-D', settings.cluster.folder, ...options], {
    ...settings.user,
    cwd: '/',
    env: SERVER_ENVIRONMENT,
    detached: true,
    stdio: ['ignore', serverLog.fd, serverLog.fd],
  });
  const ended = whenEnded(child);
  await serverLog.close();
  if (child.pid !== undefined) void ended.then(watchOver(child.pid, settings.user));
  const stop = async (): Promise<void> => {
    if (isRunning(child)) await stopServer(settings.cluster, child.pid);
    await ended;
  };
  if (await becomesReady(settings.cluster, child)) return { port, ended, stop };
  await stop();
  const reason = await logSince(settings.logFile, serverLog.start);
  if (reason.includes('could not create any TCP/IP sockets')) throw new PortTaken(`port ${port} is taken`);
  throw new Error(`PostgreSQL did not start (${await ended}): ${reason.replaceAll(/\s+/g, ' ').slice(-500)}`);
}
