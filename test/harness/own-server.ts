import { spawnSync } from 'node:child_process';
import { appendFileSync, chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { chooseServerUser } from '#src/embedded-postgres/user.ts';
import { freePort } from './started-service.ts';
import { runStatements } from './test-database.ts';

/** PostgreSQL as it is installed on a machine, with all its programs. */
export const BIN = process.env['PG_BIN'] ?? '/usr/lib/postgresql/15/bin';

/** Whether tests of its programs can run here; where REQUIRE_POSTGRES_TOOLS is set they run, and fail where there are none. */
export const hasPostgresTools =
  existsSync(path.join(BIN, 'pg_basebackup')) || process.env['REQUIRE_POSTGRES_TOOLS'] !== undefined;
if (!hasPostgresTools) console.info(`backup: there is no pg_basebackup in ${BIN}, its tests are skipped`);

const PASSWORD = 'a-password-of-tests';

export interface OwnServer {
  readonly port: number;
  readonly data: string;
  /** The server's own role, on a database of its own name. */
  readonly url: string;
  stop(): void;
  start(): void;
}

/** Runs a program of PostgreSQL as the user that it wants to be run as. */
export const runTool = (name: string, ...words: string[]): string => runToolIn({}, name, ...words);

/** @param environment for the program, and for the server that it starts */
function runToolIn(environment: Readonly<Record<string, string>>, name: string, ...words: string[]): string {
  const ended = spawnSync(path.join(BIN, name), words, {
    ...chooseServerUser(),
    cwd: '/',
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC', ...environment },
    // What a started server inherits stays open.
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  if (ended.status !== 0) throw new Error(`${name} ended with ${ended.status}`);
  return ended.stdout?.toString() ?? '';
}

/** A folder that the server's user may write. */
export function makeServerFolder(folder: string): string {
  mkdirSync(folder, { mode: 0o700 });
  const user = chooseServerUser();
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  return folder;
}

/**
 * A server of its own, which keeps what it committed.
 * @param settings lines of postgresql.conf
 * @param environment what its processes get of variables
 */
export async function startOwnServer(
  folder: string,
  settings: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
): Promise<OwnServer> {
  const data = makeServerFolder(folder);
  const passwordFile = `${folder}.password`;
  writeFileSync(passwordFile, PASSWORD, { mode: 0o644 });
  runTool(
    'initdb',
    `--pgdata=${data}`,
    '--username=postgres',
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
  );
  const port = await freePort();
  const own = ["listen_addresses = '127.0.0.1'", `port = ${port}`, "unix_socket_directories = ''", "timezone = 'UTC'"];
  appendFileSync(path.join(data, 'postgresql.conf'), `${[...own, ...settings].join('\n')}\n`);
  const server: OwnServer = {
    ...{ port, data, url: `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/voting` },
    start: () => startServer(data, environment),
    stop: () => stopServer(data),
  };
  server.start();
  await runStatements(`postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`, ['CREATE DATABASE voting']);
  return server;
}

export const startServer = (data: string, environment: Readonly<Record<string, string>> = {}): void => {
  runToolIn(environment, 'pg_ctl', '-D', data, '-l', `${data}/server.log`, '-w', '-s', 'start');
};

/** Stops a server where it runs. */
export function stopServer(data: string): void {
  if (existsSync(path.join(data, 'postmaster.pid'))) runTool('pg_ctl', '-D', data, '-m', 'fast', '-w', '-s', 'stop');
}
