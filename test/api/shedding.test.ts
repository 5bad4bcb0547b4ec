import { afterEach, describe, expect, test, vi } from 'vitest';
import { IN_RECOVERY } from '#src/database/writer.ts';
import { Load, MOST_PRESSURE, type Urgency } from '#src/http/load.ts';
import { visitor, votesFor } from '#test/harness/elections.ts';
import { type TestAnswer, useAccount } from '#test/harness/test-service.ts';

const IN_ORDER: readonly Urgency[] = ['read', 'change', 'cast', 'confirm'];

const { service, account } = await useAccount({ worker: false });
const event = await account.event();
afterEach(() => vi.restoreAllMocks());

const calls: Readonly<Record<Urgency, () => Promise<TestAnswer>>> = {
  read: () => account.get(`/voting-events/${event.id}`),
  change: () => account.post('/voting-events', { title: 'New', type: 'poll' }, { 'Idempotency-Key': visitor() }),
  cast: () => account.page(event, 'ballot/cast', { visitorId: visitor(), votes: votesFor(event) }),
  confirm: () => account.page(event, 'ballot/confirm', { confirmationCode: 'K7QF-2M9X-T4BZ-8WPA-6HNC-3RVD-YE' }),
};

const isShed = ({ status, body, headers }: TestAnswer): boolean => {
  if (status !== 500) return false;
  const { code, details } = body.error;
  expect([code, details.reason, headers.get('retry-after')]).toEqual(['internal', 'overloaded', '1']);
  return true;
};

describe('past the capacity of the process', () => {
  test.each(['waiting', 'underWay', 'delayMs'] as const)(
    'requests are given up in order by %s: reads first, confirms last, /health never',
    async (sign) => {
      for (const [place, urgency] of IN_ORDER.entries()) {
        const none = { waiting: 0, underWay: 0, delayMs: 0 };
        vi.spyOn(service.deps.load, 'pressure').mockReturnValue({ ...none, [sign]: MOST_PRESSURE[urgency][sign] });
        const shed: boolean[] = [];
        for (const kind of IN_ORDER) shed.push(isShed(await calls[kind]()));
        expect(shed).toEqual(IN_ORDER.map((_, index) => index <= place));
        expect((await service.call('GET', '/health/live')).status).toBe(200);
        expect((await service.call('GET', '/health')).status).toBe(200);
        vi.restoreAllMocks();
      }
      for (const kind of IN_ORDER) expect(isShed(await calls[kind]())).toBe(false);
    },
  );

  test('nothing is done for what is given up: no statement, nothing of a quota, no claim', async () => {
    vi.spyOn(service.deps.load, 'pressure').mockReturnValue({ waiting: 1e6, underWay: 0, delayMs: 0 });
    const pools = [service.deps.db.$client, service.deps.reads.$client];
    const queries = pools.map((pool) => vi.spyOn(pool, 'query'));
    const connects = pools.map((pool) => vi.spyOn(pool, 'connect'));
    for (const kind of IN_ORDER) {
      const answer = await calls[kind]();
      expect(isShed(answer)).toBe(true);
      expect(answer.headers.get('x-ratelimit-remaining')).toBeNull();
    }
    const texts = queries.flatMap(({ mock }) => mock.calls.map((call) => JSON.stringify(call)));
    // Once a second, for all requests together.
    const isOfNoRequest = (text: string): boolean => /share_rate_limits|keep_request_traces/.test(text);
    expect(texts.filter((text) => !isOfNoRequest(text))).toEqual([]);
    // With a callback, the pool calls itself for a query: those are counted above.
    const taken = connects.flatMap(({ mock }) => mock.calls).filter(([callback]) => callback === undefined);
    expect(taken).toEqual([]);
  });

  test('all who ask at once whether it is well share one look at the database, and others have its connections', async () => {
    const { $client } = service.deps.db;
    const query = $client.query.bind($client) as (...given: unknown[]) => Promise<unknown>;
    let [underWay, most] = [0, 0];
    vi.spyOn($client, 'query').mockImplementation((async (...given: unknown[]) => {
      if (given[0] !== IN_RECOVERY) return query(...given);
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise((resolve) => setTimeout(resolve, 20));
      underWay -= 1;
      return query(...given);
    }) as typeof $client.query);
    const answers = await Promise.all(Array.from({ length: 200 }, () => service.call('GET', '/health')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(most).toBe(1);
  });

  const anyone = (): undefined => undefined;

  test('accounts with more under way than others on the average are refused, and others taken, up to twice as much', () => {
    const load = new Load(() => 0);
    const most = MOST_PRESSURE.read.underWay;
    const begin = (account: string) => {
      const stay = load.enter('read', () => account);
      stay.isOf(account);
      return stay;
    };
    const small = begin('small');
    const flood = Array.from({ length: most - 1 }, () => begin('flood'));
    expect(() => begin('flood')).toThrow('Too many requests');
    expect(() => load.enter('read', anyone)).toThrow('Too many requests');
    const more = Array.from({ length: 10 }, () => begin('small'));
    begin('new').leave();
    small.rest();
    small.goOn();
    for (const stay of [...flood, ...more, small]) stay.leave();
    expect(load.pressure().underWay).toBe(0);
    for (let account = 0; account < 2 * most; account += 1) begin(`one ${account}`);
    expect(() => begin('another')).toThrow('Too many requests');
  });

  test('what waits is counted as long as it waits', () => {
    let waiting = 0;
    const load = new Load(() => waiting);
    const left = Array.from({ length: MOST_PRESSURE.read.underWay }, () => load.enter('read', anyone));
    expect(() => load.enter('read', anyone)).toThrow('Too many requests');
    load.enter('change', anyone).leave();
    for (const stay of left) stay.rest();
    // Who waits for the sender or for a turn has nothing done.
    load.enter('read', anyone).leave();
    for (const stay of left) stay.goOn();
    expect(() => load.enter('read', anyone)).toThrow('Too many requests');
    for (const stay of left) stay.leave();
    load.enter('read', anyone).leave();
    waiting = MOST_PRESSURE.read.waiting;
    expect(() => load.enter('read', anyone)).toThrow('Too many requests');
    waiting = 0;
    load.enter('read', anyone).leave();
    expect(load.pressure().underWay).toBe(0);
  });

  test('a process that comes late to everything says so, and not one that was held up once', async () => {
    const load = new Load(() => 0);
    const over = new AbortController();
    load.start(over.signal);
    const hold = (ms: number): void => {
      const until = performance.now() + ms;
      while (performance.now() < until);
    };
    await new Promise((resolve) => setTimeout(resolve, 400));
    hold(400);
    await new Promise((resolve) => setTimeout(resolve, 70));
    expect(load.pressure().delayMs).toBeLessThan(150);
    for (let turn = 0; turn < 6; turn += 1) {
      hold(300);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(load.pressure().delayMs).toBeGreaterThan(150);
    await vi.waitFor(() => expect(load.pressure().delayMs).toBeLessThan(150), { timeout: 5_000 });
    over.abort();
  });
});
