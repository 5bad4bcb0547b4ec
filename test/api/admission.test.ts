import { describe, expect, test, vi } from 'vitest';
import { generateApiKey } from '#src/accounts/api-key.ts';
import { createApiKey } from '#src/accounts/create-api-key.ts';
import { updatePlan } from '#src/accounts/repository.ts';
import { type Authentication, addressOf, authenticate } from '#src/http/authenticate.ts';
import { exchangeRateLimits, RateLimiter } from '#src/http/rate-limit.ts';
import { monotonicMs } from '#src/platform/clock.ts';
import { ApiError } from '#src/platform/errors.ts';
import { Presence } from '#src/platform/presence.ts';
import { eventually, untilTrue, useAccount } from '#test/harness/test-service.ts';

const { service, account } = await useAccount();

describe('keys that nobody has', () => {
  test('cost the database no more than the limit of their address, and shut out no right key', async () => {
    const ask = (key: string) => service.call('GET', '/me', undefined, { key });
    expect((await ask(account.read)).status).toBe(200);
    using asked = vi.spyOn(service.deps.db.$client, 'query');
    const begin = performance.now();
    const answers = await Promise.all(Array.from({ length: 200 }, () => ask(generateApiKey(['read']))));
    const questions = asked.mock.calls.filter(([query]) => JSON.stringify(query).includes('api_keys')).length;
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401, 429]));
    // Thirty, and one for each second that a slow machine takes: the limit refills meanwhile.
    const more = Math.ceil((performance.now() - begin) / 1_000);
    const unknown = answers.filter(({ status }) => status === 401).length;
    expect([unknown >= 30, unknown <= 30 + more, questions <= 40 + more]).toEqual([true, true, true]);
    expect((await ask(account.read)).status).toBe(200);
  });

  test('hold the failures that are left while they are looked up, however many come at the same moment', async () => {
    const gate = Promise.withResolvers<void>();
    let asked = 0;
    const authenticator: Authentication = {
      async authenticate(_, mayAsk) {
        if (mayAsk()) asked += 1;
        await gate.promise;
        throw new ApiError('unauthorized', 'unknown');
      },
      accountOf: () => undefined,
    };
    const context = {
      env: { incoming: { rawHeaders: [], socket: { remoteAddress: '192.0.2.99' } } },
      get: () => ({ scope: 'read' }),
      set: () => undefined,
    } as unknown as Parameters<ReturnType<typeof authenticate>>[0];
    const ask = authenticate({
      rateLimiter: new RateLimiter(),
      presence: new Presence(),
      authenticator,
      trustProxy: 0,
    });
    const refused = Array.from({ length: 200 }, () => ask(context, async () => undefined).catch(({ code }) => code));
    // Thirty failures, and a few more that a new right key may need.
    expect(asked).toBeGreaterThanOrEqual(30);
    expect(asked).toBeLessThanOrEqual(40);
    gate.resolve();
    expect((await Promise.all(refused)).filter((code) => code === 'unauthorized')).toHaveLength(30);
  });

  test('let a right key pass that was not used before, once the flood ebbs', async () => {
    const asked = { name: 'new', scopes: ['read'], votingEventId: null, expiresInDays: 1 } as const;
    const { key } = await createApiKey(service.deps.db, service.deps, { ...asked, accountId: account.id });
    await untilTrue(async () => (await service.call('GET', '/me', undefined, { key })).status === 200);
  });
});

test('a lowered plan is told to every process at once', async () => {
  await using second = await service.another();
  const owner = await service.account();
  // Once the flood of the tests before has ebbed.
  const event = await eventually(() =>
    owner.event({}, [{ votingMethod: 'approval', candidates: ['Ada'] }]).catch(() => undefined),
  );
  const status = async () =>
    (await second.call('GET', `/voting-events/${event.id}/votes`, undefined, { key: owner.read })).status;
  const plan = async () => (await second.call('GET', '/me', undefined, { key: owner.read })).body.data.account.plan;
  expect([await status(), await plan()]).toEqual([200, 'enterprise']);
  await updatePlan(service.deps.db, owner.id, 'free');
  // Long before what a process remembers of an account ends by itself.
  await untilTrue(async () => (await plan()) === 'free' && (await status()) === 403, 30_000);
});

