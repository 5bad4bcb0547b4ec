import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { paymentDeps } from '#src/fulfilments.ts';
import type { Caller } from '#src/http/caller.ts';
import { listDueAttempts, takePageNumber } from '#src/payments/attempt-repository.ts';
import { disconnectBusiness } from '#src/payments/connect-business.ts';
import { linkBusiness } from '#src/payments/link-business.ts';
import { listOwed } from '#src/payments/list-owed.ts';
import { raiseAged } from '#src/payments/manage-payment.ts';
import { reconcilePayments } from '#src/payments/reconcile-payments.ts';
import { sweepRefunds } from '#src/payments/refund-payment.ts';
import { ownerOf } from '#src/voting-events/access.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { demand, fieldOf, valuesOf } from '#test/harness/answers.ts';
import { visitor, votesFor } from '#test/harness/elections.ts';
import {
  checkoutUrlOf,
  connectTestBusiness,
  decide,
  lookAtPayment,
  type PaidEvent,
  PRICE,
  PROVIDERS,
  RETURN_URL,
  referenceOf,
  refundsOf,
  soldCredits,
  type TestProvider,
  untilPaymentsRest,
  usePaidService,
} from '#test/harness/payments.ts';
import { untilTrue } from '#test/harness/test-service.ts';

// Money whose ways cross: credits that a ballot holds, parts that went back, what is settled by hand, and then something else happens
// (completions 7.3 and 7.4). Each was lost, kept or given twice.

const { service, sandbox, poll } = await usePaidService();
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const query = (text: string, ...values: unknown[]) => service.query(text, values);

const quiet = () => untilPaymentsRest(service);

const byHand = (event: PaidEvent, attempt: string, what: 'refund' | 'settle') =>
  event.account.post(`/payments/${attempt}/${what}`, what === 'settle' ? { note: 'Agreed on' } : undefined);
const untilRefund = (attempt: string, status: string) =>
  untilTrue(async () => (await refundsOf(service, attempt))[0]?.status === status);
const needsAttention = async (event: PaidEvent): Promise<string[]> =>
  valuesOf(await event.account.show('/payments?attention=true'), 'id');

/** A paid poll of one quadratic question. @param base credits that everybody has */
const quadraticShop = (provider: TestProvider, base: number) =>
  poll(provider, { payments: { payToVote: PRICE[provider] }, results: { visibility: 'live' } }, [
    soldCredits(provider, 99, { quadraticBaseCreditBudget: base }),
  ]);

const votes = ({ positions: [position] }: PaidEvent, value: number) => [
  { positionId: position?.id, candidateId: position?.candidates[0], value },
];

async function buyCredits(event: PaidEvent, visitorId: string, credits: number): Promise<string> {
  const path = 'quadratic-credits/checkout';
  const paymentAttemptId = await event.buy(path, { visitorId, positionId: event.positions[0]?.id, credits });
  demand(await event.page(path, { paymentAttemptId }), 200);
  return paymentAttemptId;
}

const balanceOf = async (event: PaidEvent, visitorId: string) =>
  demand(await event.page(`quadratic-credits?positionId=${event.positions[0]?.id}&visitorId=${visitorId}`), 200);
const wonIn = async (event: PaidEvent): Promise<number> =>
  (await event.show('/results')).positions[0].candidates[0].votesWon;

/** A part of a payment goes back at the provider. */
async function givePartBack(event: PaidEvent, attempt: string, part: number): Promise<void> {
  await quiet();
  await sandbox.reverse(referenceOf(event, attempt), 'refund', part);
  await event.until(attempt, ({ attention }) => attention);
}

