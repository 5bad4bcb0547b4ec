import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { NO_FAULTS } from '#sandbox/faults.ts';
import { paymentDeps } from '#src/fulfilments.ts';
import { listOwed } from '#src/payments/list-owed.ts';
import { raiseAged } from '#src/payments/manage-payment.ts';
import { sweepRefunds } from '#src/payments/refund-payment.ts';
import { sweepPayments } from '#src/payments/sweep-payments.ts';
import { demand, valuesOf } from '#test/harness/answers.ts';
import { visitor, votesFor } from '#test/harness/elections.ts';
import { parseCsv } from '#test/harness/parse-csv.ts';
import {
  ageRefund,
  decide,
  type PaidEvent,
  PRICE,
  PROVIDERS,
  referenceOf,
  refundsOf,
  restingRefundJobs,
  untilPaymentsRest,
  usePaidService,
} from '#test/harness/payments.ts';
import { eventually, untilTrue } from '#test/harness/test-service.ts';
import { keepLog, useReceivers } from '#test/harness/use.ts';

const { lines, log } = keepLog('error');
const { service, sandbox, poll } = await usePaidService({ log });

const receive = useReceivers();
const DAY_MS = 86_400_000;

/** Two payments of one visitor: the first buys a vote, the second nothing, and is to go back. */
async function payTwice(event: PaidEvent, beforeSecond: () => void): Promise<{ first: string; second: string }> {
  const visitorId = visitor();
  const [first, second] = [await event.payKnown({ visitorId }), await event.payKnown({ visitorId })];
  demand(await event.cast(first), 201);
  beforeSecond();
  expect((await event.cast(second)).status).toBe(409);
  return { first, second };
}

const payInVain = async (event: PaidEvent): Promise<string> => (await payTwice(event, () => undefined)).second;

const untilRefund = (event: PaidEvent, attempt: string, status: string) =>
  event.until(attempt, ({ refund }) => refund?.status === status);

const alarmsOf = (attempt: string): unknown[] =>
  valuesOf(
    lines.filter((line) => line['attempt'] === attempt),
    'alarm',
  );

const refundCalls = (event: PaidEvent, attempt: string): number =>
  sandbox.requests.filter(
    ({ method, path, body }) =>
      method === 'POST' && /refund/.test(path) && JSON.stringify(body).includes(referenceOf(event, attempt)),
  ).length;

/** Every message that came is dealt with. */
const untilQuiet = () =>
  untilTrue(async () => (await service.query('SELECT 1 FROM provider_events WHERE processed_at IS NULL')).length === 0);

const jobsOf = (attempt: string) =>
  service.query('SELECT id, run_at FROM jobs WHERE key LIKE $1', [`refund:${attempt}:%:again`]);

async function listen({ account }: PaidEvent) {
  const receiver = await receive();
  const hook = { url: receiver.url, eventTypes: ['payment.refunded', 'payment.refund_failed', 'payment.reversed'] };
  await account.make('/webhook-endpoints', hook);
  const heard = (): [string, string][] =>
    receiver.received.map(({ body }) => JSON.parse(body)).map(({ type, data }) => [type, data.id]);
  return (count: number) => eventually(() => (heard().length === count ? heard() : undefined));
}

