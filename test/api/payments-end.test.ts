import { describe, expect, test } from 'vitest';
import { paymentDeps } from '#src/fulfilments.ts';
import { listOwed } from '#src/payments/list-owed.ts';
import { reconcilePayments } from '#src/payments/reconcile-payments.ts';
import { demand, refusalOf, valuesOf } from '#test/harness/answers.ts';
import { finishEvent, PLURALITY, visitor, votesFor } from '#test/harness/elections.ts';
import { moveEnd } from '#test/harness/move-end.ts';
import {
  decide,
  lookAtPayment,
  PRICE,
  PROVIDERS,
  refundsOf,
  soldCredits,
  type TestProvider,
  usePaidService,
} from '#test/harness/payments.ts';
import { use } from '#test/harness/use.ts';

// Money that was paid ends by itself: given, or paid back, whether its payer comes back or not (completions 7.4).

const { service, poll } = await usePaidService();
const another = await use(service.another());

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** As if so much time had passed since the payment; then one run of the job. */
async function passes(attempt: string, ms: number): Promise<void> {
  const aged = `UPDATE payment_attempts SET paid_at = paid_at - $2::bigint, succeeded_at = succeeded_at - $2::bigint
    WHERE id = $1`;
  await service.query(aged, [attempt, ms]);
  await lookAtPayment(service, attempt);
}

const factsOf = async (attempt: string): Promise<string[]> =>
  valuesOf(
    await service.query('SELECT action FROM audit_entries WHERE resource = $1 ORDER BY id', [attempt]),
    'action',
  );

const toRegister = (provider: TestProvider) => ({
  payments: { payToRegisterCandidate: PRICE[provider] },
  candidate: { selfRegistration: true },
});
const registering = (provider: TestProvider) => poll(provider, toRegister(provider));

async function buyCredits(provider: TestProvider) {
  const event = await poll(provider, { payments: {} }, [soldCredits(provider)]);
  const path = 'quadratic-credits/checkout';
  const body = { visitorId: visitor(), positionId: event.positions[0]?.id, credits: 2 };
  const attempt = await event.buy(path, body);
  const given = async (): Promise<number> =>
    (await service.query(`SELECT 1 FROM credit_entries WHERE reason = $1 AND kind = 'purchase'`, [attempt])).length;
  return { event, attempt, given, firstStatus: 200, second: () => event.page(path, { paymentAttemptId: attempt }) };
}

async function buyCandidacy(provider: TestProvider) {
  const event = await registering(provider);
  const path = 'register/candidate';
  const attempt = await event.buy(path, { name: 'Cleo', positionIds: [event.positions[0]?.id] });
  const given = async (): Promise<number> =>
    (await service.query('SELECT 1 FROM candidates WHERE payment_attempt_id = $1', [attempt])).length;
  return { event, attempt, given, firstStatus: 201, second: () => event.page(path, { paymentAttemptId: attempt }) };
}

/** What is bought, its second call and the status of that, and how often it stands in the database. */
const BUYERS = { credits: buyCredits, registration: buyCandidacy };

