import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { chown, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { exists, hasCode, syncFolder } from '#src/platform/files.ts';
import type { Binaries } from './binaries.ts';
import { clusterFolder } from './home.ts';
import { SERVER_ENVIRONMENT, type ServerUser } from './user.ts';

export const DATABASE_NAME = 'voting_service';
const OWNER_NAME = 'voting_service';
const DRAFT_PREFIX = 'cluster.new-';

const runFile = promisify(execFile);

export type Cluster = Awaited<ReturnType<typeof prepareCluster>>;

/** A URL that connects as the owner of the databases; `database` defaults to the service's own. */
export const clusterUrl = (port: number, password: string, database: string = DATABASE_NAME): string =>
  `postgres://${OWNER_NAME}:${password}@127.0.0.1:${port}/${database}`;

const passwordFile = (home: string): string => path.join(home, 'password');

/** The password of a home's database. @throws an Error if its file is missing, or belongs to another user */
export async function readPassword(home: string): Promise<string> {
  try {
    return (await readFile(passwordFile(home), 'utf8')).trim();
  } catch (fault) {
    if (hasCode(fault, 'EACCES', 'EPERM'))
      throw new Error(`cannot read ${passwordFile(home)}: run this as the user that owns it`, { cause: fault });
    if (hasCode(fault, 'ENOENT'))
      throw new Error(`the password of the database is gone: put ${passwordFile(home)} back`, { cause: fault });
    throw fault;
  }
}

async function writePrivately(file: string, text: string, user?: ServerUser): Promise<void> {
  await rm(file, { force: true });
  await writeFile(file, text, { flag: 'wx', mode: 0o600, flush: true });
  if (user !== undefined) await chown(file, user.uid, user.gid);
}

/** The standard error of initdb on one line; it never contains the password. */
function errorText(fault: unknown): string {
  if (!(fault instanceof Error) || !('stderr' in fault) || typeof fault.stderr !== 'string') return 'no reason given';
  return fault.stderr.trim().replaceAll(/\s+/g, ' ').slice(-500);
}

async function initialise(
  binaries: Binaries,
  folder: string,
  pwfile: string,
  user: ServerUser | undefined,
  durable: boolean,
): Promise<void> {
  const args = [
    `--pgdata=${folder}`,
    `--username=${OWNER_NAME}`,
    `--pwfile=${pwfile}`,
    '--auth=scram-sha-256',
    // The password has 256 random bits; more rounds of hashing would protect nothing and slow each new connection.
    '--set=scram_iterations=1',
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--data-checksums',
    '--no-instructions',
    ...(durable ? [] : ['--no-sync']),
  ];
  try {
    await runFile(binaries.initdb, args, { ...user, cwd: '/', env: SERVER_ENVIRONMENT });
  } catch (fault) {
    throw new Error(`PostgreSQL could not set up a database in ${folder}: ${errorText(fault)}`, { cause: fault });
  }
}

// Creates the cluster under a draft name and renames it when complete, so that a start killed half-way leaves nothing that
// looks like a database. The password is on disk before the rename, so a database never lacks its password.
async function createCluster(
  home: string,
  binaries: Binaries,
  user: ServerUser | undefined,
  durable: boolean,
): Promise<void> {
  for (const name of await readdir(home)) {
    if (name.startsWith(DRAFT_PREFIX)) await rm(path.join(home, name), { recursive: true, force: true, maxRetries: 5 });
  }
  const draft = path.join(home, `${DRAFT_PREFIX}${randomBytes(6).toString('hex')}`);
  const pwfile = `${draft}.password`;
  const password = randomBytes(32).toString('hex');
  await mkdir(draft, { mode: 0o700 });
  if (user !== undefined) await chown(draft, user.uid, user.gid);
  try {
    await writePrivately(pwfile, password, user);
    await initialise(binaries, draft, pwfile, user, durable);
  } finally {
    await rm(pwfile, { force: true });
  }
  await writePrivately(passwordFile(home), password);
  await syncFolder(home);
  await rename(draft, clusterFolder(home));
  await syncFolder(home);
}

/** The database cluster of a home, made at the first call. The caller holds the home's lock. */
export async function prepareCluster(home: string, binaries: Binaries, user: ServerUser | undefined, durable: boolean) {
  const folder = clusterFolder(home);
  if (!(await exists(folder))) await createCluster(home, binaries, user, durable);
  const { ino } = await stat(folder);
  const digest = createHash('sha256').update(`${folder}:${ino}`).digest('hex');
  // The name identifies server processes by their command line, which even root without CAP_SYS_PTRACE can read.
  return { folder, name: `voting-${digest.slice(0, 16)}`, password: await readPassword(home) };
}
