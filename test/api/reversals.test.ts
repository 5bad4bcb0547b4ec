import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { dropAllExpiredBallots } from '#src/ballots/drop-expired-ballots.ts';
import { paymentDeps } from '#src/fulfilments.ts';
import { processProviderEventJob } from '#src/payments/receive-provider-event.ts';
import { sweepPayments } from '#src/payments/sweep-payments.ts';
import { demand } from '#test/harness/answers.ts';
import { runCommand } from '#test/harness/command-line.ts';
import { visitor } from '#test/harness/elections.ts';
import { moveEnd } from '#test/harness/move-end.ts';
import { parseCsv } from '#test/harness/parse-csv.ts';
import {
  decide,
  type PaidEvent,
  PRICE,
  PROVIDERS,
  referenceOf,
  soldCredits,
  usePaidService,
} from '#test/harness/payments.ts';
import { eventually, untilTrue } from '#test/harness/test-service.ts';

const { service, sandbox, poll } = await usePaidService();

const DAY_MS = 86_400_000;
const sweep = () => sweepPayments(paymentDeps(service.deps));

/** A part of a payment goes back, or all of it, as its merchant has it. */
const giveBack = (event: PaidEvent, attempt: string, amount?: number) =>
  sandbox.reverse(referenceOf(event, attempt), 'refund', amount);

/** Rows of the payments' file, by column. */
async function readCsv({ id, account }: PaidEvent): Promise<Map<string, string>[]> {
  const { body } = await account.get(`/voting-events/${id}/payments/csv`);
  const [head = [], ...rows] = parseCsv(String(body).replace('\ufeff', ''));
  return rows.map((row) => new Map(row.map((cell, index) => [head[index] ?? '', cell])));
}

describe.each(PROVIDERS)('a part that a merchant of %s gives back', (provider) => {
  const { amountMinor } = PRICE[provider];
  const part = amountMinor / 5;

  test('leaves the vote, shows on the payment, and comes off the sums, by message and by sweep alike', async () => {
    const event = await poll(provider);
    const [kept, byMessage, bySweep] = [await event.vote(), await event.vote(), await event.vote()];
    await giveBack(event, byMessage, part);
    const shown = { status: 'partially_refunded', amountMinor: part, finishedAt: null };
    const refunded = await event.until(byMessage, ({ refund }) => refund !== null);
    expect(refunded).toMatchObject({ status: 'fulfilled', refundedAt: null, reversedAt: null, refund: shown });

    sandbox.faults.webhooks = 'lost';
    await giveBack(event, bySweep, part);
    await giveBack(event, bySweep, part);
    expect((await event.payment(bySweep)).refund).toBe(null);
    await sweep();
    expect((await event.payment(bySweep)).refund).toMatchObject({ ...shown, amountMinor: 2 * part });

    const taken = 3 * amountMinor - 3 * part;
    expect((await event.show('/stats')).payments).toMatchObject({ refunded: 0, revenue: [{ amountMinor: taken }] });
    const rows = await readCsv(event);
    const backs = rows.filter((row) => row.get('refundStatus') === 'partially_refunded');
    const sum = (some: Map<string, string>[], column: string) =>
      some.reduce((total, row) => total + Number(row.get(column)), 0);
    expect(sum(rows, 'amountMinor') - sum(backs, 'refundAmountMinor')).toBe(taken);
    expect((await event.payment(kept)).refund).toBe(null);
    expect((await event.show('/results')).stats.ballots).toBe(3);
  });

  test('voids the vote once the parts come to all of it, and shows no part any more', async () => {
    const event = await poll(provider);
    const attempt = await event.vote();
    await giveBack(event, attempt, part);
    await event.until(attempt, ({ refund }) => refund !== null);
    await giveBack(event, attempt, amountMinor - part);
    const reversed = await event.reversed(attempt);
    expect(reversed.refund).toBe(null);
    expect((await event.show('/stats')).payments.revenue).toEqual([]);
  });

  test('is left out of what the service gives back later: the rest goes, and the payer has the whole', async () => {
    const event = await poll(provider);
    const attempt = await event.pay();
    demand(await event.cast(attempt), 201);
    await giveBack(event, attempt, part);
    await event.until(attempt, ({ refund }) => refund !== null);
    await event.change({ status: 'closed' });
    await moveEnd(service.deps, event.id, 'closed_at = closed_at - 86400000');
    await dropAllExpiredBallots(service.deps);
    const refunded = await event.refunded(attempt);
    expect(refunded.refund).toMatchObject({ status: 'refunded', amountMinor });
  });
});

