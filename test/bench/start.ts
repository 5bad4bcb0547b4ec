import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { findHome } from '#test/harness/find-home.ts';
import { freePort } from '#test/harness/started-service.ts';
import type { BenchLine } from './line.ts';
import { alternate } from './windows.ts';

const ROUNDS = 5;
const ROOT = path.resolve(import.meta.dirname, '../..');
const LOOK_EVERY_MS = 5;
const MAX_START_MS = 120_000;

async function untilAnswered(child: ChildProcess, port: number): Promise<void> {
  const begin = performance.now();
  while (performance.now() - begin < MAX_START_MS && child.exitCode === null) {
    const answer = await fetch(`http://127.0.0.1:${port}/health/live`).catch(() => undefined);
    if (answer?.ok === true) return;
    await pause(LOOK_EVERY_MS);
  }
  throw new Error('the service did not start');
}

/** `npm start` with the embedded database, until the first answer; the data and the compiled code are there from the first start. */
export const start: BenchLine = async (bench) => {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'voting-start-'));
  chmodSync(dataDir, 0o711);
  const startOnce = async (): Promise<number> => {
    const port = await freePort();
    const { PATH } = process.env;
    // npm ends with the service that it started: it passes the signal on.
    const child = spawn('npm', ['start', '--silent'], {
      ...{ cwd: ROOT, stdio: 'ignore' },
      env: { PATH, HOME: process.env['HOME'], DATA_DIR: dataDir, PORT: String(port), HOST: '127.0.0.1' },
    });
    const ended = once(child, 'exit');
    const begin = performance.now();
    try {
      await untilAnswered(child, port);
      return performance.now() - begin;
    } finally {
      child.kill('SIGTERM');
      await ended;
    }
  };
  try {
    await startOnce();
    const { ours } = await alternate(bench, ROUNDS, { ours: startOnce });
    return [
      {
        ...{ work: '`npm start` to the first answer, not the first time', reference: undefined, unit: ' ms' },
        ...{ ours, theirs: undefined, goal: { atMost: 800, beyond: 500 } },
        limit: 'npm itself, loading the code and starting PostgreSQL come one after the other.',
      },
    ];
  } finally {
    const home = await findHome(dataDir);
    if (home !== undefined) rmSync(home, { recursive: true, force: true });
    rmSync(dataDir, { recursive: true, force: true });
  }
};
