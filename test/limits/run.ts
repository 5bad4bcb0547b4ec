import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { createAccount } from '#src/accounts/create-account.ts';
import { createApiKey } from '#src/accounts/create-api-key.ts';
import { readConfig } from '#src/config.ts';
import { startEmbeddedDatabase } from '#src/database/embedded.ts';
import { findHome } from '#src/database/embedded-home.ts';
import { migrate } from '#src/database/migrate.ts';
import { createLog } from '#src/platform/log.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { closeDeps, createDeps } from '#src/service.ts';
import { type EventSize, fillBox, fillEvent } from '#test/harness/largest-event.ts';
import { freePort } from '#test/harness/started-service.ts';

/**
 * Builds the largest event that the caps allow, reads, closes and exports it, and shows each figure beside its bound:
 *   npm run limits -- [positions] [candidates] [ballots …]
 * A bound that is passed is marked, and ends the program with 1. Bounds of time hold for a machine with two free cores.
 */
const BOUNDS = {
  /** Of another client's `/health`, whatever is asked meanwhile. */
  healthMs: 200,
  resultsMs: 120_000,
  answerBytes: 40 * 1024 * 1024,
  residentBytes: 2 * 1024 * 1024 * 1024,
  closeMs: 300_000,
  /** As long as an answer may be written at all: ten million contests have gigabytes. */
  cvrMs: TIME_LIMITS.answerMs,
  otherCloseMs: 120_000,
};
const HEALTH_EVERY_MS = 20;
const NO_ANSWER_MICROSECONDS = 999_000_000;

interface Line {
  readonly what: string;
  readonly figure: number;
  readonly bound: number;
  readonly unit: 'ms' | 'MB';
}

const lines: Line[] = [];
function show(what: string, figure: number, bound: number, unit: Line['unit']): void {
  lines.push({ what, figure, bound, unit });
  const [shown, most] = unit === 'ms' ? [figure, bound] : [figure / 2 ** 20, bound / 2 ** 20];
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
    this.#thread = new Worker(new URL(import.meta.url), { workerData });
  }

  takeWorst(): number {
    return Atomics.exchange(this.#worst, 0, 0) / 1_000;
  }

  async stop(): Promise<void> {
    await this.#thread.terminate();
  }
}

async function watchHealth({ url, worst }: { readonly url: string; readonly worst: Int32Array }): Promise<void> {
  for (;;) {
    const begin = performance.now();
    const answered = await new Promise<boolean>((resolve) =>
      get(url, (response) => response.resume().once('end', () => resolve(true))).once('error', () => resolve(false)),
    );
    // No answer at all is shown as the worst there is.
    const took = answered ? Math.round((performance.now() - begin) * 1_000) : NO_ANSWER_MICROSECONDS;
    if (took > Atomics.load(worst, 0)) Atomics.store(worst, 0, took);
    await delay(HEALTH_EVERY_MS);
  }
}

interface World {
  readonly base: string;
  readonly key: string;
  readonly pool: import('pg').Pool;
  readonly health: HealthWatch;
  readonly server: ChildProcess;
}

