import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { databaseErrorCode, withClient } from '#src/database/client.ts';
import { makeOnce } from '#src/platform/make-once.ts';
import { prepareBinaries } from './binaries.ts';
import { type Cluster, clusterUrl, DATABASE_NAME, prepareCluster, readPassword } from './cluster.ts';
import { openHome, serverUserOf } from './home.ts';
import { stopLeftovers } from './leftovers.ts';
import { EmbeddedDatabaseInUse, type HomeLock, readOwner, tryLock } from './lock.ts';
import { findFreePort, launchServer, PortTaken, type Server, type ServerSettings } from './server.ts';

interface EmbeddedDatabaseOptions {
  /** The database is in the subfolder `postgres`, or where the link in that subfolder leads. */
  readonly dataDir: string;
  /** False, for tests only, gives up safety against power cuts for speed. */
  readonly durable?: boolean;
}

export interface EmbeddedDatabase {
  /** True if the running service owns the database, and this process is a command that uses it too. */
  readonly isServed: boolean;
  /** Contains the password: never log it. */
  readonly url: string;
  stop(): Promise<void>;
}

const PORT_ATTEMPTS = 5;
const RESTART_PAUSE_MS = 1_000;
const LOCK_WAIT_MS = 5_000;
/** Wait for a starting service, whose first start must create the database. */
const STARTING_SERVICE_WAIT_MS = 30_000;
const LOCK_POLL_MS = 50;
const UNKNOWN_DATABASE = '3D000';

async function launchOnFreePort(settings: ServerSettings): Promise<Server> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await launchServer(settings, await findFreePort());
    } catch (fault) {
      if (!(fault instanceof PortTaken) || attempt >= PORT_ATTEMPTS) throw fault;
    }
  }
}

/** Restarts a server that ended unexpectedly, on the same port, because connection pools reconnect to the known address. */
async function relaunch(settings: ServerSettings, port: number, given: AbortSignal): Promise<Server | undefined> {
  while (!given.aborted) {
    try {
      await stopLeftovers(settings.cluster);
      return await launchServer(settings, port);
    } catch {
      await delay(RESTART_PAUSE_MS, undefined, { signal: given }).catch(() => undefined);
    }
  }
  return undefined;
}

/** @returns a function that stops the server for good */
function superviseServer(settings: ServerSettings, first: Server): () => Promise<void> {
  const stopping = new AbortController();
  let server = first;
  async function supervise(): Promise<void> {
    for (;;) {
      await server.ended;
      if (stopping.signal.aborted) return;
      const next = await relaunch(settings, first.port, stopping.signal);
      if (next === undefined) return;
      server = next;
      if (stopping.signal.aborted) await next.stop();
    }
  }
  const supervised = supervise();
  return async () => {
    stopping.abort();
    await server.stop();
    await supervised;
  };
}

async function ensureDatabase(cluster: Cluster, port: number): Promise<void> {
  const connecting = withClient({ connectionString: clusterUrl(port, cluster.password) }, async () => true);
  const isThere = await connecting.catch((fault: unknown) => {
    if (databaseErrorCode(fault) !== UNKNOWN_DATABASE) throw fault;
    return false;
  });
  if (isThere) return;
  const maintenance = { connectionString: clusterUrl(port, cluster.password, 'postgres') };
  await withClient(maintenance, (client) => client.query(`CREATE DATABASE ${DATABASE_NAME}`));
}

/** Starts the server of a home (the database's folder). If that fails, stops the server and releases the home's lock. */
async function startLocked(home: string, lock: HomeLock, durable: boolean): Promise<EmbeddedDatabase> {
  await using begun = new AsyncDisposableStack();
  begun.defer(() => lock.release());
  const user = await serverUserOf(home);
  const binaries = await prepareBinaries(home, user);
  const cluster = await prepareCluster(home, binaries, user, durable);
  await stopLeftovers(cluster);
  const settings = { binaries, cluster, user, durable, logFile: path.join(home, 'postgres.log') };
  const server = await launchOnFreePort(settings);
  begun.defer(superviseServer(settings, server));
  await ensureDatabase(cluster, server.port);
  await lock.publish(server.port);
  const running = begun.move();
  return {
    isServed: false,
    url: clusterUrl(server.port, cluster.password),
    stop: makeOnce(() => running.disposeAsync()),
  };
}

/** Starts the service's own PostgreSQL and keeps it running until `stop`. @throws EmbeddedDatabaseInUse */
export async function startEmbeddedDatabase(options: EmbeddedDatabaseOptions): Promise<EmbeddedDatabase> {
  const dataDir = path.resolve(options.dataDir);
  const home = await openHome(dataDir);
  const lock = await tryLock(home, 'service');
  if (lock === undefined) throw new EmbeddedDatabaseInUse(dataDir, await readOwner(home));
  return await startLocked(home, lock, options.durable ?? true);
}

/** The running service's database, or one started for this command. @throws EmbeddedDatabaseInUse after a wait */
export async function connectEmbeddedDatabase(dataDir: string): Promise<EmbeddedDatabase> {
  const folder = path.resolve(dataDir);
  const home = await openHome(folder);
  const begin = performance.now();
  for (;;) {
    const lock = await tryLock(home, 'command');
    if (lock !== undefined) return await startLocked(home, lock, true);
    const owner = await readOwner(home);
    if (owner?.purpose === 'service' && owner.port !== undefined) {
      const url = clusterUrl(owner.port, await readPassword(home));
      return { isServed: true, url, stop: async () => undefined };
    }
    const waitMs = owner?.purpose === 'service' ? STARTING_SERVICE_WAIT_MS : LOCK_WAIT_MS;
    if (performance.now() - begin > waitMs) throw new EmbeddedDatabaseInUse(folder, owner);
    await delay(LOCK_POLL_MS);
  }
}
