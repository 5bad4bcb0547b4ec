import { Writable } from 'node:stream';
import pino from 'pino';
import { describe, expect, test, vi } from 'vitest';
import { NO_FAULTS } from '#sandbox/faults.ts';
import { paymentDeps } from '#src/fulfilments.ts';
import { takeAsking } from '#src/payments/attempt-repository.ts';
import { checkUnreadyBusinesses } from '#src/payments/check-business.ts';
import { visitor, votesFor } from '#test/harness/elections.ts';
import { createPaidEvent, type PaidEvent, PROVIDERS, RETURN_URL, usePaidService } from '#test/harness/payments.ts';
import { eventually, startTestService, type TestAnswer } from '#test/harness/test-service.ts';

const lines: string[] = [];

const out = new Writable({
  write(chunk, _encoding, done) {
    lines.push(String(chunk));
    done();
  },
});
const { service, sandbox } = await usePaidService({ log: pino({ level: 'warn' }, out) });

const post = (event: PaidEvent, body: unknown, on = service): Promise<TestAnswer> =>
  on.call('POST', `/public/voting-events/${event.id}/ballot/cast`, body, { key: event.account.vote });

const firstCall = (event: PaidEvent, on = service): Promise<TestAnswer> => {
  const votes = votesFor(event);
  return post(event, { visitorId: visitor(), email: 'payer@mail.example', returnUrl: RETURN_URL, votes }, on);
};

const isReady = async ({ account, businessId }: PaidEvent): Promise<boolean> => {
  const { body } = await account.get('/payment-businesses');
  return body.data.find(({ id }: { id: string }) => id === businessId).ready;
};

const alarmsOf = ({ businessId }: PaidEvent): string[] =>
  lines
    .map((line) => JSON.parse(line))
    .filter(({ alarm, business }) => alarm !== undefined && business === businessId)
    .map(({ alarm }) => alarm);

const shown = ({ status, body: { error } }: TestAnswer) => [status, error?.code, error?.details?.reason];

