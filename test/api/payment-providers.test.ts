import { createHmac } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { NO_FAULTS } from '#sandbox/faults.ts';
import { sandboxWebhookSecret } from '#sandbox/sandbox-keys.ts';
import { paymentDeps } from '#src/fulfilments.ts';
import { signatureOf } from '#src/payment-providers/provider-b-webhook.ts';
import { takeAsking } from '#src/payments/attempt-repository.ts';
import { checkUnreadyBusinesses } from '#src/payments/check-business.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { demand, fieldOf, refusalOf } from '#test/harness/answers.ts';
import { visitor, votesFor } from '#test/harness/elections.ts';
import {
  connectTestBusiness,
  decide,
  type PaidEvent,
  PROVIDERS,
  RETURN_URL,
  usePaidService,
} from '#test/harness/payments.ts';
import { startTestService, type TestAnswer, untilTrue } from '#test/harness/test-service.ts';
import { keepLog } from '#test/harness/use.ts';

const DAY_MS = 86_400_000;
const { lines, log } = keepLog('warn');
const { service, sandbox, poll } = await usePaidService({ log });

const post = (event: PaidEvent, body: unknown, on = service): Promise<TestAnswer> =>
  on.call('POST', `/public/voting-events/${event.id}/ballot/cast`, body, { key: event.account.vote });

const firstCall = (event: PaidEvent, on = service): Promise<TestAnswer> =>
  post(event, { visitorId: visitor(), email: 'payer@mail.example', returnUrl: RETURN_URL, votes: votesFor(event) }, on);

const isReady = async ({ account, businessId }: PaidEvent): Promise<boolean> =>
  (await account.show('/payment-businesses')).find(({ id }: { id: string }) => id === businessId).ready;

const alarmsOf = ({ businessId }: PaidEvent): unknown[] =>
  lines.flatMap(({ alarm, business }) => (alarm !== undefined && business === businessId ? [alarm] : []));

const shown = ({ status, body: { error } }: TestAnswer) => [status, error?.code, error?.details?.reason];
const UNAVAILABLE = [403, 'forbidden', 'payment_unavailable'];
const AWAY = [500, 'internal', 'payment_provider_unavailable'];

