import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTestDatabase } from '#test/harness/test-database.ts';
import { eventually } from '#test/harness/test-service.ts';

const run = promisify(execFile);
const ROOT = path.resolve(import.meta.dirname, '../..');

let outer: string;
let cwd: string;
let marker: string;
let dataDir: string;
let database: Awaited<ReturnType<typeof createTestDatabase>>;

beforeEach(async () => {
  outer = mkdtempSync(path.join(tmpdir(), 'voting-service-poisoned-'));
  cwd = path.join(outer, 'one', 'two');
  mkdirSync(cwd, { recursive: true });
  marker = path.join(outer, 'ran');
  dataDir = mkdtempSync(path.join(tmpdir(), 'voting-service-unpoisoned-'));
  // A folder that only root enters would send the database elsewhere, where nobody tidies up.
  chmodSync(dataDir, 0o755);
  database = await createTestDatabase();
});
afterEach(async () => {
  await database.drop();
  for (const folder of [outer, dataDir]) rmSync(folder, { recursive: true, force: true });
});

/** Every name under which common libraries look for a file that they run. */
const SCRIPTS = ['graphile-worker', 'graphile', 'graphile-config'].flatMap((name) => [
  `.${name}rc.js`,
  `.${name}rc.cjs`,
  `${name}.config.js`,
  `${name}.config.cjs`,
  `${name}.config.mjs`,
  `${name}.config.ts`,
  `.config/${name}rc.js`,
  `.config/${name}.config.js`,
]);

function poison(folder: string): void {
  mkdirSync(path.join(folder, '.config'), { recursive: true });
  for (const name of SCRIPTS)
    writeFileSync(
      path.join(folder, name),
      `require('node:fs').writeFileSync(${JSON.stringify(marker)}, ${JSON.stringify(name)});`,
    );
}

function breakConfiguration(folder: string): void {
  const file = path.join(folder, '.graphile-workerrc');
  writeFileSync(file, '{ this is : not : any format');
  chmodSync(file, 0o000);
  writeFileSync(path.join(folder, 'package.json'), '{ not json');
}

const environment = (settings: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  HOME: outer,
  DATA_DIR: dataDir,
  PORT: '0',
  HOST: '127.0.0.1',
  ...settings,
});

async function startAndStop(): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [path.join(ROOT, 'src/main.ts')], { cwd, env: environment() });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const exited = once(child, 'exit');
  await eventually(() => (output.includes('Listening on') || child.exitCode !== null ? true : undefined));
  child.kill('SIGTERM');
  const [code] = (await exited) as [number | null];
  return { code, output };
}

const listJobs = () =>
  run(process.execPath, [path.join(ROOT, 'src/cli.ts'), 'jobs', 'list', '--json'], {
    cwd,
    env: environment({ DATABASE_URL: database.url, SECRET_KEY: randomBytes(32).toString('base64') }),
  });

describe('files of configuration in folders around the working directory', () => {
  test('are not run by the start', async () => {
    for (const folder of [outer, cwd]) poison(folder);
    const { code, output } = await startAndStop();
    expect(existsSync(marker)).toBe(false);
    expect(output).toContain('Listening on');
    expect(code).toBe(0);
  });

  test('are not run by a command', async () => {
    for (const folder of [outer, cwd]) poison(folder);
    const { stdout } = await listJobs();
    expect(existsSync(marker)).toBe(false);
    expect(JSON.parse(stdout)).toEqual([]);
  });

  test('stop neither the start nor a command when they cannot be read', async () => {
    for (const folder of [outer, path.dirname(cwd)]) breakConfiguration(folder);
    expect(JSON.parse((await listJobs()).stdout)).toEqual([]);
    const { code, output } = await startAndStop();
    expect(output).toContain('Listening on');
    expect(code).toBe(0);
  });
});
