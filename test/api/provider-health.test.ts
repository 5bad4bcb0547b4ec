import { randomBytes } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { describe, expect, onTestFinished, test } from 'vitest';
import { NO_FAULTS } from '#sandbox/faults.ts';
import { sandboxKey } from '#sandbox/sandbox-keys.ts';
import { paymentDeps } from '#src/fulfilments.ts';
import { checkBusinessJob, checkUnreadyBusinesses } from '#src/payments/check-business.ts';
import { refreshBusiness } from '#src/payments/connect-business.ts';
import { sweepPayments } from '#src/payments/sweep-payments.ts';
import { demand, refusalOf, valuesOf } from '#test/harness/answers.ts';
import { PLURALITY, visitor, votesFor } from '#test/harness/elections.ts';
import { holdStatement } from '#test/harness/intercept-statements.ts';
import {
  createPaidEvent,
  lookAtPayment,
  type PaidEvent,
  PRICE,
  PROVIDERS,
  RETURN_URL,
  referenceOf,
  soldCredits,
  usePaidService,
} from '#test/harness/payments.ts';
import { untilTrue } from '#test/harness/test-service.ts';
import { keepLog } from '#test/harness/use.ts';

// One health of a connection, whatever was asked (completions 1.6), and lists that hold what other shops sell too.

const { lines, log } = keepLog('error');
const { service, sandbox, poll } = await usePaidService({ log });

const alarmsOf = (about: string): unknown[] =>
  valuesOf(
    lines.filter(({ business, attempt }) => business === about || attempt === about),
    'alarm',
  );

const isReady = async ({ businessId }: PaidEvent): Promise<boolean> =>
  (await service.query('SELECT ready FROM payment_businesses WHERE id = $1', [businessId]))[0].ready;

const mailedTo = (event: PaidEvent, what: string): boolean =>
  service.mails().some((mail) => mail.includes(event.businessId) && mail.includes(what));

const firstCall = (event: PaidEvent) => ({
  visitorId: visitor(),
  email: 'p@mail.example',
  votes: votesFor(event),
  returnUrl: RETURN_URL,
});

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
        await lookAtPayment(service, attempt);
      }
      expect([await isReady(event), alarmsOf(event.businessId)]).toEqual([false, ['business_not_ready']]);
      await untilTrue(() => mailedTo(event, 'takes no payments'));
      expect(refusalOf(await event.page('ballot/cast', firstCall(event)))).toEqual([403, 'payment_unavailable']);
      Object.assign(sandbox.faults, NO_FAULTS);
      await checkUnreadyBusinesses(paymentDeps(service.deps));
      demand(await event.cast(attempt), 201);
      expect([await isReady(event), alarmsOf(event.businessId)]).toEqual([true, ['business_not_ready']]);
    },
  );

  test('a refusal of the old key that is stored after the new key was passed closes no business', async () => {
    const event = await poll(provider);
    // The first statement after the question, behind the one that takes the turn to ask.
    const { reached, free, restore } = holdStatement(/^update "payment_businesses" set (?!"checked_at")/);
    onTestFinished(restore);
    keyEnds();
    const refused = event.page('ballot/cast', firstCall(event));
    await reached;
    Object.assign(sandbox.faults, NO_FAULTS);
    const secretKey = sandboxKey(
      event.businessId,
      provider === 'provider_a' ? 'US' : 'NG',
      randomBytes(16).toString('hex'),
    );
    await refreshBusiness(service.deps, event.businessId, { secretKey });
    free();
    await refused;
    expect([await isReady(event), alarmsOf(event.businessId)]).toEqual([true, []]);
    demand(await event.page('ballot/cast', firstCall(event)), 402);
  });

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
    const alarmsAfter = [0, 0, 0, 1, 2];
    for (const [at, refuseStatus] of [503, 0, 503, 503, 503].entries()) {
      Object.assign(sandbox.faults, { refuseStatus, refuseTimes: 1_000 });
      await sweepPayments(paymentDeps(service.deps));
      expect(failing(), `sweep ${at}`).toBe(alarmsAfter[at]);
    }
    await untilTrue(() => mailedTo(event, 'could not be held against the lists'));
  });
});

