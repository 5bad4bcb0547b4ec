import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Database } from '#src/database/client.ts';
import { exchangeRateLimits, RateLimiter } from '#src/http/rate-limit.ts';
import { HOUR_MS, MINUTE_MS, monotonicMs } from '#src/platform/clock.ts';
import { publishTimedEvents } from '#src/voting-events/publish-status.ts';
import { valuesOf } from '#test/harness/answers.ts';
import { demand, sealBallots, visitor, votesFor } from '#test/harness/elections.ts';
import { setEventIn } from '#test/harness/genuine-rows.ts';
import { eventually, untilTrue, useAccount } from '#test/harness/test-service.ts';

const { service, account } = await useAccount({ worker: false });
const working = await useAccount();
afterEach(() => vi.restoreAllMocks());

const one = async <Row>(text: string, values: unknown[] = []): Promise<Row> =>
  (await service.query(text, values))[0] as Row;

/** Everything that this process would read off its own clock is this far ahead of the database. */
function setAhead(ms: number): void {
  const clock = service.deps.clock;
  const before = clock.now.bind(clock);
  vi.spyOn(clock, 'now').mockImplementation(() => before() + ms);
}

describe('a job of a process whose clock is ahead', () => {
  test('neither closes the log of an open election nor drops its keys', async () => {
    const event = await account.event({ type: 'election', endsAt: Date.now() + 10 * MINUTE_MS });
    await service.query(
      "INSERT INTO voter_keys (voting_event_id, voter_id, key_hash) VALUES ($1, 'vtr_x', decode('00', 'hex'))",
      [event.id],
    );
    setAhead(HOUR_MS);
    await sealBallots(service, event.id);
    const { closed_size: closed } = await one<{ closed_size: string | null }>(
      'SELECT closed_size FROM ballot_logs WHERE voting_event_id = $1',
      [event.id],
    );
    const { keys } = await one<{ keys: string }>('SELECT count(*) AS keys FROM voter_keys WHERE voting_event_id = $1', [
      event.id,
    ]);
    expect([closed, keys]).toEqual([null, '1']);
  });

  test('tells nobody of an end that has not come', async () => {
    const event = await account.event({ endsAt: Date.now() + 10 * MINUTE_MS });
    await service.query('UPDATE voting_events SET announced_status = NULL WHERE id = $1', [event.id]);
    setAhead(HOUR_MS);
    await publishTimedEvents(service.deps);
    const { status } = await one<{ status: string }>(
      'SELECT announced_status AS status FROM voting_events WHERE id = $1',
      [event.id],
    );
    expect(status).toBe('open');
  });
});

describe('a window that ends while somebody waits for the event', () => {
  test('is over for a confirm that gets the lock after it', async () => {
    const event = await account.event();
    const votes = votesFor(event);
    const cast = await account.page(event, 'ballot/cast', { visitorId: visitor(), votes });
    const { confirmationCode } = demand(cast, 201);
    const aged = 'UPDATE pending_ballots SET cast_at = cast_at - 3600000 WHERE voting_event_id = $1';
    await service.query(aged, [event.id]);
    const client = await service.deps.db.$client.connect();
    try {
      await client.query('BEGIN');
      await client.query('SELECT 1 FROM voting_events WHERE id = $1 FOR UPDATE', [event.id]);
      // Final in 300 ms; the next to lock the event finishes its log.
      const final = sql`closed_at = now_ms() - 15 * 60 * 1000 + 300, paper_version = paper_version + 1`;
      await setEventIn(drizzle(client) as unknown as Database, service.deps.secrets, event.id, final);
      const confirmed = account.page(event, 'ballot/confirm', { confirmationCode });
      await pause(600);
      await client.query('COMMIT');
      const { status, body } = await confirmed;
      expect([status, body.error?.details.reason]).toEqual([403, 'event_closed']);
    } finally {
      client.release();
    }
  });

  test('takes nothing back: every ballot that was cast with 201 during a close can be confirmed', async () => {
    const event = await account.event();
    const votes = votesFor(event);
    const casts = Array.from({ length: 60 }, async (_, index) => {
      await pause(index * 3);
      return account.page(event, 'ballot/cast', { visitorId: visitor(), votes });
    });
    await pause(70);
    await account.change(`/voting-events/${event.id}`, { status: 'closed' });
    const taken = (await Promise.all(casts)).filter(({ status }) => status === 201);
    expect(taken.length).toBeGreaterThan(0);
    const confirms = await Promise.all(
      taken.map(({ body }) => account.page(event, 'ballot/confirm', { confirmationCode: body.data.confirmationCode })),
    );
    expect(new Set(confirms.map(({ status }) => status))).toEqual(new Set([200]));
  });
});

test('a voter whom a process with a clock ahead has just added is copied, gets a letter and a mail, as the others', async () => {
  await using ahead = await working.service.another();
  const event = await working.account.event({ type: 'election' });
  const own = working.account.of(event);
  await own.make('/voters', { name: 'First', email: 'first@club.example' });
  const before = ahead.deps.clock.now.bind(ahead.deps.clock);
  vi.spyOn(ahead.deps.clock, 'now').mockImplementation(() => before() + 4_000);
  const second = { name: 'Second', email: 'second@club.example' };
  demand(await ahead.call('POST', `/voting-events/${event.id}/voters`, second, { key: working.account.write }), 201);
  const ended = (target: string) =>
    eventually(async () => {
      const shown = await own.show(target);
      return shown.finishedAt === null ? undefined : shown;
    });

  const copy = working.account.of(await own.make('/copy', { title: 'Copy', withVoters: true }));
  await untilTrue(async () => (await working.service.query('SELECT 1 FROM roll_copies')).length === 0);
  expect((await copy.show('')).copy).toEqual({ total: 2, done: 2 });
  expect(valuesOf(await copy.show('/voters'), 'name')).toEqual(['First', 'Second']);

  const letters = demand(await own.post('/voters/letters', { audience: 'all' }), 202);
  expect(await ended(`/letters/${letters.id}`)).toMatchObject({ total: 2, done: 2 });
  expect(valuesOf(await own.show('/voters'), 'keyStatus')).toEqual(['printed', 'printed']);

  const mails = demand(await own.post('/voters/notify', { audience: 'all', kind: 'key' }), 202);
  expect(await ended(`/notifications/${mails.id}`)).toMatchObject({ total: 2, handled: 2, sent: 2 });
});

test('a clock of the database that is set back gives no key a quota that is used up', async () => {
  const pool = service.deps.db.$client;
  const limiter = new RateLimiter();
  limiter.take('key_stepped', 600, monotonicMs());
  await exchangeRateLimits(pool, limiter);
  const { source } = await one<{ source: string }>("SELECT pg_get_functiondef('now_ms()'::regprocedure) AS source");
  await pool.query(`CREATE OR REPLACE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE
    RETURN (extract(epoch FROM clock_timestamp()) * 1000)::bigint - 60000`);
  try {
    for (let times = 0; times < 5; times += 1) {
      expect(limiter.take('key_stepped', 600, monotonicMs()).retryAfterSeconds).toBeUndefined();
      await exchangeRateLimits(pool, limiter);
    }
    expect(limiter.look('key_stepped', 600, monotonicMs()).resetSeconds).toBeLessThanOrEqual(1);
  } finally {
    await pool.query(source);
  }
});