describe.each(PROVIDERS)('%s', (provider) => {
  test.each([400, 401, 403] as const)('that refuses by %i is not one that is away', async (refuseStatus) => {
    const event = await poll(provider);
    const { attempt: paymentAttemptId } = await event.begin();
    Object.assign(sandbox.faults, { refuseStatus, refuseTimes: 1_000 });
    lines.length = 0;
    expect(shown(await firstCall(event))).toEqual(UNAVAILABLE);
    // The operator reads the provider's own word for it.
    const words = { provider, status: refuseStatus, code: 'account_restricted' };
    expect(lines).toContainEqual(expect.objectContaining(words));
    // Whoever has begun to pay may come again: the refusal is no answer to them.
    expect(shown(await post(event, { paymentAttemptId }))).toEqual(AWAY);
    Object.assign(sandbox.faults, NO_FAULTS);
    expect((await post(event, { paymentAttemptId })).status).toBe(402);
  });

  test.each([400, 401, 403] as const)(
    'that refuses the account by %i makes its business unready, with one alarm, until it takes payments again',
    async (refuseStatus) => {
      const event = await poll(provider);
      Object.assign(sandbox.faults, { refuseStatus, refuseTimes: 1_000 });
      lines.length = 0;
      for (const answer of await Promise.all([1, 2, 3].map(() => firstCall(event))))
        expect(shown(answer)).toEqual(UNAVAILABLE);
      expect(await isReady(event)).toBe(false);
      expect(alarmsOf(event)).toEqual(['business_not_ready']);
      const asked = sandbox.requests.length;
      expect(shown(await firstCall(event))).toEqual(UNAVAILABLE);
      expect(sandbox.requests.length).toBe(asked);
      await checkUnreadyBusinesses(paymentDeps(service.deps));
      expect(await isReady(event)).toBe(false);
      Object.assign(sandbox.faults, NO_FAULTS);
      await checkUnreadyBusinesses(paymentDeps(service.deps));
      expect(await isReady(event)).toBe(true);
      expect((await firstCall(event)).status).toBe(402);
      expect(alarmsOf(event)).toEqual(['business_not_ready']);
    },
  );

  test('is asked about each business that takes no payments, however many others take none', async () => {
    const event = await poll(provider);
    sandbox.setAccountReady(event.secretKey, false);
    await firstCall(event);
    await untilTrue(async () => !(await isReady(event)));
    // No message says that it takes payments again.
    sandbox.faults.webhooks = 'lost';
    sandbox.setAccountReady(event.secretKey, true);
    const columns = (await service.query(`SELECT column_name AS name FROM information_schema.columns
      WHERE table_name = 'payment_businesses' AND column_name <> 'id'`)) as { name: string }[];
    const names = columns.map(({ name }) => name).join(', ');
    // Their credentials cannot be opened, so that no check of them ever ends.
    await service.query(
      `INSERT INTO payment_businesses (id, ${names}) SELECT 'pb_more_' || number, ${names.replace('updated_at', '0')}
       FROM payment_businesses, generate_series(1, 120) AS number WHERE id = $1`,
      [event.businessId],
    );
    try {
      for (let run = 0; run < 2; run += 1) await checkUnreadyBusinesses(paymentDeps(service.deps));
      expect(await isReady(event)).toBe(true);
    } finally {
      await service.query("DELETE FROM payment_businesses WHERE id LIKE 'pb_more_%'");
    }
  });

  test('that refuses a price alarms, and leaves the business ready for other prices', async () => {
    const event = await poll(provider);
    Object.assign(sandbox.faults, { refuseStatus: 400, refuseField: 'amount', refuseTimes: 1 });
    expect(shown(await firstCall(event))).toEqual(UNAVAILABLE);
    await untilTrue(() => alarmsOf(event).includes('payment_refused'));
    expect([await isReady(event), (await firstCall(event)).status]).toEqual([true, 402]);
  });

  test('that restricts an account is heard, by its message where it sends one, otherwise by its refusal', async () => {
    const event = await poll(provider);
    sandbox.setAccountReady(event.secretKey, false);
    if (provider === 'provider_b') expect((await firstCall(event)).status).toBe(403);
    await untilTrue(async () => !(await isReady(event)));
    expect(alarmsOf(event)).toEqual(['business_not_ready']);
    sandbox.setAccountReady(event.secretKey, true);
    if (provider === 'provider_b') await checkUnreadyBusinesses(paymentDeps(service.deps));
    await untilTrue(async () => await isReady(event));
    expect((await firstCall(event)).status).toBe(402);
  });

  test.each(['email', 'returnUrl'] as const)('that refuses the %s names it to the payer', async (field) => {
    const event = await poll(provider);
    Object.assign(sandbox.faults, { refuseStatus: 400, refuseField: field, refuseTimes: 1 });
    const { status, body } = await firstCall(event);
    expect([status, body.error.code, body.error.details.field]).toEqual([422, 'validation_error', field]);
    expect((await firstCall(event)).status).toBe(402);
  });

  test.each([429, 500, 503] as const)('that answers %i is away, and may be asked again', async (refuseStatus) => {
    const event = await poll(provider);
    Object.assign(sandbox.faults, { refuseStatus, refuseTimes: 1_000 });
    const answer = await firstCall(event);
    expect(shown(answer)).toEqual(AWAY);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  test('that is silent holds no call of a payer for longer than the limit for payers', async () => {
    const event = await poll(provider);
    const { attempt: paymentAttemptId } = await event.begin();
    sandbox.faults.latencyMs = 60_000;
    const startedAt = performance.now();
    const answers = await Promise.all([
      firstCall(event),
      post(event, { paymentAttemptId }),
      // Waits for the answer to the one before, and then for nothing more.
      post(event, { paymentAttemptId }),
    ]);
    // One that waited for the call before it and then asked for itself would take twice the limit.
    expect(performance.now() - startedAt).toBeLessThan(2 * TIME_LIMITS.payerMs);
    for (const answer of answers) {
      expect(shown(answer)).toEqual(AWAY);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    }
  });

  test('that did not answer whom a caller waited for is asked by that caller, who takes no old state for an answer', async () => {
    const event = await poll(provider);
    const { attempt: paymentAttemptId } = await event.begin();
    const ref = { votingEventId: event.id, id: paymentAttemptId };
    const { db } = service.deps;
    const other = { againAfterMs: 0, leaseMs: 60_000 };
    expect(await takeAsking(db, ref, other)).toMatchObject(ref);
    // The first process gives up after this caller has seen it asking, and before the caller reads the attempt again.
    const pool = db.$client;
    const query = pool.query.bind(pool);
    let looked = false;
    using _giveUp = vi.spyOn(pool, 'query').mockImplementation((async (...args: Parameters<typeof query>) => {
      if (!looked && JSON.stringify(args[0]).includes('update \\"payment_attempts\\"')) {
        looked = true;
        const answer = await query(...args);
        await query(`UPDATE payment_attempts SET asking_until = NULL WHERE id = $1`, [paymentAttemptId]);
        return answer;
      }
      return query(...args);
    }) as unknown as typeof query);
    Object.assign(sandbox.faults, { refuseStatus: 503, refuseTimes: 1_000 });
    expect(shown(await post(event, { paymentAttemptId }))).toEqual(AWAY);
    expect(looked).toBe(true);
  });

  test('of the sandbox takes nothing where no sandbox runs, and says so', async () => {
    const event = await poll(provider);
    const { attempt: paymentAttemptId } = await event.begin();
    const { databaseUrl, secretKey } = service;
    await using without = await startTestService({ databaseUrl, secretKey, worker: false });
    expect(shown(await firstCall(event, without))).toEqual(UNAVAILABLE);
    expect(shown(await post(event, { paymentAttemptId }, without))).toEqual(UNAVAILABLE);
    for (const [path, key] of [
      [`/public/voting-events/${event.id}`, event.account.vote],
      [`/voting-events/${event.id}`, event.account.read],
    ] as const) {
      const read = await without.call('GET', `${path}/payments/${paymentAttemptId}`, undefined, { key });
      expect(shown(read)).toEqual(UNAVAILABLE);
    }
  });

  test('is as good as before once time was made to pass for its open pages', async () => {
    const event = await poll(provider);
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ advanceMs: 3_700_000 });
    expect((await fetch(`${sandbox.url}/_sandbox/clock`, { method: 'POST', headers, body })).status).toBe(200);
    const { attempt: paymentAttemptId } = await event.begin();
    expect(shown(await post(event, { paymentAttemptId }))[0]).toBe(402);
  });
});