describe.each(PROVIDERS)('a refund through %s', (provider) => {
  test('that fails after it had succeeded is handed to a person, once, and ends when that one has paid back', async () => {
    const event = await poll(provider);
    const hear = await listen(event);
    const attempt = await payInVain(event);
    await untilRefund(event, attempt, 'refunded');
    await hear(1);
    const reference = referenceOf(event, attempt);
    sandbox.faults.webhooks = 'duplicate';
    await sandbox.moveRefund(reference, 'failed');
    const failed = await untilRefund(event, attempt, 'failed');
    expect([failed.status, failed.refundedAt, failed.refund.finishedAt]).toEqual(['cancelled', null, null]);
    await untilQuiet();
    expect(alarmsOf(attempt)).toEqual(['refund_failed']);
    expect(refundCalls(event, attempt)).toBe(1);
    sandbox.faults.webhooks = 'normal';
    await sandbox.reverse(reference, 'refund');
    const back = await untilRefund(event, attempt, 'refunded');
    expect(back.refundedAt).toBe(back.refund.finishedAt);
    const told = (await hear(3)).map(([type]) => type).toSorted();
    expect(told).toEqual(['payment.refund_failed', 'payment.refunded', 'payment.refunded']);
    expect(alarmsOf(attempt)).toEqual(['refund_failed']);
  });

  test('that its merchant made, and that fails later, leaves the ballot void and says that the money is not back', async () => {
    const event = await poll(provider);
    const hear = await listen(event);
    const attempt = await event.payKnown();
    const confirmationCode = await event.castCode(attempt);
    await untilQuiet();
    await sandbox.reverse(referenceOf(event, attempt), 'refund');
    await event.reversed(attempt);
    await sandbox.moveRefund(referenceOf(event, attempt), 'failed');
    const failed = await untilRefund(event, attempt, 'failed');
    expect(failed).toMatchObject({ status: 'fulfilled', refundedAt: null, reversedAt: expect.any(Number) });
    const told = ['payment.refund_failed', 'payment.reversed'].map((type) => [type, attempt]);
    expect((await hear(2)).toSorted()).toEqual(told);
    expect((await event.page('ballot/confirm', { confirmationCode })).status).toBe(404);
    expect(alarmsOf(attempt)).toEqual(['refund_failed']);
    // The merchant has the money: the statistics say so, as the file does.
    const { refunded, revenue } = (await event.show('/stats')).payments;
    expect([refunded, revenue]).toEqual([0, [PRICE[provider]]]);
  });

  test('of which the service learns together with its payment, and that fails later, is handed to a person', async () => {
    const event = await poll(provider);
    const { attempt, url } = await event.begin();
    sandbox.faults.webhooks = 'lost';
    await decide(url, 'pay');
    await sandbox.reverse(referenceOf(event, attempt), 'refund');
    expect(await event.refunded(attempt)).toMatchObject({ status: 'cancelled', refund: { status: 'refunded' } });
    sandbox.faults.webhooks = 'normal';
    await sandbox.moveRefund(referenceOf(event, attempt), 'failed');
    expect(await untilRefund(event, attempt, 'failed')).toMatchObject({ attention: true, refundedAt: null });
    await untilPaymentsRest(service);
    expect(alarmsOf(attempt)).toEqual(['refund_failed']);
  });

  test('that takes days is pending, and refunded when the payer has the money', async () => {
    const event = await poll(provider);
    sandbox.faults.newRefunds = 'pending';
    const attempt = await payInVain(event);
    await untilTrue(() => refundCalls(event, attempt) === 1);
    await untilQuiet();
    expect((await event.payment(attempt)).refund).toMatchObject({ status: 'pending', finishedAt: null });
    await sandbox.moveRefund(referenceOf(event, attempt), 'succeeded');
    expect((await untilRefund(event, attempt, 'refunded')).status).toBe('cancelled');
    expect([refundCalls(event, attempt), alarmsOf(attempt)]).toEqual([1, []]);
  });

  test.each(['pending', 'attention'] as const)(
    'that fails while it was %s alarms with the provider’s message, and is asked for again',
    async (newRefunds) => {
      const event = await poll(provider);
      sandbox.faults.newRefunds = newRefunds;
      const attempt = await payInVain(event);
      await untilRefund(event, attempt, newRefunds === 'attention' ? 'needs_attention' : 'pending');
      // A refund that the provider has not been asked for yet is shown as pending, too.
      const begun = 'SELECT 1 FROM payment_refunds WHERE attempt_id = $1 AND status = $2';
      await eventually(async () => (await service.query(begun, [attempt, newRefunds]))[0]);
      await untilQuiet();
      sandbox.faults.newRefunds = 'succeeded';
      await sandbox.moveRefund(referenceOf(event, attempt), 'failed');
      await untilTrue(() => alarmsOf(attempt).includes('refund_refused'));
      await ageRefund(service, attempt, 0);
      await untilRefund(event, attempt, 'refunded');
      expect(refundCalls(event, attempt)).toBe(2);
    },
  );

  test('whose job has used all its tries, or is gone, is swept until the payer has the money, and alarms after a day', async () => {
    const event = await poll(provider);
    const { faults } = sandbox;
    Object.assign(faults, { refuseRefunds: true });
    const attempts = [await payInVain(event), await payInVain(event)];
    for (const [index, attempt] of attempts.entries()) {
      await untilTrue(() => alarmsOf(attempt).length === 1);
      const { id } = await eventually(async () => (await jobsOf(attempt))[0]);
      const end = index === 0 ? 'UPDATE jobs SET attempts = max_attempts' : 'DELETE FROM jobs';
      await service.query(`${end} WHERE id = $1`, [id]);
    }
    // A job that still runs asks again by itself: nothing of it is lost.
    for (const attempt of attempts) await restingRefundJobs(service, attempt);
    const aged = 'UPDATE payment_refunds SET created_at = created_at - $2::bigint WHERE attempt_id = ANY ($1)';
    await service.query(aged, [attempts, 2 * DAY_MS]);
    Object.assign(faults, { refuseRefunds: false, refuseStatus: 503, refuseTimes: 1e9 });
    const before = attempts.map((attempt) => refundCalls(event, attempt));
    await sweepRefunds(service.deps);
    for (const attempt of attempts) await untilTrue(() => alarmsOf(attempt).length === 2);
    expect(new Set(attempts.flatMap(alarmsOf))).toEqual(new Set(['refund_refused']));
    // Planned again by itself: nothing is swept twice.
    const planned = attempts.map((attempt) => refundCalls(event, attempt));
    expect(planned.every((calls, index) => calls > (before[index] ?? 0))).toBe(true);
    await sweepRefunds(service.deps);
    Object.assign(faults, NO_FAULTS);
    for (const attempt of attempts) {
      await ageRefund(service, attempt, 0);
      await untilRefund(event, attempt, 'refunded');
    }
  });

  test('that waits for its merchant alarms once, is asked for once a day, and is given up after 30', async () => {
    const event = await poll(provider);
    sandbox.faults.newRefunds = 'attention';
    const attempt = await payInVain(event);
    await untilRefund(event, attempt, 'needs_attention');
    await untilQuiet();
    expect(alarmsOf(attempt)).toEqual(['refund_needs_attention']);
    const { run_at: planned } = await eventually(async () => (await jobsOf(attempt))[0]);
    expect(Number(planned) - Date.now()).toBeGreaterThan(23 * 3_600_000);
    await ageRefund(service, attempt, 30);
    await untilRefund(event, attempt, 'failed');
    expect(alarmsOf(attempt)).toEqual(['refund_needs_attention', 'refund_refused']);
    expect(refundCalls(event, attempt)).toBe(1);
  });
});