describe('fees that a payer of provider_b bore go back with the payment', () => {
  const { amountMinor } = PRICE.provider_b;
  const fee = Math.floor((amountMinor * 15) / 100_000) * 100;
  const refund = { status: 'refunded', amountMinor: amountMinor + fee };

  /** The second of two payments for one vote, which goes back. */
  async function payInVain(event: PaidEvent): Promise<string> {
    sandbox.faults.payerBearsFees = true;
    const visitorId = visitor();
    const [first, second] = [await event.pay({ visitorId }), await event.pay({ visitorId })];
    demand(await event.cast(first), 201);
    expect((await event.cast(second)).status).toBe(409);
    return second;
  }

  test('where the provider answers to the request', async () => {
    expect(fee).toBeGreaterThan(0);
    const event = await poll('provider_b');
    expect(await event.refunded(await payInVain(event))).toMatchObject({ amountMinor, refund });
  });

  test('where only a message says so, or comes before that answer', async () => {
    const event = await poll('provider_b');
    sandbox.faults.refuseRefunds = true;
    const attempt = await payInVain(event);
    const statusOf = 'SELECT status FROM payment_refunds WHERE attempt_id = $1';
    await untilTrue(async () => (await service.query(statusOf, [attempt]))[0]?.['status'] === 'refused');
    await giveBack(event, attempt);
    expect(await event.refunded(attempt)).toMatchObject({ amountMinor, refund });
  });
});

test.each([
  ['in parts, by message', [20_000, 30_000], 'message'],
  ['at once, by message', [50_000], 'message'],
  ['in parts, by the sweep', [20_000, 30_000], 'sweep'],
])('a price that goes back %s, without the fees that its payer bore, voids the vote', async (_how, parts, way) => {
  const { amountMinor } = PRICE.provider_b;
  const event = await poll('provider_b');
  sandbox.faults.payerBearsFees = true;
  const attempt = await event.vote();
  if (way === 'sweep') sandbox.faults.webhooks = 'lost';
  for (const part of parts) await giveBack(event, attempt, (amountMinor * part) / 50_000);
  if (way === 'sweep') await sweep();
  const reversed = await event.reversed(attempt);
  expect(reversed).toMatchObject({ status: 'fulfilled', refund: null });
  expect((await event.show('/stats')).payments.revenue).toEqual([]);
  expect((await event.show('/results')).stats.ballots).toBe(0);
});

test('a payment of provider_b that comes ten days late, without a message, is found by the sweep and goes back', async () => {
  const event = await poll('provider_b');
  const { attempt, url } = await event.begin();
  const aged = 'UPDATE payment_attempts SET expires_at = 1, created_at = created_at - $2::bigint WHERE id = $1';
  await service.query(aged, [attempt, 10 * DAY_MS]);
  await event.until(attempt, ({ status }) => status === 'cancelled');
  sandbox.advance(10 * DAY_MS);
  sandbox.faults.webhooks = 'lost';
  await decide(url, 'pay');
  await sweep();
  const found = await event.refunded(attempt);
  expect(found).toMatchObject({ status: 'cancelled', refund: { status: 'refunded' } });
});