test('an event that asks for money does not open while its business takes none, and says so', async () => {
  const event = await createPaidEvent(service, 'provider_a', {}, PLURALITY, false);
  const read = async () => (await event.show('')).missing;
  const keyHasEnded = async (): Promise<void> => {
    keyEnds();
    await service.query('UPDATE payment_businesses SET ready = false WHERE id = $1', [event.businessId]);
    await checkUnreadyBusinesses(paymentDeps(service.deps));
  };
  const keyIsRight = async (): Promise<void> => {
    Object.assign(sandbox.faults, NO_FAULTS);
    await checkUnreadyBusinesses(paymentDeps(service.deps));
  };
  expect(await read()).toEqual([]);
  // Another event of the business meets the key that has ended.
  await keyHasEnded();
  const missing = [{ reason: 'business_not_ready', positionId: null, title: null, message: expect.any(String) }];
  expect(await read()).toEqual(missing);
  const refused = await event.account.of(event).patch('', { status: 'open' });
  expect(refusalOf(refused)).toEqual([409, 'not_ready']);
  expect(refused.body.error.details.missing).toEqual(missing);
  expect((await event.change({ startsAt: Date.now() + 3_600_000 })).missing).toEqual(missing);
  // Without a price the business does not matter.
  expect((await event.change({ payments: { payToVote: null } })).missing).toEqual([]);
  await keyIsRight();
  expect((await event.change({ payments: { payToVote: PRICE.provider_a } })).missing).toEqual([]);
  await keyHasEnded();
  expect(await read()).toEqual(missing);
  await keyIsRight();
  expect(await read()).toEqual([]);
  await event.change({ status: 'open' });
});

test('a definition is sent back as it is shown after its business or its plan stopped taking money, and takes no new offer then', async () => {
  const event = await createPaidEvent(service, 'provider_a', { payments: {} }, [soldCredits('provider_a')], false);
  const own = event.account.of(event);
  const [fileWith, without] = [
    await own.show('/definition'),
    'UPDATE payment_businesses SET ready = false WHERE id = $1',
  ];
  const [position] = fileWith.positions;
  const dearer = { ...position.quadraticTopUp, pricePerCreditMinor: position.quadraticTopUp.pricePerCreditMinor + 1 };
  const changed = { ...fileWith, positions: [{ ...position, quadraticTopUp: dearer }] };
  const added = { ...fileWith, positions: [position, { ...position, id: 'another', title: 'Another' }] };
  const election = { ...fileWith, event: { ...fileWith.event, type: 'election' } };
  expect((await own.put('/definition', election)).status).toBe(422);
  await service.query(without, [event.businessId]);
  demand(await own.put('/definition', fileWith), 200);
  for (const offering of [changed, added]) expect((await own.put('/definition', offering)).status).toBe(422);
  await service.query('UPDATE payment_businesses SET ready = true WHERE id = $1', [event.businessId]);
  await service.query("UPDATE accounts SET plan = 'free' WHERE id = $1", [event.account.id]);
  await untilTrue(async () => refusalOf(await own.put('/definition', changed))[1] === 'plan_feature');
  expect(refusalOf(await own.put('/definition', added))).toEqual([403, 'plan_feature']);
  demand(await own.put('/definition', fileWith), 200);
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

describe('an event that a business keeps from opening', () => {
  /** A scheduled event whose business has become unready. */
  async function createBlocked() {
    const event = await poll('provider_a', {}, undefined, false);
    await event.change({ startsAt: Date.now() + 3_600_000 });
    keyEnds();
    await checkBusinessJob(paymentDeps(service.deps)).work(
      { businessId: event.businessId, refusal: null },
      { id: '1', attempt: 1, last: false },
    );
    expect((await event.show('')).missing).toMatchObject([{ reason: 'business_not_ready' }]);
    Object.assign(sandbox.faults, NO_FAULTS);
    return event;
  }

  test('may open once an operator has refreshed the business', async () => {
    const event = await createBlocked();
    await refreshBusiness(service.deps, event.businessId, {});
    expect((await event.show('')).missing).toEqual([]);
  });

  test('may open although an import holds it while the business is seen ready', async () => {
    const event = await createBlocked();
    await service.deps.db.transaction(async (tx) => {
      await tx.execute(sql`SELECT FROM voting_events WHERE id = ${event.id} FOR UPDATE`);
      await checkUnreadyBusinesses(paymentDeps(service.deps));
    });
    expect(await isReady(event)).toBe(true);
    await service.query("UPDATE jobs SET run_at = 0 WHERE key = 'check-business:' || $1", [event.businessId]);
    await untilTrue(async () => (await event.show('')).missing.length === 0);
  });
});