const statusOf = async (event: PaidEvent, attempt: string): Promise<string> =>
  demand(await event.page(`payments/${attempt}`), 200).status;

const untilStatus = (event: PaidEvent, attempt: string, status: string) =>
  untilTrue(async () => (await statusOf(event, attempt)) === status);

/** A payer whose card is declined: the page takes them to itself again. */
async function decline(url: string): Promise<void> {
  sandbox.faults.declineTimes = 1;
  expect(new URL(await decide(url, 'pay'), url).href).toBe(url);
}

/** The page is over, at the provider or here, as the provider has it. */
async function endPage({ provider }: PaidEvent, attempt: string): Promise<void> {
  if (provider === 'provider_a') sandbox.advance(3_600_000);
  else await service.query('UPDATE payment_attempts SET expires_at = 1 WHERE id = $1', [attempt]);
}

describe.each(PROVIDERS)('a card that %s declines', (provider) => {
  test('ends nothing: a second try on the same page ends in a counted vote', async () => {
    const event = await poll(provider);
    const { attempt, url } = await event.begin();
    await decline(url);
    expect(await (await fetch(url)).text()).toContain('The bank refused this card');
    const waiting = await event.cast(attempt);
    expect([waiting.status, waiting.body.data.status]).toEqual([402, 'pending']);
    await pause(2_100);
    expect(await statusOf(event, attempt)).toBe('pending');
    await decide(url, 'pay');
    await untilStatus(event, attempt, 'succeeded');
    const confirmationCode = await event.castCode(attempt);
    demand(await event.page('ballot/confirm', { confirmationCode }), 200);
    expect((await event.show('/results')).stats.ballots).toBe(1);
  });

  test('is the last word when its page ends: failed, and cancelled where there was no try', async () => {
    const event = await poll(provider);
    const [declined, left] = [await event.begin(), await event.begin()];
    await decline(declined.url);
    await decide(left.url, 'cancel');
    for (const { attempt } of [declined, left]) await endPage(event, attempt);
    try {
      await untilStatus(event, declined.attempt, 'failed');
      await untilStatus(event, left.attempt, 'cancelled');
    } finally {
      if (provider === 'provider_a') sandbox.advance(-3_600_000);
    }
    const ended = await Promise.all([declined, left].map(({ attempt }) => event.cast(attempt)));
    expect(ended.map((answer) => refusalOf(answer)[1])).toEqual(['payment_failed', 'payment_expired']);
  });
});