describe.each(PROVIDERS)('the daily sweep of payments through %s', (provider) => {
  test('makes up for lost messages of refunds, failed refunds and disputes, and asks for nothing else', async () => {
    const event = await poll(provider);
    const attempts = [await event.vote(), await event.vote(), await event.vote()];
    const [kept = '', refunded = '', disputed = ''] = attempts;
    sandbox.faults.webhooks = 'lost';
    await giveBack(event, refunded);
    await sandbox.reverse(referenceOf(event, disputed), 'dispute');
    expect((await event.payment(refunded)).reversedAt).toBe(null);
    await sweep();
    const states = await Promise.all(attempts.map((attempt) => event.payment(attempt)));
    expect(states.map(({ reversedAt }) => reversedAt !== null)).toEqual([false, true, true]);
    const asked = sandbox.requests.length;
    await sweep();
    // Jobs of the other provider's events may still ask.
    const more = sandbox.requests
      .slice(asked)
      .filter((request) => request.provider === provider && /sessions|verify/.test(request.path));
    expect(more).toEqual([]);
    await sandbox.moveRefund(referenceOf(event, refunded), 'failed');
    await sweep();
    expect((await event.payment(refunded)).refund).toMatchObject({ status: 'failed', finishedAt: null });
    expect(await event.payment(kept)).toMatchObject({ reversedAt: null, refund: null });
  });

  test('gives back what was paid after its payment had ended, without a message', async () => {
    const event = await poll(provider);
    sandbox.faults.webhooks = 'lost';
    const { attempt, url } = await event.begin();
    if (provider === 'provider_a') sandbox.advance(3_600_000);
    else await service.query('UPDATE payment_attempts SET expires_at = 1 WHERE id = $1', [attempt]);
    await event.until(attempt, ({ status }) => status === 'cancelled');
    if (provider === 'provider_a') sandbox.advance(-3_600_000);
    sandbox.faults.payAfterExpiry = true;
    await decide(url, 'pay');
    await sweep();
    await event.refunded(attempt);
    await sweep();
    const refunds = sandbox.requests.filter(
      ({ method, path, body }) =>
        method === 'POST' && /refund/.test(path) && JSON.stringify(body).includes(referenceOf(event, attempt)),
    );
    expect(refunds).toHaveLength(1);
  });

  test('matches a message again that named a payment nobody knew when it came', async () => {
    const event = await poll(provider);
    const attempt = await event.vote();
    // The service has asked about the payment: an asking that ends under another name would keep the next one out for 3 s.
    const messages = `SELECT count(*)::int AS came, count(processed_at)::int AS done FROM provider_events WHERE payment_business_id = $1`;
    const asking = 'SELECT 1 FROM payment_attempts WHERE id = $1 AND asking_until IS NOT NULL';
    await untilTrue(async () => {
      const [{ came, done }] = await service.query(messages, [event.businessId]);
      return came > 0 && came === done && (await service.query(asking, [attempt])).length === 0;
    });
    const away = 'UPDATE payment_attempts SET id = $2, provider_payment_id = $3 WHERE id = $1';
    const paid = 'SELECT provider_payment_id AS payment FROM payment_attempts WHERE id = $1';
    const [known] = await service.query(paid, [attempt]);
    await service.query(away, [attempt, `${attempt}-away`, null]);
    await giveBack(event, attempt);
    const refunds = `SELECT event_key AS key FROM provider_events WHERE payment_business_id = $1 AND event_type LIKE '%refund%'`;
    const message = await eventually(async () => (await service.query(refunds, [event.businessId]))[0]?.key);
    await service.query('UPDATE provider_events SET received_at = received_at - 61000 WHERE event_key = $1', [message]);
    const job = processProviderEventJob(paymentDeps(service.deps));
    await job.work({ businessId: event.businessId, eventKey: message }, { id: '1', attempt: 1, last: false });
    await sweep();
    const outcome = async () =>
      (await service.query('SELECT outcome FROM provider_events WHERE event_key = $1', [message]))[0]?.outcome;
    expect(await outcome()).toBe('unmatched');
    await service.query(away, [`${attempt}-away`, attempt, known.payment]);
    // A job that is at the same message leaves it to a later sweep. Too many in a row would use up what the business may ask.
    await eventually(async () => {
      await sweep();
      if ((await outcome()) === 'applied') return true;
      await pause(2_000);
      return undefined;
    });
    expect((await event.payment(attempt)).reversedAt).toEqual(expect.any(Number));
  });
});

test.each(PROVIDERS)(
  'reversed credits make void, through %s, the first ballot that could not be cast without them; what it spent is there again',
  async (provider) => {
    const payments = { payToVote: PRICE[provider], repeatVotes: true };
    const offer = soldCredits(provider, 99, { quadraticBaseCreditBudget: 5 });
    const event = await poll(provider, { payments, results: { visibility: 'live' } }, [offer]);
    const [position] = event.positions;
    const visitorId = visitor();
    const buy = async (credits: number): Promise<string> => {
      const path = 'quadratic-credits/checkout';
      const paymentAttemptId = await event.buy(path, { visitorId, positionId: position?.id, credits });
      demand(await event.page(path, { paymentAttemptId }), 200);
      return paymentAttemptId;
    };
    const vote = (value: number) =>
      event.vote({ visitorId, votes: [{ positionId: position?.id, candidateId: position?.candidates[0], value }] });
    const reverse = async (attempt: string): Promise<void> => {
      await giveBack(event, attempt);
      await event.reversed(attempt);
    };
    const state = async () => {
      const query = `positionId=${position?.id}&visitorId=${visitorId}`;
      const { data } = (await event.page(`quadratic-credits?${query}`)).body;
      const { positions } = await event.show('/results');
      const { purchasedCredits, spentCredits, heldCredits, availableCredits } = data;
      return [positions[0].candidates[0].votesWon, purchasedCredits, spentCredits, heldCredits, availableCredits];
    };
    const forty = await buy(40);
    const twenty = await buy(20);
    for (const value of [2, 7, 3]) await vote(value);
    expect(await state()).toEqual([12, 60, 62, 0, 3]);
    // Of 25 credits 4 are spent; 49 are too many, 9 are not.
    await reverse(forty);
    expect(await state()).toEqual([5, 20, 13, 0, 12]);
    // What is left can be spent.
    await vote(3);
    expect(await state()).toEqual([8, 20, 22, 0, 3]);
    await reverse(twenty);
    expect(await state()).toEqual([2, 0, 4, 0, 1]);
  },
);

