import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startDatabaseProxy } from '#test/harness/database-proxy.ts';
import { demand, refusalOf, visitor, votesFor } from '#test/harness/elections.ts';
import { RETURN_URL, usePaidService } from '#test/harness/payments.ts';
import { type TestAnswer, untilTrue } from '#test/harness/test-service.ts';
import { use } from '#test/harness/use.ts';

const { service: direct, sandbox, poll } = await usePaidService({ worker: false });
const proxy = await use(startDatabaseProxy(direct.databaseUrl));
const service = await use(direct.on(proxy.url));

/** What runs beside requests: its statements are no stage of one. */
const BESIDE = /beat|service_processes|share_rate_limits|keep_request_traces|status" is null/;
/** A claim whose request is over is free this long after the database's return. */
const FREE_WITHIN_MS = 5_000;

/** The database goes away as it is sent the nth statement of a call, or once it has done it. */
function goAwayAt(stage: number, lost: 'statement' | 'answer'): { wasReached(): boolean } {
  let sent = 0;
  proxy.onSent = (bytes) => {
    if (BESIDE.test(bytes.toString('latin1'))) return;
    sent += 1;
    if (sent !== stage) return;
    proxy.away = true;
    if (lost === 'statement') return proxy.cut();
    proxy.deaf = true;
    // The database has done its part by then.
    setTimeout(() => proxy.cut(), 50);
  };
  return { wasReached: () => sent >= stage };
}

const comeBack = async (): Promise<void> => {
  Object.assign(proxy, { away: false, deaf: false, onSent: undefined });
  await untilTrue(async () => (await service.call('GET', '/health')).status === 200);
};

const event = await poll('provider_a');

/** A first call of a paid vote, as often as it is asked. */
function payment(): () => Promise<TestAnswer> {
  const headers = { 'Idempotency-Key': visitor() };
  const body = { visitorId: visitor(), votes: votesFor(event), email: 'payer@mail.example', returnUrl: RETURN_URL };
  return () =>
    service.call('POST', `/public/voting-events/${event.id}/ballot/cast`, body, { key: event.account.vote, headers });
}

test.each(['statement', 'answer'] as const)(
  'frees a payment’s key within 5 s of the database’s return, and makes one page, whichever %s is lost',
  async (lost) => {
    for (let stage = 1; ; stage += 1) {
      const pages = sandbox.pages().length;
      const ask = payment();
      const fault = goAwayAt(stage, lost);
      const first = await ask();
      if (!fault.wasReached()) {
        demand(first, 402);
        expect(stage).toBeGreaterThan(10);
        break;
      }
      await comeBack();
      const backAt = performance.now();
      let again = await ask();
      while ([409, 500].includes(again.status) && performance.now() < backAt + FREE_WITHIN_MS) {
        await pause(100);
        again = await ask();
      }
      expect([stage, ...refusalOf(again)]).toEqual([stage, 402, undefined]);
      expect(demand(await ask(), 402).paymentAttemptId).toBe(demand(again, 402).paymentAttemptId);
      expect(sandbox.pages()).toHaveLength(pages + 1);
    }
    await comeBack();
  },
);

test('keeps the key of a payment that is still under way, and frees a claim that was made when its request was over', async () => {
  sandbox.faults.latencyMs = 4_000;
  const ask = payment();
  const first = ask();
  const late = Buffer.concat([service.deps.processId, Buffer.alloc(16)]);
  await direct.query(
    "SELECT claim_requests('{late}', '{late}', ARRAY[$1::bytea], ARRAY[$1::bytea], NULL, '{NULL}', '{NULL}', '{}')",
    [late],
  );
  await untilTrue(async () => (await direct.query("SELECT 1 FROM idempotency_keys WHERE key = 'late'")).length === 0);
  expect(refusalOf(await ask())).toEqual([409, 'idempotency_in_progress']);
  await pause(1_200);
  expect(refusalOf(await ask())).toEqual([409, 'idempotency_in_progress']);
  const answered = demand(await first, 402);
  expect(demand(await ask(), 402)).toEqual(answered);
});