const sumOf = (rows: readonly unknown[], name: string): number =>
  rows.reduce<number>((sum, row) => sum + Number(Reflect.get(Object(row), name)), 0);

describe.each(PROVIDERS)('what the organizer sees of a payment through %s', (provider) => {
  test('is what the provider calls it once it is paid, and how its refund stands', async () => {
    const event = await poll(provider);
    const { attempt } = await event.begin();
    expect(await event.payment(attempt)).toMatchObject({ providerDetails: null, refund: null });
    const { first, second } = await payTwice(event, () => undefined);
    const bought = await event.payment(first);
    expect(bought).toMatchObject({ status: 'fulfilled', refund: null });
    expect(bought.providerDetails).toEqual({
      reference: provider === 'provider_a' ? expect.anything() : expect.stringMatching(/^[A-Za-z0-9.=-]+$/),
      ...{ paymentId: expect.any(String), paidAt: expect.any(Number), feeMinor: expect.any(Number), livemode: false },
    });
    const back = await event.refunded(second);
    expect(back.refund).toEqual({
      ...{ status: 'refunded', amountMinor: back.amountMinor },
      ...{ requestedAt: expect.any(Number), finishedAt: back.refundedAt },
    });
    const listed = await event.show('/payments');
    const { confirmationCode: _code, ...shown } = back;
    expect(listed.find(({ id }: { id: string }) => id === second)).toEqual(shown);
    const voter = await event.page(`payments/${second}`);
    expect(Object.keys(voter.body.data)).not.toEqual(expect.arrayContaining(['providerDetails']));
    const csv = await event.account.get(`/voting-events/${event.id}/payments/csv`);
    const [head = '', ...lines] = String(csv.body).trim().split('\r\n');
    const last = head.replaceAll('"', '').split(',').slice(-5);
    expect(last).toEqual(['livemode', 'refundStatus', 'refundAmountMinor', 'refundRequestedAt', 'feeMinor']);
    const { amountMinor, requestedAt } = back.refund;
    expect(lines.find((line) => line.includes(second))).toContain(
      `false,"refunded",${amountMinor},"${new Date(requestedAt).toISOString()}"`,
    );
  });

  test('adds up to the minor unit: the statistics, the list and the file agree on what was taken in, and on fees', async () => {
    const event = await poll(provider);
    const attempts = [await event.payKnown(), await event.payKnown(), await event.payKnown()];
    for (const attempt of attempts) demand(await event.cast(attempt), 201);
    await payTwice(event, () => undefined);
    const [, dropped = '', reversed = ''] = attempts;
    await service.query('SELECT give_back_ballot($1, $2)', [event.id, dropped]);
    await event.refunded(dropped);
    await sandbox.reverse(referenceOf(event, reversed), 'dispute');
    await event.reversed(reversed);
    const stats = await event.show('/stats');
    const listed: Record<string, unknown>[] = await event.show('/payments');
    const isKept = (row: Record<string, unknown>) =>
      row['status'] === 'fulfilled' && !row['refundedAt'] && !row['reversedAt'];
    const kept = listed.filter(isKept);
    const revenue = { currency: listed[0]?.['currency'], amountMinor: sumOf(kept, 'amountMinor') };
    expect(stats.payments.revenue).toEqual([revenue]);
    expect(kept).toHaveLength(2);
    const csv = await event.account.get(`/voting-events/${event.id}/payments/csv`);
    const [head = [], ...rows] = parseCsv(String(csv.body));
    const inFile = rows.map((row) => Object.fromEntries(head.map((name, index) => [name, row[index] ?? ''])));
    expect(sumOf(inFile.filter(isKept), 'amountMinor')).toBe(sumOf(kept, 'amountMinor'));
    const fees = listed.map((row) => row['providerDetails']).filter((details) => details !== null);
    expect(sumOf(fees, 'feeMinor')).toBe(sumOf(inFile, 'feeMinor'));
    expect(fees).toHaveLength(5);
  });

  test('is a refund that fails, and payment.refund_failed once, where the provider never answers', async () => {
    const event = await poll(provider);
    const receiver = await receive();
    const hook = { url: receiver.url, eventTypes: ['payment.refund_failed'] };
    await event.account.make('/webhook-endpoints', hook);
    const { faults } = sandbox;
    const { second } = await payTwice(event, () => Object.assign(faults, { refuseStatus: 503, refuseTimes: 1e9 }));
    const later = 'SELECT 1 FROM jobs WHERE key LIKE $1 AND run_at > now_ms() + 60000';
    await untilTrue(async () => (await service.query(later, [`refund:${second}:%:again`])).length === 1);
    const waiting = { status: 'pending', requestedAt: expect.any(Number), finishedAt: null };
    expect((await event.payment(second)).refund).toMatchObject(waiting);
    expect(receiver.received).toEqual([]);
    await ageRefund(service, second, 30);
    const message = await eventually(() => receiver.received[0]);
    expect(JSON.parse(message.body)).toMatchObject({ type: 'payment.refund_failed', data: { id: second } });
    const failed = await event.payment(second);
    expect([failed.refundedAt, failed.refund]).toEqual([null, expect.objectContaining({ status: 'failed' })]);
    await ageRefund(service, second, 1);
    const jobs = await service.query('SELECT 1 FROM jobs WHERE key LIKE $1', [`refund:${second}:%`]);
    expect([jobs.length, receiver.received.length]).toEqual([0, 1]);
  });
});

