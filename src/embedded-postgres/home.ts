import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readlink, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { exists, hasCode, unless } from '#src/platform/files.ts';
import { canEnter, chooseServerUser, runsAsRoot, type ServerUser } from './user.ts';

/** Parent folders, best first, for a database if PostgreSQL's user cannot enter DATA_DIR. The system may clean up `/var/tmp`. */
const PLACES_ELSEWHERE: readonly string[] = ['/var/lib', '/usr/local/var', '/opt', '/var/tmp'];

export const clusterFolder = (home: string): string => path.join(home, 'cluster');

const linkToHome = (dataDir: string): string => path.join(dataDir, 'postgres', 'home');

async function linkedHome(dataDir: string): Promise<string | undefined> {
  const link = linkToHome(dataDir);
  const target = await unless(readlink(link), 'ENOENT', 'ENOTDIR');
  if (target === undefined) return undefined;
  if (await exists(link)) return await realpath(link);
  throw new Error(
    `the database of ${dataDir} was kept in ${target}, which is gone: bring it back, or delete ${link} to begin with an empty one`,
  );
}

// A home that root owns gets mode 0711, because PostgreSQL's user must pass through it; its folders and files are private.
// Every call sets the mode, so that two concurrent first starts both find that PostgreSQL's user can enter.
async function makeHomeBeside(dataDir: string): Promise<string> {
  await mkdir(dataDir, { recursive: true });
  const beside = path.join(dataDir, 'postgres');
  await unless(mkdir(beside, { mode: 0o700 }), 'EEXIST');
  if (runsAsRoot() && (await stat(beside)).uid === 0) await chmod(beside, 0o711);
  return await realpath(beside);
}

// The name has a random suffix: after `.data` is deleted, the next start needs an empty database, not rows encrypted under lost keys.
async function makePlace(beside: string, user: ServerUser): Promise<string> {
  const digest = createHash('sha256').update(beside).digest('hex');
  for (const base of PLACES_ELSEWHERE) {
    try {
      const place = await mkdtemp(path.join(base, `voting-service-${digest.slice(0, 12)}-`));
      await chmod(place, 0o711);
      if (canEnter(place, user)) return place;
      await rm(place, { recursive: true });
    } catch (fault) {
      if (!hasCode(fault, 'ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'EROFS', 'ENOSPC')) throw fault;
    }
  }
  throw new Error(
    `PostgreSQL's user can enter neither ${beside} nor any of ${PLACES_ELSEWHERE.join(', ')}: set DATA_DIR to a folder it can enter`,
  );
}

async function makeHomeElsewhere(dataDir: string, beside: string, user: ServerUser): Promise<string> {
  const place = await makePlace(beside, user);
  await writeFile(
    path.join(place, 'README.txt'),
    `The database of ${beside}.\nPostgreSQL does not run as root, and user ${user.uid}, as whom it runs, cannot enter that folder.\n`,
  );
  try {
    await symlink(place, linkToHome(dataDir));
  } catch (fault) {
    await rm(place, { recursive: true });
    if (!hasCode(fault, 'EEXIST')) throw fault;
    return await realpath(linkToHome(dataDir));
  }
  return place;
}

/** Finds or makes the folder for the database of `dataDir` (an absolute path), the same folder at every start. @returns its real path */
export async function openHome(dataDir: string): Promise<string> {
  const linked = await linkedHome(dataDir);
  if (linked !== undefined) return linked;
  const beside = await makeHomeBeside(dataDir);
  if (await exists(clusterFolder(beside))) return beside;
  const user = chooseServerUser();
  if (user === undefined || canEnter(beside, user)) return beside;
  return await makeHomeElsewhere(dataDir, beside, user);
}

/** The account that runs PostgreSQL for a home: the owner of its data, or for a new database a chosen account. @throws with what to do */
export async function serverUserOf(home: string): Promise<ServerUser | undefined> {
  const cluster = clusterFolder(home);
  if (!(await exists(cluster))) return chooseServerUser();
  const { uid, gid } = await stat(cluster);
  if (!runsAsRoot()) {
    if (uid === process.getuid?.()) return undefined;
    throw new Error(`the database in ${cluster} belongs to user ${uid}: start the service as that user or as root`);
  }
  if (uid === 0) {
    throw new Error(
      `the database in ${cluster} belongs to root, as whom PostgreSQL does not run: give it to another account with chown -R`,
    );
  }
  const user = { uid, gid };
  if (canEnter(cluster, user)) return user;
  throw new Error(
    `the database in ${cluster} belongs to user ${uid}, who cannot enter that folder: let others pass (chmod o+x) the folders above it`,
  );
}
