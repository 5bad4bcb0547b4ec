import { describe, expect, test } from 'vitest';
import { NO_FAULTS } from '#sandbox/faults.ts';
import { paymentDeps } from '#src/fulfilments.ts';
import { checkUnreadyBusinesses } from '#src/payments/check-business.ts';
import { reconcilePayments } from '#src/payments/reconcile-payments.ts';
import { sweepPayments } from '#src/payments/sweep-payments.ts';
import { createLog } from '#src/platform/log.ts';
import { demand, PLURALITY, refusalOf, visitor, votesFor } from '#test/harness/elections.ts';
import {
  createPaidEvent,
  type PaidEvent,
  PROVIDERS,
  RETURN_URL,
  referenceOf,
  usePaidService,
} from '#test/harness/payments.ts';
import { untilTrue } from '#test/harness/test-service.ts';

// One health of a connection, whatever was asked (completions 1.6), and lists that hold what other shops sell too.

const lines: string[] = [];
const { service, sandbox, poll } = await usePaidService({
  log: createLog('error', { write: (line) => lines.push(line) }),
});

const alarmsOf = (about: string): string[] =>
  lines
    .map((line) => JSON.parse(line))
    .filter(({ business, attempt }) => business === about || attempt === about)
    .map(({ alarm }) => alarm);

const isReady = async ({ businessId }: PaidEvent): Promise<boolean> =>
  (await service.query('SELECT ready FROM payment_businesses WHERE id = $1', [businessId]))[0].ready;

const mailedTo = (event: PaidEvent, what: string): boolean =>
  service.mails().some((mail) => mail.includes(event.businessId) && mail.includes(what));

const keyEnds = (times = 1_000) => Object.assign(sandbox.faults, { refuseStatus: 401, refuseTimes: times });

describe.each(PROVIDERS)('through %s', (provider) => {
  test.each(['a read', 'a second call', 'a job'] as const)(
    'a key that ends is noticed by %s: who has paid may come again, reads give what is stored, the owner is mailed',
    async (by) => {
      const event = await poll(provider);
      await service.query('UPDATE accounts SET contact_email = $2 WHERE id = $1', [event.account.id, 'o@mail.example']);
      sandbox.faults.webhooks = 'lost';
      const attempt = await event.pay();
      keyEnds();
      if (by === 'a read') {
        expect(await event.payment(attempt)).toMatchObject({ id: attempt, status: 'pending' });
        expect((await event.page(`payments/${attempt}`)).body.data.status).toBe('pending');
      } else if (by === 'a second call') {
        const answer = await event.cast(attempt);
        expect(refusalOf(answer)).toEqual([500, 'payment_provider_unavailable']);
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      } else {
        await service.query('UPDATE payment_attempts SET check_at = 1 WHERE id = $1', [attempt]);
        await reconcilePayments(paymentDeps(service.deps));
      }
      expect([await isReady(event), alarmsOf(event.businessId)]).toEqual([false, ['business_not_ready']]);
      await untilTrue(() => mailedTo(event, 'takes no payments'));
      const body = { visitorId: visitor(), email: 'p@mail.example', votes: votesFor(event), returnUrl: RETURN_URL };
      expect(refusalOf(await event.page('ballot/cast', body))).toEqual([403, 'payment_unavailable']);
      Object.assign(sandbox.faults, NO_FAULTS);
      await checkUnreadyBusinesses(paymentDeps(service.deps));
      demand(await event.cast(attempt), 201);
      expect([await isReady(event), alarmsOf(event.businessId)]).toEqual([true, ['business_not_ready']]);
    },
  );

  test('a page of a gateway before the provider closes no business: it is no word about the account', async () => {
    const event = await poll(provider);
    const { attempt } = await event.begin();
    sandbox.faults.gatewayTimes = 10;
    expect((await event.page(`payments/${attempt}`)).body.data.status).toBe('pending');
    expect(refusalOf(await event.cast(attempt))).toEqual([500, 'payment_provider_unavailable']);
    sandbox.faults.gatewayTimes = 0;
    expect([await isReady(event), alarmsOf(event.businessId)]).toEqual([true, []]);
    expect((await event.cast(attempt)).status).toBe(402);
  });

  test('odd rows of another shop blind no comparison, and one that names a payment of ours alarms', async () => {
    const event = await poll(provider);
    const [attempt, unread] = [await event.vote(), await event.vote()];
    sandbox.faults.webhooks = 'lost';
    await sandbox.reverse(referenceOf(event, attempt), 'refund');
    const odd = { id: 77, fees: 150.5, amount: 1.5, reference: null, status: 'success', currency: 7, metadata: 0 };
    const named = { id: 78, status: null, metadata: { paymentAttemptId: unread } };
    sandbox.faults.foreignRows = [odd, { id: 79 }, named, null, 'text'];
    await sweepPayments(paymentDeps(service.deps));
    expect((await event.payment(attempt)).reversedAt).not.toBeNull();
    expect(new Set(alarmsOf(unread))).toEqual(new Set(['payment_unread']));
    expect(alarmsOf(event.businessId)).not.toContain('comparison_failing');
  });

  test('a comparison that fails two days running alarms and mails the owner; one that works begins anew', async () => {
    const event = await poll(provider);
    await service.query('UPDATE accounts SET contact_email = $2 WHERE id = $1', [event.account.id, 'o@mail.example']);
    // A sweep asks a provider that is away for each business again and again: those of the tests before are long gone.
    await service.query('UPDATE payment_businesses SET disconnected_at = 0 WHERE id <> $1', [event.businessId]);
    const failing = () => alarmsOf(event.businessId).filter((alarm) => alarm === 'comparison_failing').length;
    const sweeps: [number, number][] = [
      [503, 0],
      [0, 0],
      [503, 0],
      [503, 1],
      [503, 2],
    ];
    for (const [refuseStatus, alarms] of sweeps) {
      Object.assign(sandbox.faults, { refuseStatus, refuseTimes: 1_000 });
      await sweepPayments(paymentDeps(service.deps));
      expect([refuseStatus, failing()]).toEqual([refuseStatus, alarms]);
    }
    await untilTrue(() => mailedTo(event, 'could not be held against the lists'));
  });
});