test('all that was paid in an event that is deleted goes back, also what a person had settled, however many payments there are', async () => {
  const event = await poll('provider_a');
  const attempt = await event.payKnown({ visitorId: visitor() });
  demand(await event.cast(attempt), 201);
  const client = await service.connect();
  try {
    await client.query('BEGIN');
    await client.query(
      `INSERT INTO payment_attempts SELECT (jsonb_populate_record(a, jsonb_build_object('id', 'pay_zz' || n, 'settled_at', 1,
         'provider_session_id', 'cs_' || n, 'provider_payment_id', 'pi_' || n))).* FROM payment_attempts a, generate_series(1, 600) AS n WHERE a.id = $1`,
      [attempt],
    );
    await client.query("SELECT give_event_back($1, '')", [event.id]);
    const { rows: next } = await client.query(
      "SELECT payload->>'after' AS after FROM jobs WHERE name = 'give_event_back'",
    );
    await client.query('SELECT give_event_back($1, $2)', [event.id, next[0]?.after]);
    const { rows } = await client.query(
      `SELECT count(*)::int AS paid, (SELECT count(*)::int FROM payment_refunds r
         WHERE r.voting_event_id = $1 AND r.status = 'due' AND r.settled_at IS NULL) AS owed
       FROM payment_attempts WHERE voting_event_id = $1`,
      [event.id],
    );
    expect(rows).toEqual([{ paid: 601, owed: 601 }]);
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
});

/** A first call whose first page was made without an answer, so that its retry made another. */
async function beginTwice() {
  const event = await poll('provider_b');
  const body = { visitorId: visitor(), votes: votesFor(event), email: 'payer@mail.example' };
  const first = () => event.account.page(event, 'ballot/cast', body, { 'Idempotency-Key': body.visitorId });
  // What earlier tests left to do would take the fault for itself.
  await untilPaymentsRest(service);
  sandbox.faults.resetAfterTimes = 1;
  expect((await first()).status).toBe(500);
  const { paymentAttemptId: attempt, provider_b } = demand(await first(), 402);
  const reference = (page: number) => `${String(attempt).replace('_', '-')}.${page}`;
  const { pageId } = sandbox.pages().find((page) => page.reference === reference(1)) ?? {};
  const pay = async (page: number, paidAmount: number | null = null) => {
    sandbox.faults.paidAmount = paidAmount;
    const url: string = provider_b.checkoutUrl;
    await decide(page === 1 ? url.replace(/[^/]+$/, String(pageId)) : url, 'pay');
    sandbox.faults.paidAmount = null;
  };
  return { event, attempt: String(attempt), reference, pay };
}
type Twice = Awaited<ReturnType<typeof beginTwice>>;

describe('an attempt of which two pages are paid', () => {
  const refundsAre = (attempt: string, ...statuses: string[]) =>
    untilTrue(async () => {
      const rows = await refundsOf(service, attempt);
      return isDeepStrictEqual(valuesOf(rows, 'status').toSorted(), statuses);
    });

  /** The first page is paid after the second one, and the refund of its payment fails, which asks for attention. */
  async function failSecond({ event, attempt, reference, pay }: Twice): Promise<void> {
    await pay(2);
    await event.succeeded(attempt);
    await pay(1);
    await refundsAre(attempt, 'refunded');
    await untilPaymentsRest(service);
    await sandbox.moveRefund(reference(1), 'failed');
    await event.until(attempt, ({ attention }) => attention);
  }

  test('is refunded when the payment that counts is back, not when the other one is', async () => {
    const { event, attempt, reference, pay } = await beginTwice();
    sandbox.faults.newRefunds = 'pending';
    await pay(2);
    await event.succeeded(attempt);
    await pay(1);
    await refundsAre(attempt, 'pending');
    demand(await event.account.of(event).post(`/payments/${attempt}/refund`), 202);
    await refundsAre(attempt, 'pending', 'pending');
    await untilPaymentsRest(service);
    await sandbox.moveRefund(reference(1), 'succeeded');
    await refundsAre(attempt, 'pending', 'refunded');
    await untilPaymentsRest(service);
    expect(await event.payment(attempt)).toMatchObject({ refundedAt: null, refund: { status: 'pending' } });
    await sandbox.moveRefund(reference(2), 'succeeded');
    expect((await event.refunded(attempt)).refund.status).toBe('refunded');
  });

  test('asks for attention for another amount, also once the other payment is back', async () => {
    const { event, attempt, pay } = await beginTwice();
    await pay(2, 100);
    await event.until(attempt, ({ attention }) => attention);
    await pay(1);
    await refundsAre(attempt, 'refunded');
    await untilPaymentsRest(service);
    expect(await event.payment(attempt)).toMatchObject({ attention: true, refundedAt: null, refund: null });
  });

  test('keeps what the first payment bought where the second one and its refund become known together', async () => {
    const { event, attempt, reference, pay } = await beginTwice();
    await pay(2);
    await event.succeeded(attempt);
    await untilPaymentsRest(service);
    sandbox.faults.webhooks = 'lost';
    await pay(1);
    await sandbox.reverse(reference(1), 'refund');
    await sweepPayments(paymentDeps(service.deps));
    await refundsAre(attempt, 'refunded');
    demand(await event.cast(attempt), 201);
  });

  /** The first payment buys a vote. The second one is of another amount: a person has to pay it back. */
  async function payOtherSecond() {
    const twice = await beginTwice();
    const { event, attempt, pay } = twice;
    await pay(2);
    await event.succeeded(attempt);
    await pay(1, 100);
    await event.until(attempt, ({ attention }) => attention);
    await untilPaymentsRest(service);
    demand(await event.cast(attempt), 201);
    return twice;
  }
  const sweep = async () => {
    await sweepPayments(paymentDeps(service.deps));
    await untilPaymentsRest(service);
  };
  const listsOf = async (event: PaidEvent) => [
    valuesOf(await event.show('/payments?attention=true'), 'id'),
    valuesOf(await listOwed(service.deps.db, event.businessId), 'reference'),
  ];
  const giveFirstBack = async (event: PaidEvent, attempt: string) => {
    demand(await event.account.of(event).post(`/payments/${attempt}/refund`), 202);
    await event.refunded(attempt);
    await untilPaymentsRest(service);
  };

  test.each([
    ['is back', ({ event, attempt }: Twice) => giveFirstBack(event, attempt)],
    [
      'went back at the provider',
      async ({ event, attempt, reference }: Twice) => {
        await sandbox.reverse(reference(2), 'refund');
        await event.reversed(attempt);
      },
    ],
  ])(
    'asks for attention for another amount until it is back, also once the vote is cast and its price %s',
    async (_, end) => {
      const twice = await payOtherSecond();
      const { event, attempt, reference } = twice;
      const asks = [[attempt], [reference(1)]];
      expect(await listsOf(event)).toEqual(asks);
      await end(twice);
      expect(await listsOf(event)).toEqual(asks);
      await sandbox.reverse(reference(1), 'refund');
      await sweep();
      expect(await listsOf(event)).toEqual([[], []]);
    },
  );

  test('asks for attention for the failed refund of the second one, also once the vote is cast', async () => {
    const twice = await beginTwice();
    const { event, attempt, reference } = twice;
    await failSecond(twice);
    demand(await event.cast(attempt), 201);
    expect(await listsOf(event)).toEqual([[attempt], [reference(1)]]);
  });

  test('asks for attention for a slow refund of the second one only until it is back', async () => {
    const { event, attempt, reference, pay } = await beginTwice();
    sandbox.faults.newRefunds = 'pending';
    await pay(2);
    await event.succeeded(attempt);
    await pay(1);
    await refundsAre(attempt, 'pending');
    await untilPaymentsRest(service);
    await ageRefund(service, attempt, 4);
    await raiseAged(paymentDeps(service.deps));
    expect(await listsOf(event)).toEqual([[attempt], [reference(1)]]);
    await sandbox.moveRefund(reference(1), 'succeeded');
    await refundsAre(attempt, 'refunded');
    expect(await listsOf(event)).toEqual([[], []]);
  });

  test.each([
    [
      'of another amount',
      async ({ event, attempt, pay }: Twice) => {
        await pay(2, 100);
        await event.until(attempt, ({ attention }) => attention);
        sandbox.faults.newRefunds = 'pending';
        await pay(1);
        await refundsAre(attempt, 'pending');
        return { settled: [], under: 1 };
      },
    ],
    [
      'whose refund failed',
      async (twice: Twice) => {
        const { event, attempt } = twice;
        await failSecond(twice);
        sandbox.faults.newRefunds = 'pending';
        demand(await event.account.of(event).post(`/payments/${attempt}/refund`), 202);
        await refundsAre(attempt, 'failed', 'pending');
        return { settled: ['failed'], under: 2 };
      },
    ],
  ])('is settled for a payment %s, and the refund of the other one goes on', async (_, begin) => {
    const twice = await beginTwice();
    const { event, attempt, reference } = twice;
    const { settled, under } = await begin(twice);
    await untilPaymentsRest(service);
    demand(await event.account.of(event).post(`/payments/${attempt}/settle`, { note: 'Paid back in cash' }), 200);
    expect(valuesOf(await refundsOf(service, attempt), 'status').toSorted()).toEqual([...settled, 'pending']);
    await sandbox.moveRefund(reference(under), 'succeeded');
    await refundsAre(attempt, ...settled, 'refunded');
    expect(await listsOf(event)).toEqual([[], []]);
  });

  test('is settled once for another amount that came second, also where the first payment goes back later', async () => {
    const { event, attempt, reference } = await payOtherSecond();
    const owed = await listOwed(service.deps.db, event.businessId);
    expect(owed).toEqual([expect.objectContaining({ reference: reference(1), amountMinor: 100, refund: 'failed' })]);
    demand(await event.account.of(event).post(`/payments/${attempt}/settle`, { note: 'Paid back in cash' }), 200);
    await sweep();
    expect(await listsOf(event)).toEqual([[], []]);
    await giveFirstBack(event, attempt);
    expect(await listsOf(event)).toEqual([[], []]);
  });
});
