import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { generateApiKey } from '#src/accounts/api-key.ts';
import { type DatabaseProxy, startDatabaseProxy } from '#test/harness/database-proxy.ts';
import { visitor, votesFor } from '#test/harness/elections.ts';
import { ask } from '#test/harness/real-processes.ts';
import { runStatements } from '#test/harness/test-database.ts';
import {
  eventually,
  keepServiceLimits,
  startTestService,
  type TestAccount,
  type TestService,
  untilTrue,
} from '#test/harness/test-service.ts';

// Without an end of its own, a statement that is under way ends because the database is found to be silent, or never.
// `npm run limits -- silence` shows how long a refusal takes.
keepServiceLimits({ databaseQueryMs: 86_400_000 });

let direct: TestService;
let account: TestAccount;
let proxy: DatabaseProxy;
let service: TestService;

beforeEach(async () => {
  direct = await startTestService({ worker: false });
  account = await direct.account();
  proxy = await startDatabaseProxy(direct.databaseUrl);
  service = await direct.on(proxy.url);
});
afterEach(async () => {
  proxy.away = false;
  await service.stop();
  await proxy.stop();
  await direct.stop();
});

describe('while the database is silent', () => {
  test('every request is answered 500 with Retry-After before it speaks again, and all is well then', async () => {
    const event = await account.event({}, [{ votingMethod: 'plurality', candidates: ['A', 'B'] }]);
    const votes = votesFor(event);
    const calls: (() => Promise<Response>)[] = [];
    const add = (method: string, target: string, key: string, body?: unknown, headers = {}) =>
      calls.push(() => ask(service.port, method, target, { key, body, headers }));
    const base = `/public/voting-events/${event.id}/ballot`;
    for (let times = 0; times < 10; times += 1) {
      add('POST', `${base}/cast`, account.vote, { visitorId: visitor(), votes });
      add('POST', `${base}/cast`, account.vote, { visitorId: visitor(), votes }, { 'Idempotency-Key': visitor() });
      add('POST', `${base}/confirm`, account.vote, { confirmationCode: 'K7QF-2M9X-T4BZ-8WPA-6HNC-3RVD-YE' });
      add('GET', `/voting-events/${event.id}/voters`, account.read);
      add('GET', '/voting-events', account.read);
      add('PATCH', `/voting-events/${event.id}`, account.write, { title: `Title ${times}` });
      add('POST', '/voting-events', account.write, { title: 'New', type: 'poll' }, { 'Idempotency-Key': visitor() });
    }
    // Some are under way when it falls silent, others come while it is.
    const answerOf = async (call: () => Promise<Response>): Promise<Response> => {
      const answer = await call();
      await answer.arrayBuffer();
      return answer;
    };
    await Promise.all(calls.slice(0, 7).map(answerOf));
    proxy.silent = true;
    const begun = calls.map(async (call, index) => {
      await new Promise((resolve) => setTimeout(resolve, index * 50));
      return answerOf(call);
    });
    const answers = await Promise.all(begun);
    const refusals = answers.map(({ status, headers }) => `${status} ${headers.get('retry-after')}`);
    expect(new Set(refusals)).toEqual(new Set(['500 1']));
    expect((await fetch(`http://127.0.0.1:${service.port}/health`)).status).toBe(503);
    proxy.silent = false;
    proxy.cut();
    await untilTrue(async () => (await fetch(`http://127.0.0.1:${service.port}/health`)).status === 200);
    await untilTrue(async () => {
      const again = await Promise.all(calls.map(answerOf));
      return again.every(({ status }) => status < 500);
    });
  });
});

/** Takes no connection any more, and ends those that there are. */
function shut(): void {
  proxy.away = true;
  proxy.cut();
}

describe('while the database is away', () => {
  test('health says so, the process lives on, and it serves again when the database is back', async () => {
    await untilTrue(async () => (await ask(service.port, 'GET', '/health')).status === 200);
    shut();
    const health = await ask(service.port, 'GET', '/health');
    expect(health.status).toBe(503);
    expect(await health.json()).toMatchObject({ data: { status: 'unavailable', checks: { database: 'failed' } } });
    expect((await ask(service.port, 'GET', '/health/live')).status).toBe(200);
    proxy.away = false;
    expect(
      await eventually(async () => ((await ask(service.port, 'GET', '/health')).status === 200 ? 200 : undefined)),
    ).toBe(200);
  });

  test('requests that need it get a 500 with Retry-After', async () => {
    shut();
    const answer = await ask(service.port, 'GET', '/voting-events', { key: generateApiKey(['read']) });
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([500, '1']);
    expect(await answer.json()).toMatchObject({ error: { code: 'internal' } });
  });
});

test('a database that takes no writes shows itself at /health, until it takes them again', async () => {
  const name = new URL(direct.databaseUrl).pathname.slice(1);
  // As a provider does when the disk is full. Connections that stand keep what they began with.
  const set = async (words: string) =>
    runStatements(inject('databaseUrl'), [
      `ALTER DATABASE ${name} ${words}`,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
    ]);
  const isShown = (status: number) =>
    untilTrue(async () => (await fetch(`http://127.0.0.1:${service.port}/health`)).status === status);
  const event = await account.event();
  await set('SET default_transaction_read_only = on');
  await isShown(503);
  // Not only until it has connected again.
  const cast = { visitorId: visitor(), votes: votesFor(event) };
  const answer = await ask(service.port, 'POST', `/public/voting-events/${event.id}/ballot/cast`, {
    ...{ key: account.vote, body: cast },
  });
  expect(answer.status).toBe(500);
  await isShown(503);
  await set('RESET default_transaction_read_only');
  await isShown(200);
});