describe.each(PROVIDERS)('through %s', (provider) => {
  test('a ballot that holds credits ends with its deleted event: paid, it goes back, and unpaid, it is over', async () => {
    const event = await quadraticShop(provider, 9);
    const paid = await event.payKnown({ visitorId: visitor(), votes: votes(event, 3) });
    const unpaid = await event.begin({ visitorId: visitor(), votes: votes(event, 3) });
    expect((await event.account.delete(`/voting-events/${event.id}?force=true`)).status).toBe(204);
    await untilTrue(async () => (await query('SELECT 1 FROM voting_events WHERE id = $1', event.id)).length === 0);
    await lookAtPayment(service, paid);
    await query('UPDATE payment_attempts SET expires_at = 1 WHERE id = $1', unpaid.attempt);
    if (provider === 'provider_a') sandbox.advance(HOUR_MS);
    await lookAtPayment(service, unpaid.attempt);
    if (provider === 'provider_a') sandbox.advance(-HOUR_MS);
    await untilRefund(paid, 'refunded');
    const attempts = 'SELECT status, held_credits FROM payment_attempts WHERE voting_event_id = $1';
    const rows = await query(attempts, event.id);
    expect(rows).toEqual(Array(2).fill({ status: 'cancelled', held_credits: null }));
  });

  test('a part that went back and was settled leaves what was paid for to be given', async () => {
    const event = await poll(provider);
    const attempt = await event.payKnown();
    await givePartBack(event, attempt, 100);
    expect(demand(await byHand(event, attempt, 'settle'), 200).status).toBe('succeeded');
    expect((await event.cast(attempt)).status).toBe(201);
  });

  test.each(['by the organizer', 'at the provider'])(
    'credits whose money goes back %s are in no ballot that is cast later',
    async (way) => {
      const event = await quadraticShop(provider, 1);
      const visitorId = visitor();
      const bought = await buyCredits(event, visitorId, 8);
      const vote = await event.payKnown({ visitorId, votes: votes(event, 3) });
      if (way === 'by the organizer') {
        demand(await byHand(event, bought, 'refund'), 202);
        await event.refunded(bought);
      } else {
        await sandbox.reverse(referenceOf(event, bought), 'refund');
        await event.reversed(bought);
      }
      const { status, body } = await event.cast(vote);
      expect([status, body.error?.details.cause ?? body.error?.details.reason].join(' ')).toMatch(
        /^409 (insufficient_credits|payment_cancelled)/,
      );
      expect([await wonIn(event), (await balanceOf(event, visitorId)).purchasedCredits]).toEqual([0, 0]);
      expect(await event.refunded(vote)).toMatchObject({ status: 'cancelled' });
    },
  );

  test('what was paid for a ballot that falls with its credits goes back, too', async () => {
    const event = await quadraticShop(provider, 1);
    const visitorId = visitor();
    const bought = await buyCredits(event, visitorId, 8);
    const vote = await event.vote({ visitorId, votes: votes(event, 3) });
    demand(await byHand(event, bought, 'refund'), 202);
    expect((await event.refunded(vote)).refund?.status).toBe('refunded');
    expect((await event.show('/results')).stats.ballots).toBe(0);
  });

  test('credits are taken once where their refund fails and is made again', async () => {
    const event = await quadraticShop(provider, 1);
    const visitorId = visitor();
    const one = await buyCredits(event, visitorId, 4);
    await buyCredits(event, visitorId, 5);
    demand(await byHand(event, one, 'refund'), 202);
    await event.refunded(one);
    await quiet();
    await sandbox.moveRefund(referenceOf(event, one), 'failed');
    await event.until(one, ({ refund }) => refund?.status === 'failed');
    await quiet();
    await sandbox.reverse(referenceOf(event, one), 'refund');
    await event.refunded(one);
    expect((await balanceOf(event, visitorId)).purchasedCredits).toBe(5);
  });

  test('a refund that is refused after a case was settled is a case of its own', async () => {
    const event = await poll(provider);
    const attempt = await event.vote();
    await givePartBack(event, attempt, 100);
    demand(await byHand(event, attempt, 'settle'), 200);
    sandbox.faults.refuseRefunds = true;
    demand(await byHand(event, attempt, 'refund'), 202);
    await untilRefund(attempt, 'refused');
    const aged = 'UPDATE payment_refunds SET created_at = created_at - $2::bigint WHERE attempt_id = $1';
    await query(aged, attempt, 80 * HOUR_MS);
    await sweepRefunds(service.deps);
    await raiseAged(paymentDeps(service.deps));
    const owed = (await listOwed(service.deps.db, event.businessId)).map(({ attemptId }) => attemptId);
    expect([await needsAttention(event), owed]).toEqual([[attempt], [attempt]]);
    demand(await byHand(event, attempt, 'settle'), 200);
  });

  test('a first call that the provider did not answer holds no credits', async () => {
    const event = await quadraticShop(provider, 9);
    const body = { visitorId: visitor(), votes: votes(event, 3), email: 'p@mail.example', returnUrl: RETURN_URL };
    Object.assign(sandbox.faults, { refuseStatus: 500, refuseTimes: 1_000_000 });
    expect((await event.page('ballot/cast', body)).status).toBe(500);
    Object.assign(sandbox.faults, { refuseStatus: 0, refuseTimes: 0 });
    expect((await event.page('ballot/cast', body)).status).toBe(402);
  });

  test('money that comes after its page is said to be paid, and to be back', async () => {
    const event = await poll(provider);
    const { attempt, url } = await event.begin();
    await query('UPDATE payment_attempts SET expires_at = 1 WHERE id = $1', attempt);
    if (provider === 'provider_a') sandbox.advance(HOUR_MS);
    await lookAtPayment(service, attempt);
    if (provider === 'provider_a') sandbox.advance(-HOUR_MS);
    sandbox.faults.payAfterExpiry = true;
    await decide(url, 'pay');
    const back = await event.refunded(attempt);
    const { amountMinor } = PRICE[provider];
    expect(back).toMatchObject({ status: 'cancelled', paidMinor: amountMinor, refund: { status: 'refunded' } });
  });

  test('a delayed payment that has not come after 30 days is over', async () => {
    const event = await poll(provider);
    sandbox.faults.delayed = true;
    const { attempt, url } = await event.begin();
    await decide(url, 'pay');
    sandbox.faults.delayed = false;
    await lookAtPayment(service, attempt);
    const aged = 'UPDATE payment_attempts SET created_at = created_at - $2::bigint, expires_at = 1 WHERE id = $1';
    await query(aged, attempt, 40 * DAY_MS);
    await lookAtPayment(service, attempt);
    expect((await event.payment(attempt)).status).toBe('cancelled');
  });

  test('nobody has to look at what was stuck and is given, nor at parts that came to the whole', async () => {
    const event = await poll(provider);
    const stuck = await event.payKnown();
    const aged = 'UPDATE payment_attempts SET succeeded_at = succeeded_at - $2::bigint, check_at = NULL WHERE id = $1';
    await query(aged, stuck, 73 * HOUR_MS);
    await raiseAged(paymentDeps(service.deps));
    expect((await event.payment(stuck)).attention).toBe(true);
    await event.castCode(stuck);
    const [used, unused] = [await event.vote(), await event.payKnown()];
    for (const parts of [used, unused]) {
      await givePartBack(event, parts, 100);
      await sandbox.reverse(referenceOf(event, parts), 'refund', PRICE[provider].amountMinor - 100);
    }
    await event.reversed(used);
    expect(await event.refunded(unused)).toMatchObject({ status: 'cancelled', refund: { status: 'refunded' } });
    expect(await needsAttention(event)).toEqual([]);
  });
});