test('an event that asks for money does not open while its business takes none, and says so', async () => {
  const event = await createPaidEvent(service, 'provider_a', {}, PLURALITY, false);
  const read = async () => demand(await event.account.get(`/voting-events/${event.id}`), 200).missing;
  const change = (body: object) =>
    service.call('PATCH', `/voting-events/${event.id}`, body, { key: event.account.write });
  expect(await read()).toEqual([]);
  keyEnds();
  // Another event of the business meets the key that has ended.
  await service.query('UPDATE payment_businesses SET ready = false WHERE id = $1', [event.businessId]);
  await checkUnreadyBusinesses(paymentDeps(service.deps));
  const missing = [{ reason: 'business_not_ready', positionId: null, title: null, message: expect.any(String) }];
  expect(await read()).toEqual(missing);
  const refused = await change({ status: 'open' });
  expect(refusalOf(refused)).toEqual([409, 'not_ready']);
  expect(refused.body.error.details.missing).toEqual(missing);
  expect(demand(await change({ startsAt: Date.now() + 3_600_000 }), 200).missing).toEqual(missing);
  // Without a price the business does not matter.
  expect(demand(await change({ payments: { payToVote: null } }), 200).missing).toEqual([]);
  Object.assign(sandbox.faults, NO_FAULTS);
  await checkUnreadyBusinesses(paymentDeps(service.deps));
  const price = { payToVote: { amountMinor: 500, currency: 'usd' } };
  expect(demand(await change({ payments: price }), 200).missing).toEqual([]);
  keyEnds();
  await service.query('UPDATE payment_businesses SET ready = false WHERE id = $1', [event.businessId]);
  await checkUnreadyBusinesses(paymentDeps(service.deps));
  expect(await read()).toEqual(missing);
  Object.assign(sandbox.faults, NO_FAULTS);
  await checkUnreadyBusinesses(paymentDeps(service.deps));
  expect(await read()).toEqual([]);
  demand(await change({ status: 'open' }), 200);
});

test('a page that provider_a answers 404 for ends with its time', async () => {
  const event = await poll('provider_a');
  const { attempt } = await event.begin();
  const lost = `UPDATE payment_attempts SET page = page || '{"checkoutSessionId":"cs_test_gone"}' WHERE id = $1`;
  await service.query(lost, [attempt]);
  expect((await event.page(`payments/${attempt}`)).body.data.status).toBe('pending');
  await service.query('UPDATE payment_attempts SET expires_at = 1, asked_at = NULL WHERE id = $1', [attempt]);
  expect(await event.payment(attempt)).toMatchObject({ status: 'cancelled', endReason: 'page_expired' });
  expect(await isReady(event)).toBe(true);
});
