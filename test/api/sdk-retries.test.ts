import { beforeEach, describe, expect, test } from 'vitest';
import { startFailingProxy } from '#test/harness/failing-proxy.ts';
import { type TestAccount, useService } from '#test/harness/test-service.ts';
import { use } from '#test/harness/use.ts';
import {
  type ClientOptions,
  ConnectionError,
  RateLimitedError,
  VotingService,
  VotingServiceError,
} from '../../sdk/typescript/src/index.ts';

let account: TestAccount;

const service = await useService();
const proxy = await use(startFailingProxy(service.port));
beforeEach(async () => {
  account = await service.account();
});

const client = (options: Partial<ClientOptions> = {}): VotingService =>
  new VotingService({ baseUrl: `${proxy.url}/`, key: account.write, ...options });
const event = { body: { title: 'Where?', type: 'poll' } } as const;
const titles = async (): Promise<string[]> =>
  (await account.get('/voting-events')).body.data.map(({ title }: { title: string }) => title);
const refusal = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => Promise.reject(new Error('not refused')),
    (error: unknown) => error,
  );

describe('the SDK, behind a proxy that fails', () => {
  test.each([
    ['the connection breaks', 'reset' as const],
    ['the answer is lost', 'answer lost' as const],
    ['the answer is cut off', 'answer cut' as const],
    ['the proxy has no service', { status: 502, body: '<h1>Bad gateway</h1>' }],
    ['the service is away', { status: 503 }],
    ['the service cannot answer', { status: 500, body: '{"error":{"code":"internal","message":"."}}' }],
    ['there were too many requests', { status: 429, headers: { 'Retry-After': '1' } }],
  ])('creates one thing where %s, under one key', async (_, fault) => {
    proxy.fail(fault, fault);
    const { data } = await client().post('/voting-events', event);
    expect(await titles()).toEqual([data.title]);
    expect(proxy.requests).toHaveLength(3);
    expect(new Set(proxy.requests.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect(proxy.requests[0]?.idempotencyKey).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('creates one thing where no answer comes in time', async () => {
    proxy.fail('silence');
    await client({ timeoutMs: 3_000 }).post('/voting-events', event);
    expect([proxy.requests.length, await titles()]).toEqual([2, ['Where?']]);
  });

  test('waits for a call with the same key that still runs', async () => {
    const running = {
      ...{ status: 409, headers: { 'Retry-After': '1', 'Content-Type': 'application/json' } },
      body: '{"error":{"code":"conflict","message":".","details":{"reason":"idempotency_in_progress"}}}',
    };
    proxy.fail(running);
    await client().post('/voting-events', event);
    expect(proxy.requests).toHaveLength(2);
  });

  test('gives each call a key of its own, and takes one that is given', async () => {
    proxy.fail();
    await client().post('/voting-events', event);
    await client().post('/voting-events', event);
    await client().post('/voting-events', { ...event, idempotencyKey: 'order-7' });
    await client().post('/voting-events', { ...event, idempotencyKey: 'order-7' });
    const keys = proxy.requests.map(({ idempotencyKey }) => idempotencyKey);
    expect(new Set(keys).size).toBe(3);
    expect(keys.slice(2)).toEqual(['order-7', 'order-7']);
    expect(await titles()).toHaveLength(3);
  });

  test('waits as long as it is asked to', async () => {
    proxy.fail({ status: 429, headers: { 'Retry-After': '2' } });
    await client().get('/me');
    const [first, second] = proxy.requests;
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(1_990);
  });

  test('leaves a longer wait to the caller', async () => {
    const body = '{"error":{"code":"rate_limited","message":"Later.","requestId":"r","docUrl":"d"}}';
    proxy.fail({ status: 429, headers: { 'Retry-After': '900' }, body });
    const error = await refusal(client().get('/me'));
    expect(error).toBeInstanceOf(RateLimitedError);
    expect([error, proxy.requests.length]).toMatchObject([{ retryAfterSeconds: 900 }, 1]);
  });

  test('gives up after as many retries as were allowed, with what it met last', async () => {
    proxy.fail('reset', 'reset', 'reset');
    const error = await refusal(client({ maxRetries: 2 }).get('/me'));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(proxy.requests).toHaveLength(3);
    proxy.fail({ status: 502, headers: { 'X-Request-Id': 'req_7' }, body: '<h1>Bad gateway</h1>' });
    const refused = await refusal(client({ maxRetries: 0 }).get('/me'));
    expect(refused).toBeInstanceOf(VotingServiceError);
    expect(refused).toMatchObject({ status: 502, code: 'unexpected_response', requestId: 'req_7', issues: [] });
  });

  test('sends nothing again that the service has refused', async () => {
    proxy.fail();
    await refusal(client({ key: 'vsk_mistyped' }).get('/me'));
    await refusal(client().get('/voting-events/{idOrCode}', { path: { idOrCode: 'evt_none' } }));
    expect(proxy.requests).toHaveLength(2);
  });

  test('follows no redirection of a change', async () => {
    proxy.fail({ status: 301, headers: { Location: `${proxy.url}/voting-events` } });
    expect(await refusal(client().post('/voting-events', event))).toMatchObject({ status: 301 });
    expect([proxy.requests.length, await titles()]).toEqual([1, []]);
  });

  test('stops at once when the caller’s signal says so: in a call, and between two', async () => {
    const reason = new Error('enough');
    for (const fault of ['silence', { status: 429, headers: { 'Retry-After': '30' } }] as const) {
      proxy.fail(fault);
      const stop = new AbortController();
      const maxRetries = fault === 'silence' ? 0 : 4;
      const call = refusal(client({ maxRetries }).get('/me', { signal: stop.signal }));
      while (proxy.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      setTimeout(() => stop.abort(reason), 50);
      expect(await call).toBe(reason);
    }
  });
});