test('a page of provider_b whose day is over has failed for good where its last try was refused', async () => {
  const event = await poll('provider_b');
  const { attempt, url } = await event.begin();
  await decline(url);
  sandbox.advance(DAY_MS);
  try {
    await untilStatus(event, attempt, 'failed');
  } finally {
    sandbox.advance(-DAY_MS);
  }
});

function signed({ provider, secretKey }: PaidEvent, body: string): Record<string, string> {
  if (provider === 'provider_b') return { 'x-paystack-signature': signatureOf(Buffer.from(body), secretKey) };
  const seconds = Math.floor(Date.now() / 1_000);
  const digest = createHmac('sha256', sandboxWebhookSecret(secretKey)).update(`${seconds}.${body}`).digest('hex');
  return { 'stripe-signature': `t=${seconds},v1=${digest}` };
}

async function send(event: PaidEvent, body: string): Promise<{ status: number; tookMs: number }> {
  const url = `${service.url}/provider-webhooks/${event.provider}/${event.businessId}`;
  const begin = performance.now();
  const answer = await fetch(url, { method: 'POST', body, headers: signed(event, body) });
  await answer.text();
  return { status: answer.status, tookMs: performance.now() - begin };
}

const thin = {
  id: 'evt_test_65R9Ijk8dKEYZcXeRWn16R9A7j1FSQ3w3TGDPLLGSM4CW0',
  object: 'v2.core.event',
  type: 'v1.billing.meter.error_report_triggered',
  livemode: false,
  created: '2026-09-17T06:20:52.246Z',
  related_object: { id: 'mtr_test_1', type: 'billing.meter', url: '/v1/billing/meters/mtr_test_1' },
};