async function call(world: World, method: string, target: string, body?: unknown): Promise<Response> {
  return fetch(`${world.base}${target}`, {
    method,
    headers: {
      Authorization: `Bearer ${world.key}`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

async function demand(world: World, method: string, target: string, body?: unknown): Promise<Record<string, unknown>> {
  const response = await call(world, method, target, body);
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${target} answered ${response.status}: ${text.slice(0, 500)}`);
  return JSON.parse(text).data;
}

/** As callers do: where the count takes longer than a request may, they are told when to ask again. */
async function readWhole(world: World, target: string): Promise<number> {
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
async function residentBytes({ server }: World): Promise<number> {
  const { readFile } = await import('node:fs/promises');
  const status = await readFile(`/proc/${server.pid}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1_024;
}

async function timed(world: World, what: string, boundMs: number, work: () => Promise<unknown>): Promise<void> {
  world.health.takeWorst();
  const begin = performance.now();
  await work();
  show(what, performance.now() - begin, boundMs, 'ms');
  show(`  /health meanwhile`, world.health.takeWorst(), BOUNDS.healthMs, 'ms');
}

async function openEvent(world: World, size: EventSize): Promise<string> {
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

async function waitForFinal(world: World, id: string): Promise<void> {
  await world.pool.query(
    'UPDATE voting_events SET closed_at = now_ms() - 16 * 60 * 1000, paper_version = paper_version + 1 WHERE id = $1',
    [id],
  );
  for (;;) {
    const { rows } = await world.pool.query(
      'SELECT 1 FROM ballot_logs WHERE voting_event_id = $1 AND closed_size IS NOT NULL',
      [id],
    );
    if (rows.length > 0) return;
    await delay(200);
  }
}

async function measure(world: World, size: EventSize, ballots: number): Promise<void> {
  const name = `${size.positions} × ${size.candidates} candidates, ${ballots} ballots`;
  process.stdout.write(`\n${name}\n`);
  const id = await openEvent(world, size);
  const other = await openEvent(world, { positions: 1, candidates: 3 });
  await fillBox(world.pool, id, size, ballots, ballots < 1_000 ? 40 : 5);
  let bytes = 0;
  const results = `/voting-events/${id}/results`;
  await timed(world, 'results, counted from the first ballot', BOUNDS.resultsMs, async () => {
    bytes = await readWhole(world, results);
  });
  show('  the answer', bytes, BOUNDS.answerBytes, 'MB');
  await timed(world, 'results again, ten at once', BOUNDS.resultsMs, () =>
    Promise.all(Array.from({ length: 10 }, () => readWhole(world, results))),
  );
  await timed(world, 'the figures', BOUNDS.resultsMs, () => readWhole(world, `/voting-events/${id}/stats`));
  await timed(world, 'a page of rounds', BOUNDS.resultsMs, () =>
    readWhole(world, `${results}/rounds?positionId=pos_l_1`),
  );
  for (const kind of ['csv', 'json', 'pdf']) {
    await timed(world, `the ${kind} export`, BOUNDS.resultsMs, () => readWhole(world, `${results}/${kind}`));
  }
  await timed(world, 'the close', BOUNDS.closeMs, () => waitForFinal(world, id));
  await timed(world, 'the close of a small event beside it', BOUNDS.otherCloseMs, () => waitForFinal(world, other));
  await timed(world, 'every cast vote record (cvr export)', BOUNDS.cvrMs, async () => {
    bytes = await readWhole(world, `${results}/cvr`);
  });
  process.stdout.write(`         the file had ${(bytes / 2 ** 20).toFixed(0)} MB\n`);
  show('memory of the server at most', await residentBytes(world), BOUNDS.residentBytes, 'MB');
}

async function main(): Promise<void> {
  const [positions = 100, candidates = 1_000, ...counts] = process.argv.slice(2).map(Number);
  const dataDir = await mkdtemp(path.join(tmpdir(), 'voting-limits-'));
  // As root, PostgreSQL runs as another user, who has to pass.
  await chmod(dataDir, 0o711);
  const database = await startEmbeddedDatabase({ dataDir, durable: true, log: () => undefined });
  const port = await freePort();
  const environment = {
    DATABASE_URL: database.url,
    SECRET_KEY: randomBytes(32).toString('base64'),
    DATA_DIR: path.join(dataDir, 'service'),
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
    env: { ...process.env, ...environment },
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
    const world: World = { base, key, pool: deps.db.$client, health, server };
    for (const ballots of counts.length > 0 ? counts : [2, 100_000]) {
      await measure(world, { positions, candidates }, ballots);
    }
    await health.stop();
  } finally {
    const ended = new Promise((resolve) => server.once('exit', resolve));
    if (server.exitCode === null) {
      server.kill('SIGTERM');
      await ended;
    }
    await closeDeps(deps);
    await database.stop();
    const home = await findHome(dataDir);
    if (home !== undefined) await rm(home, { recursive: true, force: true });
    await rm(dataDir, { recursive: true, force: true });
  }
  if (lines.some(({ figure, bound }) => figure > bound)) process.exitCode = 1;
}

if (isMainThread) await main();
else await watchHealth(workerData);
