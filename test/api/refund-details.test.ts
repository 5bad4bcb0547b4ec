import { describe, expect, test } from 'vitest';
import { demand, visitor } from '#test/harness/elections.ts';
import { parseCsv } from '#test/harness/parse-csv.ts';
import { createPaidEvent, type PaidEvent, PROVIDERS, referenceOf, usePaidService } from '#test/harness/payments.ts';
import { startReceiver } from '#test/harness/receiver.ts';
import { eventually } from '#test/harness/test-service.ts';

const { service, sandbox } = await usePaidService();

const DAY_MS = 86_400_000;

const organizer = async ({ id, account }: PaidEvent, path: string) =>
  demand(await account.get(`/voting-events/${id}/payments${path}`), 200);

/** Two payments of one visitor: the first buys a vote, the second nothing, and is to go back. */
async function payTwice(event: PaidEvent, beforeSecond: () => void): Promise<{ first: string; second: string }> {
  const visitorId = visitor();
  const [first, second] = [await event.payKnown({ visitorId }), await event.payKnown({ visitorId })];
  demand(await event.cast(first), 201);
  beforeSecond();
  expect((await event.cast(second)).status).toBe(409);
  return { first, second };
}

/** As if the refund had been due for so many days; what is planned is done now. */
async function age(attempt: string, days: number): Promise<void> {
  const { $client } = service.deps.db;
  const aged = 'UPDATE payment_refunds SET created_at = created_at - $2::bigint WHERE attempt_id = $1';
  await $client.query(aged, [attempt, days * DAY_MS]);
  const soon =
    'SELECT graphile_worker.reschedule_jobs(ARRAY(SELECT id FROM graphile_worker.jobs WHERE key LIKE $1), run_at => now())';
  await $client.query(soon, [`refund:${attempt}:%`]);
}

const sumOf = (rows: readonly unknown[], name: string): number =>
  rows.reduce<number>((sum, row) => sum + Number(Reflect.get(Object(row), name)), 0);

const untilTried = (attempt: string) =>
  eventually(async () => {
    const again = "SELECT 1 FROM graphile_worker.jobs WHERE key LIKE $1 AND run_at > now() + '1 minute'::interval";
    const rows = await service.query(again, [`refund:${attempt}:%:again`]);
    return rows.length === 1 ? true : undefined;
  });