describe.each(PROVIDERS)('%s', (provider) => {
  test.each([400, 401, 403] as const)('that refuses by %i is not one that is away', async (refuseStatus) => {
    const event = await createPaidEvent(service, provider);
    const open = await firstCall(event);
    expect(open.status).toBe(402);
    const { paymentAttemptId } = open.body.data;
    Object.assign(sandbox.faults, { refuseStatus, refuseTimes: 1_000 });
    lines.length = 0;
    const unavailable = [403, 'forbidden', 'payment_unavailable'];
    expect(shown(await firstCall(event))).toEqual(unavailable);
    // The operator reads the provider's own word for it.
    expect(lines.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ provider, status: refuseStatus, code: 'account_restricted' }),
    );
    expect(shown(await post(event, { paymentAttemptId }))).toEqual(unavailable);
    Object.assign(sandbox.faults, NO_FAULTS);
    expect((await post(event, { paymentAttemptId })).status).toBe(402);
  });

  test.each([400, 401, 403] as const)(
    'that refuses the account by %i makes its business unready, with one alarm, until it takes payments again',
    async (refuseStatus) => {
      const event = await createPaidEvent(service, provider);
      Object.assign(sandbox.faults, { refuseStatus, refuseTimes: 1_000 });
      lines.length = 0;
      const unavailable = [403, 'forbidden', 'payment_unavailable'];
      for (const answer of await Promise.all([1, 2, 3].map(() => firstCall(event))))
        expect(shown(answer)).toEqual(unavailable);
      expect(await isReady(event)).toBe(false);
      expect(alarmsOf(event)).toEqual(['business_not_ready']);
      const asked = sandbox.requests.length;
      expect(shown(await firstCall(event))).toEqual(unavailable);
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

  test('that refuses a price alarms, and leaves the business ready for other prices', async () => {
    const event = await createPaidEvent(service, provider);
    Object.assign(sandbox.faults, { refuseStatus: 400, refuseField: 'amount', refuseTimes: 1 });
    expect(shown(await firstCall(event))).toEqual([403, 'forbidden', 'payment_unavailable']);
    await eventually(() => (alarmsOf(event).includes('payment_refused') ? true : undefined));
    expect([await isReady(event), (await firstCall(event)).status]).toEqual([true, 402]);
  });

  test('that restricts an account is heard, by its message where it sends one, otherwise by its refusal', async () => {
    const event = await createPaidEvent(service, provider);
    sandbox.setAccountReady(event.secretKey, false);
    if (provider === 'provider_b') expect((await firstCall(event)).status).toBe(403);
    await eventually(async () => ((await isReady(event)) ? undefined : true));
    expect(alarmsOf(event)).toEqual(['business_not_ready']);
    sandbox.setAccountReady(event.secretKey, true);
    if (provider === 'provider_b') await checkUnreadyBusinesses(paymentDeps(service.deps));
    await eventually(async () => ((await isReady(event)) ? true : undefined));
    expect((await firstCall(event)).status).toBe(402);
  });

  test.each(['email', 'returnUrl'] as const)('that refuses the %s names it to the payer', async (field) => {
    const event = await createPaidEvent(service, provider);
    Object.assign(sandbox.faults, { refuseStatus: 400, refuseField: field, refuseTimes: 1 });
    const answer = await firstCall(event);
    expect([answer.status, answer.body.error.code, answer.body.error.details.field]).toEqual([
      422,
      'validation_error',
      field,
    ]);
    expect((await firstCall(event)).status).toBe(402);
  });

  test.each([429, 500, 503] as const)('that answers %i is away, and may be asked again', async (refuseStatus) => {
    const event = await createPaidEvent(service, provider);
    Object.assign(sandbox.faults, { refuseStatus, refuseTimes: 1_000 });
    const answer = await firstCall(event);
    expect(shown(answer)).toEqual([500, 'internal', 'payment_provider_unavailable']);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  test('that is silent holds no call of a payer for more than ten seconds', async () => {
    const event = await createPaidEvent(service, provider);
    const { paymentAttemptId } = (await firstCall(event)).body.data;
    sandbox.faults.latencyMs = 60_000;
    const startedAt = performance.now();
    const answers = await Promise.all([
      firstCall(event),
      post(event, { paymentAttemptId }),
      // Waits for the answer to the one before, and then for nothing more.
      post(event, { paymentAttemptId }),
    ]);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    for (const answer of answers) {
      expect(shown(answer)).toEqual([500, 'internal', 'payment_provider_unavailable']);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    }
  });

  test('that did not answer whom a caller waited for is asked by that caller, who takes no old state for an answer', async () => {
    const event = await createPaidEvent(service, provider);
    const { paymentAttemptId } = (await firstCall(event)).body.data;
    const ref = { votingEventId: event.id, id: paymentAttemptId };
    const { db } = service.deps;
    const other = { againAfterMs: 0, leaseMs: 60_000, processId: service.deps.processId };
    expect(await takeAsking(db, ref, other)).toBe(true);
    // The first process gives up after this caller has seen it asking, and before the caller reads the attempt again.
    const pool = db.$client;
    const query = pool.query.bind(pool);
    let looked = false;
    const giveUp = vi.spyOn(pool, 'query').mockImplementation((async (...args: Parameters<typeof query>) => {
      if (!looked && JSON.stringify(args[0]).includes('update \\"payment_attempts\\"')) {
        looked = true;
        const answer = await query(...args);
        await query(`UPDATE payment_attempts SET asking_until = NULL WHERE id = $1`, [paymentAttemptId]);
        return answer;
      }
      return query(...args);
    }) as unknown as typeof query);
    try {
      sandbox.faults.refuseStatus = 503;
      sandbox.faults.refuseTimes = 1_000;
      expect(shown(await post(event, { paymentAttemptId }))).toEqual([500, 'internal', 'payment_provider_unavailable']);
      expect(looked).toBe(true);
    } finally {
      giveUp.mockRestore();
    }
  });

  test('of the sandbox takes nothing where no sandbox runs, and says so', async () => {
    const event = await createPaidEvent(service, provider);
    const { paymentAttemptId } = (await firstCall(event)).body.data;
    const { databaseUrl, secretKey } = service;
    const without = await startTestService({ databaseUrl, secretKey, worker: false });
    const unavailable = [403, 'forbidden', 'payment_unavailable'];
    try {
      expect(shown(await firstCall(event, without))).toEqual(unavailable);
      expect(shown(await post(event, { paymentAttemptId }, without))).toEqual(unavailable);
      for (const [path, key] of [
        [`/public/voting-events/${event.id}`, event.account.vote],
        [`/voting-events/${event.id}`, event.account.read],
      ] as const) {
        const read = await without.call('GET', `${path}/payments/${paymentAttemptId}`, undefined, { key });
        expect(shown(read)).toEqual(unavailable);
      }
    } finally {
      await without.stop();
    }
  });

  test('is as good as before once time was made to pass for its open pages', async () => {
    const event = await createPaidEvent(service, provider);
    const control = (body: unknown) =>
      fetch(`${sandbox.url}/_sandbox/clock`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    expect((await control({ advanceMs: 3_700_000 })).status).toBe(200);
    const answer = await firstCall(event);
    expect(answer.status).toBe(402);
    expect(shown(await post(event, { paymentAttemptId: answer.body.data.paymentAttemptId }))[0]).toBe(402);
  });
});
