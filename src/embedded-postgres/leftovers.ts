import { execFile } from 'node:child_process';
import { readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { hasCode, unless } from '#src/platform/files.ts';
import type { Cluster } from './cluster.ts';

const runFile = promisify(execFile);

const FAST_SHUTDOWN_MS = 5_000;
const IMMEDIATE_SHUTDOWN_MS = 2_000;
const KILL_MS = 5_000;
const POLL_MS = 20;

async function commandOf(pid: string): Promise<string> {
  const words = await unless(readFile(`/proc/${pid}/cmdline`, 'utf8'), 'ENOENT', 'ESRCH', 'EACCES');
  return words?.replaceAll('\0', ' ') ?? '';
}

async function listProcesses() {
  if (process.platform === 'linux') {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
    return await Promise.all(pids.map(async (pid) => ({ pid: Number(pid), command: await commandOf(pid) })));
  }
  const { stdout } = await runFile('/bin/ps', ['-axww', '-o', 'pid=,command='], { maxBuffer: 16 * 1024 * 1024 });
  return stdout.split('\n').map((line) => {
    const [pid = '', ...words] = line.trim().split(' ');
    return { pid: Number(pid), command: words.join(' ') };
  });
}

/** Finds a cluster's processes: the server's command line and its children's process titles contain the cluster's name. */
async function processesOf(cluster: Cluster): Promise<number[]> {
  const server = /^postgres: |(^|\/)postgres -D /;
  const lines = await listProcesses();
  return lines.filter(({ command }) => server.test(command) && command.includes(cluster.name)).map(({ pid }) => pid);
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch (fault) {
      if (!hasCode(fault, 'ESRCH')) throw fault;
    }
  }
}

async function allGone(cluster: Cluster, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  while ((await processesOf(cluster)).length > 0) {
    if (performance.now() > deadline) return false;
    await delay(POLL_MS);
  }
  return true;
}

const pidFile = (cluster: Cluster): string => path.join(cluster.folder, 'postmaster.pid');

/** The lines of `postmaster.pid`; empty when no server runs and the last one ended properly. */
export const readPidFile = async (cluster: Cluster): Promise<string[]> =>
  (await unless(readFile(pidFile(cluster), 'utf8'), 'ENOENT'))?.split('\n') ?? [];

/** Fast shutdown: ends sessions and rolls back open transactions. If that hangs, ends the processes by force. */
export async function stopServer(cluster: Cluster, server: number | undefined): Promise<void> {
  if (server !== undefined) {
    signal([server], 'SIGINT');
    if (await allGone(cluster, FAST_SHUTDOWN_MS)) return;
  }
  // Without the server its child processes cannot finish; the next server rolls back their uncommitted work.
  signal(await processesOf(cluster), 'SIGQUIT');
  if (await allGone(cluster, IMMEDIATE_SHUTDOWN_MS)) return;
  signal(await processesOf(cluster), 'SIGKILL');
  if (await allGone(cluster, KILL_MS)) return;
  throw new Error(`processes of an earlier PostgreSQL server still use ${cluster.folder} and cannot be ended`);
}

/** Ends servers of this cluster that a crashed run left: the caller holds the home's lock, so no service owns them. */
export async function stopLeftovers(cluster: Cluster): Promise<void> {
  const server = Number.parseInt((await readPidFile(cluster))[0] ?? '', 10);
  if (!Number.isInteger(server)) return;
  const pids = await processesOf(cluster);
  if (pids.length > 0) await stopServer(cluster, pids.includes(server) ? server : undefined);
  // Process IDs start over with a machine or container, so the file may name an unrelated process: PostgreSQL would take
  // that process for its own server and refuse to start. No process of this cluster is left, so nothing needs the file.
  await rm(pidFile(cluster), { force: true });
}