// The rest was held against the minimum of a price.
test('what is left of a payment goes back however small the part that went before', async () => {
  const event = await poll('provider_b');
  const attempt = await event.payKnown();
  await givePartBack(event, attempt, 2_000);
  demand(await byHand(event, attempt, 'refund'), 202);
  await untilRefund(attempt, 'refunded');
});

test('all attempts that are due are looked at in one run, and thousands of one account keep no other waiting', async () => {
  const [many, other] = [await poll('provider_a'), await poll('provider_a')];
  const [{ attempt: first }, { attempt: last }] = [await many.begin(), await other.begin()];
  await query(
    `INSERT INTO payment_attempts SELECT (jsonb_populate_record(a, jsonb_build_object('id', 'pay_zz' || n, 'provider_session_id', 'cs_none_' || n,
       'check_at', 1))).* FROM payment_attempts a, generate_series(1, 250) AS n WHERE a.id = $1`,
    first,
  );
  await query('UPDATE payment_attempts SET check_at = 2 WHERE id = $1', last);
  expect((await listDueAttempts(service.deps.db)).slice(0, 2).map(({ id }) => id)).toContain(last);
  await reconcilePayments(paymentDeps(service.deps));
  expect(await query('SELECT id FROM payment_attempts WHERE check_at <= 2')).toEqual([]);
});

test('a poll that sells credits does not become an election, whose voters could not spend them', async () => {
  const event = await poll('provider_a', { payments: {} }, [soldCredits('provider_a')], false);
  const become = () => event.account.patch(`/voting-events/${event.id}`, { type: 'election' });
  expect(fieldOf(await become())).toEqual([422, 'type']);
  const [position] = event.positions;
  await event.account.change(`/voting-events/${event.id}/positions/${position?.id}`, { quadraticTopUp: null });
  demand(await become(), 200);
});

