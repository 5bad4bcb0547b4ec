import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The account that PostgreSQL's processes run as; undefined means this process's own. */
export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

/** The whole environment of PostgreSQL's processes: a user's variables, such as `TZ`, must not change the database. */
export const SERVER_ENVIRONMENT: NodeJS.ProcessEnv = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/** Accounts to try first; the machine's other accounts follow. */
const PREFERRED_ACCOUNTS: readonly string[] = ['postgres', '_postgres', 'nobody', 'daemon'];

export const runsAsRoot = (): boolean => process.getuid?.() === 0;

function preference(name: string): number {
  const place = PREFERRED_ACCOUNTS.indexOf(name);
  return place === -1 ? PREFERRED_ACCOUNTS.length : place;
}

// Only accounts in /etc/passwd: initdb refuses a user ID without an account.
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

/** Runs a program as that user, to see if it exits with status 0: file modes, ACLs, mount options or libraries can prevent it. */
export function canRun(program: string, args: readonly string[], user: ServerUser | undefined): boolean {
  const { status } = spawnSync(program, args, { ...user, cwd: '/', env: SERVER_ENVIRONMENT, stdio: 'ignore' });
  return status === 0;
}

export const canEnter = (folder: string, user: ServerUser | undefined): boolean =>
  canRun('/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder], user);

/** The account for a new database; undefined for this process's own. For root, the first that can run programs. */
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