describe.each(PROVIDERS)('through %s', (provider) => {
  describe.each(['credits', 'registration'] as const)('a paid %s', (what) => {
    test('is given ten minutes after the payment, and its payer, who comes back later, is answered as the first', async () => {
      const { event, attempt, second, given, firstStatus } = await BUYERS[what](provider);
      await passes(attempt, 9 * MINUTE_MS);
      expect([(await event.payment(attempt)).status, await given()]).toEqual(['succeeded', 0]);
      await passes(attempt, MINUTE_MS);
      expect([(await event.payment(attempt)).status, await given()]).toEqual(['fulfilled', 1]);
      expect(await factsOf(attempt)).toEqual(['payment.succeeded', 'payment.fulfilled']);
      const answers = await Promise.all([second(), second(), second()]);
      const statuses = answers.map(({ status }) => status).toSorted();
      expect(statuses).toEqual([200, 200, 200].toSpliced(2, 1, firstStatus));
      expect(new Set(answers.map(({ body }) => JSON.stringify(body.data))).size).toBe(1);
      expect((await second()).status).toBe(200);
      expect([await given(), await refundsOf(service, attempt)]).toEqual([1, []]);
    });

    test('of whom comes back in time is given by the call, and by nothing afterwards', async () => {
      const { attempt, second, given, firstStatus } = await BUYERS[what](provider);
      expect((await second()).status).toBe(firstStatus);
      await passes(attempt, 80 * HOUR_MS);
      expect([(await second()).status, await given(), await refundsOf(service, attempt)]).toEqual([200, 1, []]);
    });

    test('that cannot be given any more goes back, and says why to who comes late', async () => {
      const { event, attempt, second, given } = await BUYERS[what](provider);
      await finishEvent(service, event.id);
      await passes(attempt, 10 * MINUTE_MS);
      expect(await event.refunded(attempt)).toMatchObject({ status: 'cancelled' });
      const { status, body } = await second();
      expect([status, body.error.details]).toEqual([409, { reason: 'payment_cancelled', cause: 'event_over' }]);
      expect(await given()).toBe(0);
    });

    test('is given once where two processes and the payer ask for it at the same moment', async () => {
      const { attempt, second, given, firstStatus } = await BUYERS[what](provider);
      const aged = 'UPDATE payment_attempts SET succeeded_at = succeeded_at - 600000, check_at = 1 WHERE id = $1';
      await service.query(aged, [attempt]);
      const [answer] = await Promise.all([
        second(),
        ...[service, another].map(({ deps }) => reconcilePayments(paymentDeps(deps))),
      ]);
      expect([answer.status, await given()]).toEqual([firstStatus, 1]);
      expect(await factsOf(attempt)).toEqual(['payment.succeeded', 'payment.fulfilled']);
    });
  });

  test('a registration that was really paid for is given although a round of a rehearsal is closed', async () => {
    const settings = { ...toRegister(provider), startsAt: Date.now() + 24 * HOUR_MS };
    const event = await poll(provider, settings, PLURALITY, false);
    const register = (name: string) => event.buy('register/candidate', { name, positionIds: [event.positions[0]?.id] });
    const [late, awaited] = [await register('Cleo'), await register('Dora')];
    await event.change({ status: 'rehearsal' });
    await event.change({ status: 'closed' });
    await passes(late, MINUTE_MS);
    expect((await event.payment(late)).status).toBe('succeeded');
    await passes(late, 10 * MINUTE_MS);
    expect(await event.payment(late)).toMatchObject({ status: 'fulfilled', refund: null });
    demand(await event.page('register/candidate', { paymentAttemptId: awaited }), 201);
    await event.change({ status: 'draft' });
    const candidates: { name: string }[] = await event.show('/candidates');
    expect(candidates.map(({ name }) => name)).toEqual(expect.arrayContaining(['Cleo', 'Dora']));
  });

  describe.each(['vote', 'credits', 'registration'] as const)('a %s whose payer pays after the close', (what) => {
    async function payLate() {
      const event = await {
        vote: () => poll(provider),
        credits: () => poll(provider, { payments: {} }, [soldCredits(provider)]),
        registration: () => registering(provider),
      }[what]();
      const positionId = event.positions[0]?.id;
      const [path, body] = {
        vote: ['ballot/cast', { visitorId: visitor(), votes: votesFor(event) }],
        credits: ['quadratic-credits/checkout', { visitorId: visitor(), positionId, credits: 2 }],
        registration: ['register/candidate', { name: 'Cleo', positionIds: [positionId] }],
      }[what] as [string, object];
      const { attempt, url } = await event.checkout(path, body);
      await moveEnd(service.deps, event.id, 'closed_at = now_ms() - 5 * 60 * 1000');
      await decide(url, 'pay');
      await event.succeeded(attempt);
      return { event, attempt, second: () => event.page(path, { paymentAttemptId: attempt }) };
    }

    test('goes back with the second call', async () => {
      const { event, attempt, second } = await payLate();
      expect(refusalOf(await second())).toEqual([409, 'payment_cancelled']);
      expect(await event.refunded(attempt)).toMatchObject({ status: 'cancelled', endReason: 'event_over' });
    });

    test('goes back by itself once the event cannot be opened again', async () => {
      const { event, attempt } = await payLate();
      await passes(attempt, 0);
      expect((await event.payment(attempt)).status).toBe('succeeded');
      await finishEvent(service, event.id);
      await passes(attempt, 0);
      expect(await event.refunded(attempt)).toMatchObject({ status: 'cancelled', endReason: 'event_over' });
    });
  });

  // Seen after a process was killed at the third step of a first call: `created` for ever, its visitor's credits held.
  test('an attempt whose process died before it asked for a page ends with the time of a page', async () => {
    const event = await poll(provider);
    const { attempt } = await event.begin();
    const begun = `UPDATE payment_attempts SET status = 'created', pages = 0, page = NULL WHERE id = $1`;
    await service.query(begun, [attempt]);
    await lookAtPayment(service, attempt);
    expect((await event.payment(attempt)).status).toBe('created');
    await service.query('UPDATE payment_attempts SET expires_at = 1 WHERE id = $1', [attempt]);
    await lookAtPayment(service, attempt);
    expect(await event.payment(attempt)).toMatchObject({ status: 'cancelled', endReason: 'page_expired' });
  });

  test('a paid vote is cast by the second call alone, and goes back after 72 hours in an event without an end', async () => {
    const event = await poll(provider);
    const attempt = await event.payKnown();
    await passes(attempt, 71 * HOUR_MS);
    expect((await event.payment(attempt)).status).toBe('succeeded');
    await passes(attempt, HOUR_MS);
    expect(await event.refunded(attempt)).toMatchObject({ status: 'cancelled', endReason: 'not_cast' });
    expect(await factsOf(attempt)).toEqual(['payment.succeeded', 'payment.cancelled', 'payment.refunded']);
    const late = await event.cast(attempt);
    expect([late.status, late.body.error.details]).toEqual([409, { reason: 'payment_cancelled', cause: 'not_cast' }]);
    await lookAtPayment(service, attempt);
    expect(await refundsOf(service, attempt)).toHaveLength(1);
  });

  test('a paid vote whose payer comes back after 71 hours is cast', async () => {
    const event = await poll(provider);
    const attempt = await event.payKnown();
    await passes(attempt, 71 * HOUR_MS);
    demand(await event.cast(attempt), 201);
    await passes(attempt, 2 * HOUR_MS);
    expect([(await event.payment(attempt)).status, await refundsOf(service, attempt)]).toEqual(['fulfilled', []]);
  });

  test.each([
    ['credits', 'payment.fulfilled'],
    ['registration', 'payment.fulfilled'],
    ['vote', 'payment.cancelled'],
  ] as const)(
    'a paid %s whose step is cut off before its commit has one effect with the next look',
    async (what, fact) => {
      const attempt =
        what === 'vote' ? await (await poll(provider)).payKnown() : (await BUYERS[what](provider)).attempt;
      const cut = `CREATE FUNCTION cut_off() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN IF NEW.resource = '${attempt}' AND NEW.action = '${fact}' THEN RAISE EXCEPTION 'cut off'; END IF; RETURN NEW; END $$`;
      const trigger = 'CREATE TRIGGER cut_off BEFORE INSERT ON audit_entries FOR EACH ROW EXECUTE FUNCTION cut_off()';
      for (const statement of [cut, trigger]) await service.query(statement);
      try {
        await passes(attempt, 72 * HOUR_MS);
        const rows = await service.query('SELECT status, check_at FROM payment_attempts WHERE id = $1', [attempt]);
        expect([rows[0].status, rows[0].check_at !== null]).toEqual(['succeeded', true]);
        expect(await refundsOf(service, attempt)).toEqual([]);
      } finally {
        await service.query('DROP FUNCTION cut_off() CASCADE');
      }
      await lookAtPayment(service, attempt);
      const facts = await factsOf(attempt);
      expect(facts.filter((one) => one === fact)).toHaveLength(1);
      expect(await refundsOf(service, attempt)).toHaveLength(what === 'vote' ? 1 : 0);
    },
  );

  test('a payment that a fault keeps from its end for 72 hours is on the list of what is owed', async () => {
    const event = await registering(provider);
    const attempt = await event.buy('register/candidate', { name: 'Cleo', positionIds: [event.positions[0]?.id] });
    const spoilt = `UPDATE payment_attempts SET request = '{"name": 1}', succeeded_at = succeeded_at - 73 * 3600000::bigint WHERE id = $1`;
    await service.query(spoilt, [attempt]);
    await lookAtPayment(service, attempt);
    const owed = await listOwed(service.deps.db, event.businessId);
    expect(owed.map(({ attemptId, refund }) => [attemptId, refund])).toEqual([[attempt, null]]);
  });
});