const listOwed = async ({ businessId }: Pick<PaidEvent, 'businessId'>) => {
  const words = ['payment-businesses', 'owed', '--business', businessId, '--json'];
  const { code, stdout, stderr } = await runCommand(service, words, {});
  return { code, stderr, payments: stdout === '' ? [] : JSON.parse(stdout).payments };
};

describe.each(PROVIDERS)('the list of what is owed through %s', (provider) => {
  test('holds a voided vote whose refund failed, and another amount than was asked for, and nothing else', async () => {
    const event = await poll(provider);
    const [kept, voided] = [await event.pay(), await event.pay()];
    for (const attempt of [kept, voided]) demand(await event.cast(attempt), 201);
    await giveBack(event, voided);
    await event.reversed(voided);
    expect(await listOwed(event)).toEqual({ code: 0, stderr: '', payments: [] });
    await sandbox.moveRefund(referenceOf(event, voided), 'failed');
    await event.until(voided, ({ refund }) => refund !== null);
    sandbox.faults.paidAmount = 100;
    const other = await event.pay();
    await event.until(other, ({ status }) => status === 'failed');

    const { code, payments } = await listOwed(event);
    const { amountMinor, currency } = PRICE[provider];
    expect(code).toBe(1);
    expect(payments).toMatchObject([
      { attempt: voided, event: event.id, refund: 'failed', amountMinor, currency },
      { attempt: other, event: event.id, refund: null, amountMinor: 100, currency },
    ]);
  });
});

test('the list of what is owed knows no other business, and a provider that is not registered is refused', async () => {
  expect((await listOwed({ businessId: 'biz_none' })).code).toBe(1);
  const words = ['payment-businesses', 'connect', '--account', 'acc_x', '--provider', 'provider_z'];
  const ended = await runCommand(service, [...words, '--display-name', 'X', '--country', 'DE'], {});
  expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('provider_a or provider_b') });
});

describe.each(PROVIDERS)('through %s, each payment and each amount', (provider) => {
  test('a lost dispute of a part leaves the vote, comes off the sums and asks for attention; the rest voids it', async () => {
    const event = await poll(provider);
    const attempt = await event.vote();
    const reference = referenceOf(event, attempt);
    const whole = PRICE[provider].amountMinor;
    await sandbox.reverse(reference, 'dispute', whole - 100);
    const seen = await event.until(attempt, ({ attention }) => attention);
    const refund = { status: 'partially_refunded', amountMinor: whole - 100 };
    expect(seen).toMatchObject({ reversedAt: null, refund });
    expect((await event.show('/stats')).payments.revenue[0].amountMinor).toBe(100);
    await sandbox.reverse(reference, 'dispute', whole);
    // A dispute that is decided again says so under the same name: the comparison notices it.
    await sweep();
    expect((await event.reversed(attempt)).refund?.status).not.toBe('partially_refunded');
  });

  test('a refund in the dashboard of the first of two paid pages is noticed by the comparison', async () => {
    const event = await poll(provider);
    const visitorId = visitor();
    const [first, second] = [await event.payKnown({ visitorId }), await event.payKnown({ visitorId })];
    demand(await event.page('ballot/confirm', { confirmationCode: await event.castCode(first) }), 200);
    expect((await event.cast(second)).status).toBe(409);
    await event.refunded(second);
    sandbox.faults.webhooks = 'lost';
    await sandbox.reverse(referenceOf(event, first), 'refund');
    await sweepPayments(paymentDeps(service.deps));
    expect((await event.payment(first)).reversedAt).not.toBeNull();
  });
});
