import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { migrate } from '#src/database/migrate.ts';
import { startEmbeddedDatabase } from '#src/embedded-postgres/embedded-database.ts';
import { requireStarted, type Settings, type StartedService, startProcess } from './started-service.ts';
import { runStatements, withDatabase } from './test-database.ts';
import { markPlaces, startTestService } from './test-service.ts';

export type RealProcesses = Awaited<ReturnType<typeof startRealProcesses>>;

/** Service processes as they run in production, on a server that keeps what it commits; the tests' usual one does not. */
export async function startRealProcesses() {
  const folder = mkdtempSync(path.join(tmpdir(), 'voting-real-'));
  chmodSync(folder, 0o755);
  const server = await startEmbeddedDatabase({ dataDir: path.join(folder, 'server') });
  await runStatements(server.url, ['CREATE DATABASE voting']);
  const databaseUrl = withDatabase(server.url, 'voting');
  await migrate(databaseUrl);
  const secretKey = randomBytes(32).toString('base64');
  const ballotKeysDir = path.join(folder, 'ballot-keys');
  // Of one name, as all processes of a database are: a log goes on from the heads of its own name alone.
  const environment = { BASE_URL: 'https://vote.example.org' };
  // Within the tests' own process, without jobs: to prepare things, and to look at the database.
  const inside = await startTestService({ databaseUrl, secretKey, worker: false, ballotKeysDir, environment });
  const account = await inside.account();
  await markPlaces(databaseUrl, { ...inside.deps.config, dataDir: folder });
  const started: StartedService[] = [];
  return {
    ...{ server, databaseUrl, secretKey, folder, account, inside },
    async start(settings: Settings = {}): Promise<StartedService> {
      const one = requireStarted(
        await startProcess({
          ...{ DATABASE_URL: databaseUrl, SECRET_KEY: secretKey, DATA_DIR: folder, HOST: '127.0.0.1', WORKER: 'off' },
          BALLOT_KEYS_DIR: ballotKeysDir,
          ...environment,
          ...{ EMAIL_DOMAIN_CHECK: 'off', WEBHOOK_ALLOW_PRIVATE: 'on' },
          ...settings,
        }),
      );
      started.push(one);
      return one;
    },
    async stop(): Promise<void> {
      for (const { child } of started) {
        child.kill('SIGCONT');
        child.kill('SIGKILL');
      }
      await inside.stop();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A request to one of the processes. */
export function ask(
  port: number,
  method: string,
  target: string,
  options: { readonly key?: string; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<Response> {
  const { key, body, headers } = options;
  return fetch(`http://127.0.0.1:${port}${target}`, {
    method,
    headers: {
      ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}