describe.each(PROVIDERS)('a message of %s', (provider) => {
  test('of any shape is answered within a second, and changes nothing that the provider does not confirm', async () => {
    const event = await poll(provider);
    const { attempt } = await event.begin();
    const paidA = { id: 'cs_x', object: 'checkout.session', client_reference_id: attempt, payment_status: 'paid' };
    const messages = [
      ...['{}', '[]', 'null', '"text"', '7', 'no json', '{"event":7}', '{"id":"evt_1","type":"x"}'],
      JSON.stringify(thin),
      JSON.stringify({ ...thin, type: 'v2.core.account.updated', id: 'evt_2' }),
      JSON.stringify({ id: 'evt_3', type: 'charge.refunded', livemode: false, data: { object: [] } }),
      JSON.stringify({ event: 'charge.success', data: null }),
      JSON.stringify({ event: 'bank.transfer.rejected', data: { bank_transfer: { amount: '300' } } }),
      JSON.stringify({ event: 'charge.success', data: [1, [2]] }),
      `{"event":"charge.success","data":{"metadata":${'['.repeat(500)}${']'.repeat(500)}}}`,
      // What says that the attempt was paid: asked at the provider, it was not.
      JSON.stringify({ id: 'evt_4', type: 'checkout.session.completed', livemode: false, data: { object: paidA } }),
      JSON.stringify({ event: 'charge.success', data: { domain: 'test', metadata: { paymentAttemptId: attempt } } }),
    ];
    const times: number[] = [];
    for (const message of messages) {
      const { status, tookMs } = await send(event, message);
      expect([message.slice(0, 60), status]).toEqual([message.slice(0, 60), 200]);
      times.push(tookMs);
    }
    // A busy machine may hold one of them up.
    expect(times.toSorted((left, right) => left - right)[Math.floor(times.length / 2)]).toBeLessThan(1_000);
    expect(await event.payment(attempt)).toMatchObject({ status: 'pending', refund: null });
  });

  test('has as many values and bytes as a provider sends: who has a business can sign a megabyte', async () => {
    const event = await poll(provider);
    const withValues = (count: number) =>
      JSON.stringify({ id: `evt_${count}`, event: 'x', type: 'x', livemode: false, more: Array(count).fill(1) });
    expect((await send(event, withValues(4_900))).status).toBe(200);
    expect((await send(event, withValues(5_100))).status).toBe(422);
    const nested = JSON.stringify({ event: 'x', type: 'x', more: Array(400).fill([[[[[[[[[[[[[1]]]]]]]]]]]]]) });
    expect((await send(event, nested)).status).toBe(422);
    const withText = (length: number) => JSON.stringify({ event: 'x', type: 'x', more: 'x'.repeat(length) });
    expect((await send(event, withText(260_000))).status).toBe(200);
    expect((await send(event, withText(263_000))).status).toBe(422);
  });

  test('that another signed is refused, whatever its shape', async () => {
    const event = await poll(provider);
    const other = await poll(provider);
    for (const message of ['{}', JSON.stringify(thin)]) {
      const { status } = await send({ ...event, secretKey: other.secretKey }, message);
      expect(status).toBe(400);
    }
  });
});

test('a business in test mode is shown as one in the context and in attempts, and takes pages of the own machine', async () => {
  const account = await service.account();
  const event = await account.event();
  const read = async (target: string, key = account.vote) =>
    demand(await service.call('GET', target, undefined, { key }), 200);
  const context = async () => (await read(`/public/voting-events/${event.id}`)).payments;
  const own = { returnUrl: 'http://localhost:8080/paid', cancelUrl: 'http://127.0.0.1/back' };
  const cast = () => account.page(event, 'ballot/cast', { visitorId: visitor(), votes: votesFor(event), ...own });
  expect((await context()).livemode).toBeNull();
  expect(fieldOf(await cast())).toEqual([422, 'returnUrl']);
  const business = await connectTestBusiness(service, account, 'provider_a');
  const path = `/voting-events/${event.id}`;
  demand(await account.put(`${path}/payment-business`, { paymentBusinessId: business.id }), 200);
  await account.change(path, { payments: { payToVote: { amountMinor: 500, currency: 'usd' } } });
  expect((await context()).livemode).toBe(false);
  const { paymentAttemptId } = demand(await cast(), 402);
  expect((await read(`${path}/payments/${paymentAttemptId}`, account.read)).livemode).toBe(false);
  expect((await read(`/public${path}/payments/${paymentAttemptId}`)).livemode).toBe(false);
  await account.change(path, { payments: { payToVote: null } });
  expect((await account.delete(`${path}/payment-business`)).status).toBe(204);
  expect((await context()).livemode).toBeNull();
});
