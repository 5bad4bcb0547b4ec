import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from 'pg';
import { readSandboxKey } from '#sandbox/sandbox-keys.ts';
import { startSandbox } from '#sandbox/start-sandbox.ts';
import { createApiKey } from '#src/accounts/create-api-key.ts';
import { createAccount } from '#src/accounts/repository.ts';
import { readConfig } from '#src/config.ts';
import { migrate } from '#src/database/migrate.ts';
import { createLog } from '#src/platform/log.ts';
import { closeDeps, createDeps } from '#src/service.ts';
import { startOwnDatabase } from '#test/harness/own-database.ts';
import { runStatements } from '#test/harness/test-database.ts';
import { parentOf } from './processor-ticks.ts';
import { Draw } from './seed.ts';
import { type ServerKind, type ServerProcess, startServerProcess } from './server-process.ts';

/** The limits of a plan are made for customers: here the load comes from one key, and a line makes 10,000 events. */
const PLANS = {
  enterprise: {
    ...{ voteRequestsPerMinute: 600_000_000, organizerRequestsPerMinute: 600_000_000 },
    votingEvents: 1_000_000,
  },
};

/** Times that a call is made again which the service has no time for, such as right after a line that sends too much. */
const TRIES = 10;

async function call(server: ServerProcess, key: string, method: string, target: string, body?: unknown) {
  const send = () =>
    fetch(`http://127.0.0.1:${server.port}${target}`, {
      method,
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  let answer = await send();
  for (let tries = 1; tries < TRIES && answer.headers.has('Retry-After'); tries += 1) {
    await pause(Number(answer.headers.get('Retry-After')) * 1_000);
    answer = await send();
  }
  if (!answer.ok) throw new Error(`${method} ${target} answered ${answer.status}: ${await answer.text()}`);
  if (answer.status === 204) return {};
  return ((await answer.json()) as { data: Record<string, unknown> }).data;
}

interface BenchOptions {
  /** The share of the full number of rows, for trying a line out: goals are about the full number. */
  readonly scale: number;
  /** What sizes and mixes are drawn from; the same seed gives the same run. */
  readonly seed: number;
  /** Where servers leave their CPU profiles when they end. */
  readonly profileFolder?: string | undefined;
}

/** Every session is a child of the first process. */
async function findDatabasePid(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const first = parentOf(rows[0]?.pid ?? 0);
  if (first === undefined) throw new Error('the processes of the database are not those of this machine');
  return first;
}

export type Bench = Awaited<ReturnType<typeof startBench>>;

/** An embedded database of its own that loses nothing in a power cut, and servers on it, each a process as in production. */
export async function startBench({ scale, seed, profileFolder }: BenchOptions) {
  const database = await startOwnDatabase('bench', true);
  const { dataDir } = database;
  const plansFile = path.join(dataDir, 'plans.json');
  writeFileSync(plansFile, JSON.stringify(PLANS));
  await migrate(database.url);
  // The database notes how long it waits for the disk.
  await runStatements(database.url, ['ALTER SYSTEM SET track_wal_io_timing = on', 'SELECT pg_reload_conf()']);
  let port: number | undefined;
  const sandbox = await startSandbox({
    ...{ production: false, now: Date.now },
    webhookTarget: ({ secretKey, provider }) =>
      `http://127.0.0.1:${port}/provider-webhooks/${provider}/${readSandboxKey(secretKey)?.businessId}`,
  });
  const environment = {
    SANDBOX_URL: sandbox.url,
    DATABASE_URL: database.url,
    SECRET_KEY: randomBytes(32).toString('base64'),
    DATA_DIR: dataDir,
    PORT: '0',
    HOST: '127.0.0.1',
    LOG_LEVEL: 'silent',
    EMAIL_DOMAIN_CHECK: 'off',
    WEBHOOK_ALLOW_PRIVATE: 'on',
    PLANS_FILE: plansFile,
  };
  const deps = createDeps(readConfig(environment), database.url, createLog('silent'), sandbox.url);
  const { id: accountId } = await createAccount(deps.db, deps, { name: 'Bench', plan: 'enterprise' });
  const common = { accountId, votingEventId: null, expiresInDays: null };
  const { key: write } = await createApiKey(deps.db, deps, { ...common, name: 'organizer', scopes: ['read', 'write'] });
  const { key: vote } = await createApiKey(deps.db, deps, { ...common, name: 'vote', scopes: ['vote'] });
  /** Another server on the same database. */
  const serve = (kind: ServerKind): Promise<ServerProcess> => startServerProcess(environment, kind, profileFolder);
  // As it runs everywhere: one process, jobs included.
  const server = await serve('service');
  port = server.port;
  const pool = deps.db.$client;
  return {
    ...{ deps, pool, databaseUrl: database.url, databasePid: await findDatabasePid(pool), environment },
    ...{ accountId, scale, seed, draw: new Draw(seed), write, vote, server, serve },
    /** A call as an organizer, which must succeed; its data. */
    organize: (method: string, target: string, body?: unknown): Promise<Record<string, unknown>> =>
      call(server, write, method, target, body),
    async stop(): Promise<void> {
      await server.stop();
      await sandbox.stop();
      await closeDeps(deps);
      await database.stop();
    },
  };
}