describe.each(PROVIDERS)('what the organizer sees of a payment through %s', (provider) => {
  test('is what the provider calls it once it is paid, and how its refund stands', async () => {
    const event = await createPaidEvent(service, provider);
    const { attempt } = await event.begin();
    expect(await event.payment(attempt)).toMatchObject({ providerDetails: null, refund: null });
    const { first, second } = await payTwice(event, () => undefined);
    const bought = await event.payment(first);
    expect(bought).toMatchObject({ status: 'fulfilled', refund: null });
    expect(bought.providerDetails).toEqual({
      reference: provider === 'provider_a' ? expect.anything() : expect.stringMatching(/^[A-Za-z0-9.=-]+$/),
      paymentId: expect.any(String),
      paidAt: expect.any(Number),
      feeMinor: expect.any(Number),
      livemode: false,
    });
    const back = await eventually(async () => {
      const payment = await event.payment(second);
      return payment.refundedAt === null ? undefined : payment;
    });
    expect(back.refund).toEqual({
      status: 'refunded',
      amountMinor: back.amountMinor,
      requestedAt: expect.any(Number),
      finishedAt: back.refundedAt,
    });
    const listed = await organizer(event, '');
    expect(listed.find(({ id }: { id: string }) => id === second)).toEqual({ ...back, confirmationCode: null });
    const voter = await event.account.page(event, `payments/${second}`);
    expect(Object.keys(voter.body.data)).not.toEqual(expect.arrayContaining(['providerDetails']));
    const csv = await event.account.get(`/voting-events/${event.id}/payments/csv`);
    const [head = '', ...lines] = String(csv.body).trim().split('\r\n');
    const last = head.replaceAll('"', '').split(',').slice(-5);
    expect(last).toEqual(['livemode', 'refundStatus', 'refundAmountMinor', 'refundRequestedAt', 'feeMinor']);
    expect(lines.find((line) => line.includes(second))).toContain(
      `false,"refunded",${back.refund.amountMinor},${back.refund.requestedAt}`,
    );
  });

  test('adds up to the minor unit: the statistics, the list and the file agree on what was taken in, and on fees', async () => {
    const event = await createPaidEvent(service, provider);
    const attempts: string[] = [];
    for (let count = 0; count < 3; count += 1) {
      const attempt = await event.payKnown();
      demand(await event.cast(attempt), 201);
      attempts.push(attempt);
    }
    await payTwice(event, () => undefined);
    const [, dropped = '', reversed = ''] = attempts;
    await service.query('SELECT give_back_ballot($1, $2)', [event.id, dropped]);
    await eventually(async () => ((await event.payment(dropped)).refundedAt === null ? undefined : true));
    await sandbox.reverse(referenceOf(event, reversed), 'dispute');
    await eventually(async () => ((await event.payment(reversed)).reversedAt === null ? undefined : true));
    const stats = demand(await event.account.get(`/voting-events/${event.id}/stats`), 200);
    const listed: Record<string, unknown>[] = await organizer(event, '');
    const kept = listed.filter((row) => row['status'] === 'fulfilled' && !row['refundedAt'] && !row['reversedAt']);
    expect(stats.payments.revenue).toEqual([
      { currency: listed[0]?.['currency'], amountMinor: sumOf(kept, 'amountMinor') },
    ]);
    expect(kept).toHaveLength(2);
    const csv = await event.account.get(`/voting-events/${event.id}/payments/csv`);
    const [head = [], ...rows] = parseCsv(String(csv.body));
    const inFile = rows.map((row) => Object.fromEntries(head.map((name, index) => [name, row[index] ?? ''])));
    const keptInFile = inFile.filter(
      (row) => row['status'] === 'fulfilled' && !row['refundedAt'] && !row['reversedAt'],
    );
    expect(sumOf(keptInFile, 'amountMinor')).toBe(sumOf(kept, 'amountMinor'));
    const fees = listed.map((row) => row['providerDetails']).filter((details) => details !== null);
    expect(sumOf(fees, 'feeMinor')).toBe(sumOf(inFile, 'feeMinor'));
    expect(fees).toHaveLength(5);
  });

  test('is a refund that fails, and payment.refund_failed once, where the provider never answers', async () => {
    const event = await createPaidEvent(service, provider);
    const receiver = await startReceiver();
    const hook = { url: receiver.url, eventTypes: ['payment.refund_failed'] };
    demand(await event.account.post('/webhook-endpoints', hook), 201);
    const { faults } = sandbox;
    const { second } = await payTwice(event, () => Object.assign(faults, { refuseStatus: 503, refuseTimes: 1e9 }));
    try {
      await untilTried(second);
      const waiting = { status: 'pending', requestedAt: expect.any(Number), finishedAt: null };
      expect((await event.payment(second)).refund).toMatchObject(waiting);
      expect(receiver.received).toEqual([]);
      await age(second, 30);
      const message = await eventually(() => receiver.received[0]);
      expect(JSON.parse(message.body)).toMatchObject({ type: 'payment.refund_failed', data: { id: second } });
      const failed = await event.payment(second);
      expect([failed.refundedAt, failed.refund]).toEqual([null, expect.objectContaining({ status: 'failed' })]);
      await age(second, 1);
      const jobs = await service.deps.db.$client.query('SELECT 1 FROM graphile_worker.jobs WHERE key LIKE $1', [
        `refund:${second}:%`,
      ]);
      expect([jobs.rows.length, receiver.received.length]).toEqual([0, 1]);
    } finally {
      Object.assign(faults, { refuseStatus: 0, refuseTimes: 0 });
      await receiver.stop();
    }
  });
});