describe('the address that a request is counted by', () => {
  test('is one for every spelling, and one for each IPv6 network of 64 bits', () => {
    expect(addressOf('::ffff:192.0.2.7', undefined, 0)).toBe('192.0.2.7');
    const hops = ['192.0.2.7', ' 192.0.2.7:4711', '::ffff:192.0.2.7', '::FFFF:C000:207', '[::ffff:192.0.2.7]:80'];
    expect(new Set(hops.map((hop) => addressOf('10.0.0.1', `198.51.100.1,${hop}`, 1)))).toEqual(new Set(['192.0.2.7']));
    const six = ['2001:db8:0:1::1', '2001:0DB8::1:ffff:0:0:2', '[2001:db8:0:1:a:b:c:d]:443', '2001:db8:0:1::9%eth0'];
    expect(new Set(six.map((hop) => addressOf('10.0.0.1', hop, 1))).size).toBe(1);
    expect(addressOf('10.0.0.1', '2001:db8:0:2::1', 1)).not.toBe(addressOf('10.0.0.1', '2001:db8:0:1::1', 1));
  });

  test('believes no more hops than it is told to', () => {
    expect(addressOf('10.0.0.1', '192.0.2.1, 192.0.2.2', 0)).toBe('10.0.0.1');
    expect(addressOf('10.0.0.1', '192.0.2.1, 192.0.2.2', 2)).toBe('192.0.2.1');
    expect(addressOf('10.0.0.1', '192.0.2.2', 2)).toBe('10.0.0.1');
    expect(addressOf('10.0.0.1', undefined, 1)).toBe('10.0.0.1');
  });

  test('is refused where a hop is no address', () => {
    for (const hop of ['unknown', '', 'a'.repeat(9_000), '192.0.2.256', '192.0.2.7 x', '[192.0.2.7', '::1::'])
      expect(() => addressOf('10.0.0.1', hop, 1)).toThrow(ApiError);
  });
});

describe('the rate limiter', () => {
  test('keeps a bounded number of quotas, and those of addresses push out no key', () => {
    const limiter = new RateLimiter();
    const now = 1_800_000_000_000;
    for (let times = 0; times < 10; times += 1) limiter.take('key_1', 60, now);
    expect(limiter.look('key_1', 60, now).retryAfterSeconds).toBeDefined();
    const begin = process.cpuUsage();
    for (let index = 0; index < 300_000; index += 1) limiter.take(`failed:${index}`, 30, now, 30);
    // A request that looks at everything that is kept would take minutes of the processor for so many.
    expect(process.cpuUsage(begin).user / 1_000).toBeLessThan(3_000);
    expect(limiter.tracked).toBeLessThanOrEqual(50_001);
    expect(limiter.drainUsed().size).toBeLessThanOrEqual(100_000);
    expect(limiter.look('key_1', 60, now).retryAfterSeconds).toBeDefined();
  });
});

describe('what is never limited', () => {
  test('/health answers however often one address asks, while other open routes refuse', async () => {
    const ask = (path: string) =>
      Promise.all(Array.from({ length: 60 }, () => service.call('GET', path).then(({ status }) => status)));
    expect(new Set(await ask('/docs'))).toEqual(new Set([302, 429]));
    expect(new Set(await ask('/health'))).toEqual(new Set([200]));
    expect(new Set(await ask('/health/live'))).toEqual(new Set([200]));
  });
});

describe('the clock of the limiter', () => {
  test('is no wall clock: setting that one back or forward changes no quota', async () => {
    const owner = await service.account('free');
    const statuses = async () =>
      (await Promise.all(Array.from({ length: 22 }, () => owner.get('/me')))).map(({ status }) => status);
    expect((await statuses()).filter((status) => status === 429).length).toBeGreaterThan(0);
    const now = Date.now();
    using clock = vi.spyOn(service.deps.clock, 'now');
    // An hour on, a limiter by this clock would have filled every quota again; an hour back, it would refuse for an hour.
    clock.mockImplementation(() => now + 3_600_000);
    expect((await statuses()).filter((status) => status === 429).length).toBeGreaterThan(15);
    clock.mockImplementation(() => now - 3_600_000);
    const { headers } = await owner.get('/me');
    expect(Number(headers.get('X-RateLimit-Reset'))).toBeLessThan(30);
  });

  test('is of one process: others are told how long a quota takes to be full again', async () => {
    const [here, there] = [new RateLimiter(), new RateLimiter()];
    const pool = service.deps.db.$client;
    // One a minute, of ten: a busy machine may take many seconds for these few lines.
    const quota = () => ['key_shared', 1, monotonicMs(), 10] as const;
    for (let times = 0; times < 5; times += 1) here.take(...quota());
    await exchangeRateLimits(pool, here);
    there.take(...quota());
    await exchangeRateLimits(pool, there);
    const { resetSeconds, remaining } = there.look(...quota());
    // Six were taken, and this is what a seventh would get as its answer.
    expect(remaining).toBe(3);
    expect(resetSeconds).toBeGreaterThan(6 * 60);
    expect(resetSeconds).toBeLessThanOrEqual(7 * 60);
    const full = "SELECT (full_at - now_ms())::int AS left FROM rate_limits WHERE key = 'key_shared'";
    const [row] = await service.query(full);
    expect(row.left).toBeGreaterThan(5 * 60_000);
    expect(row.left).toBeLessThanOrEqual(6 * 60_000);
  });
});
