import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { createApiKey } from '#src/accounts/create-api-key.ts';
import { createAccount } from '#src/accounts/repository.ts';
import { readConfig } from '#src/config.ts';
import { migrate } from '#src/database/migrate.ts';
import type { Deps } from '#src/deps.ts';
import { createLog } from '#src/platform/log.ts';
import { closeDeps, createDeps } from '#src/service.ts';
import { type EventSize, fillEvent } from '#test/harness/largest-event.ts';
import { startOwnDatabase } from '#test/harness/own-database.ts';
import { freePort } from '#test/harness/started-service.ts';

/** Of another client’s `/health`, whatever is asked meanwhile. */
export const HEALTH_MS = 200;

interface Line {
  readonly what: string;
  readonly figure: number;
  readonly bound: number;
  readonly unit: 'ms' | 'MB' | '';
}

const lines: Line[] = [];
export function show(what: string, figure: number, bound: number, unit: Line['unit']): void {
  lines.push({ what, figure, bound, unit });
  const [shown, most] = unit === 'MB' ? [figure / 2 ** 20, bound / 2 ** 20] : [figure, bound];
  const mark = figure <= bound ? 'ok      ' : 'TOO MUCH';
  process.stdout.write(
    `${mark} ${what.padEnd(64)} ${shown.toFixed(0).padStart(8)} ${unit}   bound ${most.toFixed(0)} ${unit}\n`,
  );
}

/**
 * Asks for `/health` over and over, in a thread of its own: this one reads answers of megabytes meanwhile, and would measure
 * itself.
 */
class HealthWatch {
  readonly #thread: Worker;
  /** The slowest answer since it was asked last, in microseconds: shared with the thread. */
  readonly #worst = new Int32Array(new SharedArrayBuffer(4));

  constructor(base: string) {
    const workerData = { url: `${base}/health`, worst: this.#worst };
    this.#thread = new Worker(new URL('./watch-health.ts', import.meta.url), { workerData });
  }

  takeWorst(): number {
    return Atomics.exchange(this.#worst, 0, 0) / 1_000;
  }

  async stop(): Promise<void> {
    await this.#thread.terminate();
  }
}

export interface World {
  readonly base: string;
  readonly key: string;
  readonly deps: Deps;
  readonly pool: import('pg').Pool;
  readonly health: HealthWatch;
  readonly server: ChildProcess;
}

export async function call(world: World, method: string, target: string, body?: unknown): Promise<Response> {
  return fetch(`${world.base}${target}`, {
    method,
    headers: {
      Authorization: `Bearer ${world.key}`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

export async function demand(
  world: World,
  method: string,
  target: string,
  body?: unknown,
): Promise<Record<string, unknown>> {
  const response = await call(world, method, target, body);
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${target} answered ${response.status}: ${text.slice(0, 500)}`);
  return JSON.parse(text).data;
}

/** As callers do: where the count takes longer than a request may, the answer says when to ask again. */
export async function readWhole(world: World, target: string): Promise<number> {
  for (;;) {
    const response = await call(world, 'GET', target);
    let bytes = 0;
    // Counted and thrown away: the cast vote records are larger than what a program can hold.
    for await (const chunk of response.body ?? []) bytes += chunk.byteLength;
    if (response.ok) return bytes;
    const after = response.headers.get('retry-after');
    if (after === null) throw new Error(`GET ${target} answered ${response.status}`);
    await delay(Number(after) * 1_000);
  }
}

/** What the server holds in memory, and has held at most. */
export async function residentBytes({ server }: World): Promise<number> {
  const status = await readFile(`/proc/${server.pid}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1_024;
}

export async function timed(world: World, what: string, boundMs: number, work: () => Promise<unknown>): Promise<void> {
  world.health.takeWorst();
  const begin = performance.now();
  await work();
  show(what, performance.now() - begin, boundMs, 'ms');
  show(`  /health meanwhile`, world.health.takeWorst(), HEALTH_MS, 'ms');
}

/** An open event whose log has begun. */
export async function openEvent(world: World, size: EventSize): Promise<string> {
  const event = await demand(world, 'POST', '/voting-events', { title: 'The largest', type: 'poll' });
  const id = String(event['id']);
  await fillEvent(world.pool, id, size);
  await demand(world, 'PATCH', `/voting-events/${id}`, { status: 'open' });
  for (;;) {
    const { rows } = await world.pool.query('SELECT 1 FROM ballot_logs WHERE voting_event_id = $1', [id]);
    if (rows.length > 0) return id;
    await delay(200);
  }
}

/**
 * Starts a service of its own on a server that keeps what it commits, and ends with 1 where a bound was passed.
 * @param wayTo the address by which the service reaches the database
 */
export async function withWorld(
  work: (world: World) => Promise<void>,
  wayTo = async (url: string): Promise<string> => url,
): Promise<void> {
  const database = await startOwnDatabase('limits', true);
  const port = await freePort();
  const environment = {
    DATABASE_URL: database.url,
    SECRET_KEY: randomBytes(32).toString('base64'),
    DATA_DIR: path.join(database.dataDir, 'service'),
    PORT: String(port),
    HOST: '127.0.0.1',
    LOG_LEVEL: 'error',
    EMAIL_DOMAIN_CHECK: 'off',
    WORKER: 'on',
  };
  await migrate(database.url);
  const deps = createDeps(readConfig(environment), database.url, createLog('silent'));
  const account = await createAccount(deps.db, deps, { name: 'Limits', plan: 'enterprise' });
  const { key } = await createApiKey(deps.db, deps, {
    accountId: account.id,
    name: 'Limits',
    scopes: ['read', 'write'],
    votingEventId: null,
    expiresInDays: null,
  });
  const server = spawn(process.execPath, ['src/main.ts'], {
    env: { ...process.env, ...environment, DATABASE_URL: await wayTo(database.url) },
    // Its log holds errors alone here, and says what a figure does not.
    stdio: ['ignore', 2, 'inherit'],
  });
  server.once('exit', (code, signal) => process.stderr.write(`the server ended: ${code ?? signal}\n`));
  const base = `http://127.0.0.1:${port}`;
  try {
    for (;;) {
      if (server.exitCode !== null) throw new Error('the server ended before it answered');
      const up = await fetch(`${base}/health`).then(
        ({ ok }) => ok,
        () => false,
      );
      if (up) break;
      await delay(200);
    }
    const health = new HealthWatch(base);
    const world: World = { base, key, deps, pool: deps.db.$client, health, server };
    await work(world);
    await health.stop();
  } finally {
    const ended = new Promise((resolve) => server.once('exit', resolve));
    if (server.exitCode === null) {
      server.kill('SIGTERM');
      await ended;
    }
    await closeDeps(deps);
    await database.stop();
  }
  if (lines.some(({ figure, bound }) => figure > bound)) process.exitCode = 1;
}
