import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createAccount } from '#src/accounts/create-account.ts';
import { createApiKey } from '#src/accounts/create-api-key.ts';
import { readConfig } from '#src/config.ts';
import { startEmbeddedDatabase } from '#src/database/embedded.ts';
import { findHome } from '#src/database/embedded-home.ts';
import { migrate } from '#src/database/migrate.ts';
import type { Deps } from '#src/deps.ts';
import { createLog } from '#src/platform/log.ts';
import { createDeps, startService } from '#src/service.ts';

/** A service on an embedded database of its own that loses nothing in a power cut, as in production. */
export interface BenchService {
  readonly deps: Deps;
  readonly databaseUrl: string;
  readonly url: string;
  readonly accountId: string;
  readonly write: string;
  readonly vote: string;
  /** A call as an organizer, which must succeed; its data. */
  organize(method: string, target: string, body?: unknown): Promise<Record<string, unknown>>;
  stop(): Promise<void>;
}

export async function startBenchService(): Promise<BenchService> {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'voting-bench-'));
  chmodSync(dataDir, 0o711);
  const database = await startEmbeddedDatabase({ dataDir, log: () => undefined });
  await migrate(database.url);
  const config = readConfig({
    DATABASE_URL: database.url,
    SECRET_KEY: randomBytes(32).toString('base64'),
    DATA_DIR: dataDir,
    PORT: '0',
    HOST: '127.0.0.1',
    LOG_LEVEL: 'silent',
    EMAIL_DOMAIN_CHECK: 'off',
    WEBHOOK_ALLOW_PRIVATE: 'on',
  });
  const deps = createDeps(config, database.url, createLog('silent'));
  const service = await startService(deps, database.url);
  const { id: accountId } = await createAccount(deps.db, deps, { name: 'Bench', plan: 'enterprise' });
  const common = { accountId, votingEventId: null, expiresInDays: null };
  const { key: write } = await createApiKey(deps.db, deps, { ...common, name: 'organizer', scopes: ['read', 'write'] });
  const { key: vote } = await createApiKey(deps.db, deps, { ...common, name: 'vote', scopes: ['vote'] });
  const url = `http://127.0.0.1:${service.port}`;
  return {
    deps,
    databaseUrl: database.url,
    url,
    accountId,
    write,
    vote,
    async organize(method, target, body) {
      const answer = await fetch(url + target, {
        method,
        headers: { Authorization: `Bearer ${write}`, 'Content-Type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      if (!answer.ok) throw new Error(`${method} ${target} answered ${answer.status}: ${await answer.text()}`);
      return ((await answer.json()) as { data: Record<string, unknown> }).data;
    },
    async stop() {
      await service.stop();
      await database.stop();
      const home = await findHome(dataDir);
      if (home !== undefined) rmSync(home, { recursive: true, force: true });
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