describe('credits that an earlier checkout holds', () => {
  /** A visitor whose first checkout holds all their credits. */
  async function begin() {
    const event = await quadraticShop('provider_a', 4);
    const visitorId = visitor();
    const { attempt } = await event.begin({ visitorId, votes: votes(event, 2) });
    const again = () =>
      event.page('ballot/cast', { visitorId, votes: votes(event, 2), email: 'a@mail.example', returnUrl: RETURN_URL });
    return { event, attempt, again };
  }

  test('are free again where the process ended before it asked for a page', async () => {
    const { attempt, again } = await begin();
    await query("UPDATE payment_attempts SET page = NULL, pages = 0, status = 'created' WHERE id = $1", attempt);
    expect((await again()).status).toBe(402);
  });

  test('end with it: no page of an ended checkout is asked for', async () => {
    const { event, attempt } = await begin();
    await query("UPDATE payment_attempts SET status = 'cancelled' WHERE id = $1", attempt);
    const ended = { votingEventId: event.id, id: attempt };
    await expect(takePageNumber(service.deps.db, ended)).rejects.toMatchObject({ status: 500, retryAfterSeconds: 1 });
  });

  test('keep nobody from another checkout where the key of its business has ended', async () => {
    const event = await quadraticShop('provider_a', 100);
    const visitorId = visitor();
    const { attempt } = await event.begin({ visitorId, votes: votes(event, 2) });
    await query('UPDATE payment_attempts SET expires_at = 1 WHERE id = $1', attempt);
    const other = await connectTestBusiness(service, event.account, 'provider_a');
    const link = { paymentBusinessId: other.id };
    demand(await event.account.put(`/voting-events/${event.id}/payment-business`, link), 200);
    Object.assign(sandbox.faults, { refuseStatus: 401, refuseTimes: 1 });
    const body = { visitorId, votes: votes(event, 2), email: 'a@mail.example', returnUrl: RETURN_URL };
    expect((await event.page('ballot/cast', body)).status).toBe(402);
  });
});

test('who pays after many first calls that the provider did not answer has paid, and may vote', async () => {
  const event = await poll('provider_b');
  const body = { visitorId: visitor(), votes: votesFor(event), email: 'payer@mail.example', returnUrl: RETURN_URL };
  const headers = { 'Idempotency-Key': randomUUID() };
  const first = () => event.account.page(event, 'ballot/cast', body, headers);
  Object.assign(sandbox.faults, { refuseStatus: 500, refuseTimes: 1_000 });
  for (let calls = 0; calls < 40; calls += 1) expect((await first()).status).toBe(500);
  Object.assign(sandbox.faults, { refuseStatus: 0, refuseTimes: 0, latencyMs: 300 });
  const asked = await first();
  const { paymentAttemptId } = demand(asked, 402);
  await decide(checkoutUrlOf(asked), 'pay');
  expect((await event.cast(paymentAttemptId)).status).toBe(201);
  Object.assign(sandbox.faults, { latencyMs: 0 });
});

test('a rehearsed payment of a live business says that no money moved', async () => {
  const event = await poll('provider_a', {}, undefined, false);
  await query('UPDATE payment_businesses SET livemode = true WHERE id = $1', event.businessId);
  await event.change({ status: 'rehearsal' });
  const asked = await event.page('ballot/cast', {
    visitorId: visitor(),
    votes: votesFor(event),
    returnUrl: RETURN_URL,
  });
  const { paymentAttemptId } = demand(asked, 402);
  await decide(`${service.url}${new URL(checkoutUrlOf(asked)).pathname}`, 'pay');
  const { livemode, providerDetails } = await event.payment(paymentAttemptId);
  expect([livemode, providerDetails.livemode]).toEqual([false, false]);
});

test('a business that is being linked to an event is not disconnected', async () => {
  const event = await poll('provider_a', { payments: {} });
  const other = await connectTestBusiness(service, event.account, 'provider_a');
  const found = await findEventById(service.deps.db, event.id);
  if (found === undefined) throw new Error('no event');
  const owner = ownerOf({ accountId: event.account.id, plan: 'pro', keyId: 'key_x' } as Caller, found);
  const linked = Promise.withResolvers<void>();
  const linking = service.deps.db.transaction(async (tx) => {
    await linkBusiness(tx, service.deps, owner, other.id);
    linked.resolve();
    await pause(200);
  });
  await linked.promise;
  await expect(disconnectBusiness(paymentDeps(service.deps), other.id)).rejects.toThrow('unlink it there first');
  await linking;
});
