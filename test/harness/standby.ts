import { spawnSync } from 'node:child_process';
import { appendFileSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { withClient } from './empty-database.ts';
import { makeServerFolder, type OwnServer, runTool, startServer } from './own-server.ts';
import { freePort } from './started-service.ts';
import { eventually } from './test-service.ts';

const query = <Row extends object>(url: string, text: string): Promise<Row[]> =>
  withClient(url, async (client) => (await client.query<Row>(text)).rows);

/** The address of a server as the server itself is spoken to. */
const serverOf = (url: string): string => url.replace(/\/[^/]*$/, '/');

/** One address for several servers. */
export const addressOf = (...servers: readonly Pick<OwnServer, 'url' | 'port'>[]): string =>
  (servers[0]?.url ?? '').replace(/127\.0\.0\.1:\d+/, servers.map(({ port }) => `127.0.0.1:${port}`).join());

/**
 * A standby of a server. Commits of the server wait for it from now on, as with any service that calls itself highly available.
 * @param settings lines of its postgresql.conf
 */
export async function addStandby(
  primary: Pick<OwnServer, 'url'>,
  folder: string,
  settings: readonly string[] = [],
): Promise<OwnServer> {
  const data = makeServerFolder(folder);
  const port = await freePort();
  runTool('pg_basebackup', '-D', data, '-R', '-X', 'stream', '-c', 'fast', '-d', serverOf(primary.url));
  // Once promoted it commits without a standby: the lost server cannot confirm anything.
  const own = [`port = ${port}`, "synchronous_standby_names = ''", ...settings];
  appendFileSync(path.join(data, 'postgresql.auto.conf'), `${own.join('\n')}\n`);
  startServer(data);
  await waitForStandbys(primary, '*');
  await eventually(async () => {
    const rows = await query(primary.url, "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'");
    return rows.length === 1 ? true : undefined;
  });
  return {
    ...{ port, data, url: primary.url.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${port}`) },
    start: () => startServer(data),
    stop: () => runTool('pg_ctl', '-D', data, '-m', 'fast', '-w', '-s', 'stop'),
  };
}

/** Which standbys commits of a server wait for; '' for none, as Patroni writes it once the last one is gone. */
export const waitForStandbys = ({ url }: Pick<OwnServer, 'url'>, names: string): Promise<void> =>
  withClient(url, async (client) => {
    await client.query(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
    await client.query('SELECT pg_reload_conf()');
  });

/**
 * Sends all processes of a server a signal: KILL as where its machine is gone, STOP and CONT for one that hangs. Once killed, none of
 * them runs any more: one that was writing outlives the signal for a moment, and keeps a server from starting on its files.
 */
export function signalServer({ data }: Pick<OwnServer, 'data'>, signal: 'KILL' | 'STOP' | 'CONT'): void {
  const pid = readFileSync(path.join(data, 'postmaster.pid'), 'utf8').split('\n')[0] ?? '';
  // While it stands still it begins no process that the signal would miss.
  spawnSync('kill', ['-STOP', pid]);
  const children = spawnSync('pgrep', ['-P', pid], { encoding: 'utf8' }).stdout.split('\n').filter(Boolean);
  const pids = [pid, ...children];
  spawnSync('kill', [`-${signal}`, ...pids]);
  while (signal === 'KILL' && areRunning(pids));
}

/** Leaves out what is dead and waits in the process table for its parent. */
function areRunning(pids: readonly string[]): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', pids.join()], { encoding: 'utf8' });
  return stdout.split('\n').some((state) => state !== '' && !state.startsWith('Z'));
}

/** A machine that is gone: no process of the server ends by itself. Its disk goes, too. */
export function loseServer(server: Pick<OwnServer, 'data'>): void {
  signalServer(server, 'KILL');
  rmSync(server.data, { recursive: true, force: true });
}

/** What Patroni does when the primary is gone. */
export const promote = ({ data }: Pick<OwnServer, 'data'>): void =>
  void runTool('pg_ctl', '-D', data, '-w', '-s', 'promote');
