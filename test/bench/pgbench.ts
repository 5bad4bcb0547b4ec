import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

/** What to do where `pgbench` is not installed. */
export const PGBENCH_MISSING = 'pgbench is not installed; Debian and Ubuntu: apt-get install postgresql-contrib';

/** The program itself: what stands in the path of Debian is a script around it. */
export function findPgbench(): string | undefined {
  const versions = '/usr/lib/postgresql';
  const installed = existsSync(versions)
    ? readdirSync(versions)
        .toSorted((left, right) => Number(right) - Number(left))
        .map((version) => path.join(versions, version, 'bin/pgbench'))
    : [];
  const inPath = (process.env['PATH'] ?? '').split(':').map((folder) => path.join(folder, 'pgbench'));
  return [...installed, ...inPath].find((file) => existsSync(file));
}

interface PgbenchRun {
  readonly program: string;
  readonly databaseUrl: string;
  /** The script: one transaction. */
  readonly script: string;
  readonly clients: number;
  readonly seconds: number;
  readonly variables?: Readonly<Record<string, number>>;
}

/** Runs transactions as prepared statements, and says how many were answered; connecting is not counted. @throws Error when a transaction failed */
export async function runPgbench(run: PgbenchRun) {
  const folder = mkdtempSync(path.join(tmpdir(), 'voting-pgbench-'));
  try {
    const file = path.join(folder, 'script.sql');
    writeFileSync(file, run.script);
    const url = new URL(run.databaseUrl);
    const variables = Object.entries(run.variables ?? {}).flatMap(([name, value]) => ['-D', `${name}=${value}`]);
    const { stdout } = await promisify(execFile)(
      run.program,
      [
        ...['-n', '-M', 'prepared', '-f', file, '-c', String(run.clients), '-j', '1', '-T', String(run.seconds)],
        ...variables,
        ...['-h', url.hostname, '-p', url.port, '-U', decodeURIComponent(url.username), url.pathname.slice(1)],
      ],
      { env: { PATH: process.env['PATH'], PGPASSWORD: decodeURIComponent(url.password) } },
    );
    const failed = Number(/number of failed transactions: (\d+)/.exec(stdout)?.[1] ?? 0);
    const perSecond = Number(/tps = ([\d.]+)/.exec(stdout)?.[1]);
    const answered = Number(/transactions actually processed: (\d+)/.exec(stdout)?.[1]);
    if (failed > 0 || !(perSecond > 0 && answered > 0)) throw new Error(`pgbench: ${stdout}`);
    return { answered, perSecond };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
