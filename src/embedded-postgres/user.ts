import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The account that PostgreSQL's processes run as; undefined means this process's own. */
export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

/**
 * The whole environment of PostgreSQL's processes: a `PGPORT`, `TZ` or `LD_LIBRARY_PATH` of the user who starts the service
 * must not change how its database behaves.
 */
export const SERVER_ENVIRONMENT: NodeJS.ProcessEnv = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/** Accounts meant for such work come before any other that the machine happens to have. */
const PREFERRED_ACCOUNTS: readonly string[] = ['postgres', '_postgres', 'nobody', 'daemon'];

export const runsAsRoot = (): boolean => process.getuid?.() === 0;

function preference(name: string): number {
  const place = PREFERRED_ACCOUNTS.indexOf(name);
  return place === -1 ? PREFERRED_ACCOUNTS.length : place;
}

// initdb refuses a user ID without an account, so an ID out of thin air does not do.
function unprivilegedAccounts(): ServerUser[] {
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name = '', , uid = '', gid = '']) => ({
      name,
      uid: Number.parseInt(uid, 10),
      gid: Number.parseInt(gid, 10),
    }))
    .filter((account) => Number.isInteger(account.uid) && Number.isInteger(account.gid) && account.uid !== 0);
  return accounts
    .toSorted((left, right) => preference(left.name) - preference(right.name))
    .map(({ uid, gid }) => ({ uid, gid }));
}

/** Whether a program runs and ends with status 0 as that user: file modes, ACLs, mount options and libraries all have a say. */
export function canRun(program: string, args: readonly string[], user: ServerUser | undefined): boolean {
  const { status } = spawnSync(program, args, { ...user, cwd: '/', env: SERVER_ENVIRONMENT, stdio: 'ignore' });
  return status === 0;
}

/** Whether the user can reach a folder through everything above it. */
export const canEnter = (folder: string, user: ServerUser | undefined): boolean =>
  canRun('/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder], user);

/**
 * The account for a new database: undefined (our own) unless we are root, as whom PostgreSQL refuses to run.
 * Each account is tried, because a container may not map its ID.
 */
export function chooseServerUser(): ServerUser | undefined {
  if (!runsAsRoot()) return undefined;
  const user = unprivilegedAccounts().find((account) => canRun('/bin/sh', ['-c', 'exit 0'], account));
  if (user === undefined) {
    throw new Error(
      'PostgreSQL does not run as root, and there is no other account that this process can run it as: start the service as an ordinary user, or set DATABASE_URL',
    );
  }
  return user;
}
