import { randomBytes } from 'node:crypto';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { generateApiKey } from '#src/accounts/api-key.ts';
import { readConfig } from '#src/config.ts';
import { createLog } from '#src/platform/log.ts';
import { createDeps, type Service, startService } from '#src/service.ts';
import { createTestDatabase, type TestDatabase } from '#test/harness/test-database.ts';
import { eventually } from '#test/harness/test-service.ts';

let database: TestDatabase;
let proxy: Server;
let sockets: Set<Socket>;
let away: boolean;
let service: Service;

/** A door in front of the database that can be shut. */
beforeEach(async () => {
  database = await createTestDatabase();
  const target = new URL(database.url);
  sockets = new Set();
  away = false;
  proxy = createServer((inner) => {
    if (away) {
      inner.destroy();
      return;
    }
    const outer = connect(Number(target.port), target.hostname);
    for (const socket of [inner, outer]) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        inner.destroy();
        outer.destroy();
      });
    }
    inner.pipe(outer).pipe(inner);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', () => resolve()));
  const address = proxy.address();
  const url = new URL(database.url);
  url.port = String(address !== null && typeof address === 'object' ? address.port : 0);
  const config = readConfig({
    DATABASE_URL: url.href,
    SECRET_KEY: randomBytes(32).toString('base64'),
    PORT: '0',
    HOST: '127.0.0.1',
    LOG_LEVEL: 'silent',
    WORKER: 'off',
  });
  service = await startService(createDeps(config, url.href, createLog('silent')), url.href);
});

afterEach(async () => {
  away = false;
  await service.stop();
  for (const socket of sockets) socket.destroy();
  await new Promise<void>((resolve) => proxy.close(() => resolve()));
  await database.drop();
});

const ask = (path: string, headers: Record<string, string> = {}) =>
  fetch(`http://127.0.0.1:${service.port}${path}`, { headers });

describe('while the database is away', () => {
  test('health says so, the process lives on, and it serves again when the database is back', async () => {
    expect((await ask('/health')).status).toBe(200);
    away = true;
    for (const socket of sockets) socket.destroy();
    const health = await ask('/health');
    expect(health.status).toBe(503);
    expect(await health.json()).toMatchObject({ data: { status: 'unavailable', checks: { database: 'failed' } } });
    expect((await ask('/health/live')).status).toBe(200);
    away = false;
    expect(await eventually(async () => ((await ask('/health')).status === 200 ? 200 : undefined))).toBe(200);
  });

  test('requests that need it get a 500 with Retry-After within two seconds', async () => {
    away = true;
    for (const socket of sockets) socket.destroy();
    const begin = performance.now();
    const answer = await ask('/voting-events', { Authorization: `Bearer ${generateApiKey(['read'])}` });
    expect(performance.now() - begin).toBeLessThan(2_000);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([500, '1']);
    expect(await answer.json()).toMatchObject({ error: { code: 'internal' } });
  });
});
