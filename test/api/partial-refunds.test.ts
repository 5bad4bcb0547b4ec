import { describe, expect, test } from 'vitest';
import { dropAllExpiredBallots } from '#src/ballots/drop-expired-ballots.ts';
import { paymentDeps } from '#src/fulfilments.ts';
import { sweepPayments } from '#src/payments/sweep-payments.ts';
import { demand, visitor, votesFor } from '#test/harness/elections.ts';
import { moveEnd } from '#test/harness/move-end.ts';
import {
  checkoutUrlOf,
  createPaidEvent,
  decide,
  type PaidEvent,
  PRICE,
  PROVIDERS,
  referenceOf,
  usePaidService,
} from '#test/harness/payments.ts';

const { service, sandbox } = await usePaidService();

const DAY_MS = 86_400_000;
const query = (statement: string, values: unknown[]) => service.deps.db.$client.query(statement, values);
const sweep = () => sweepPayments(paymentDeps(service.deps));
const get = async ({ id, account }: PaidEvent, path: string) =>
  demand(await account.get(`/voting-events/${id}${path}`), 200);
async function cast(event: PaidEvent): Promise<{ attempt: string; confirmationCode: string }> {
  const attempt = await event.pay();
  const { confirmationCode } = demand(await event.cast(attempt), 201);
  return { attempt, confirmationCode };
}

/** Rows of the payments' file, by column. */
async function readCsv({ id, account }: PaidEvent): Promise<Map<string, string>[]> {
  const { body } = await account.get(`/voting-events/${id}/payments/csv`);
  const [head = [], ...rows] = String(body)
    .replace('\ufeff', '')
    .trim()
    .split('\r\n')
    .map((line) => line.split(',').map((cell) => cell.replaceAll('"', '')));
  return rows.map((row) => new Map(row.map((cell, index) => [head[index] ?? '', cell])));
}

describe.each(PROVIDERS)('a part that a merchant of %s gives back', (provider) => {
  const { amountMinor } = PRICE[provider];
  const part = amountMinor / 5;

  test('leaves the vote, shows on the payment, and comes off the sums, by message and by sweep alike', async () => {
    const event = await createPaidEvent(service, provider);
    const [kept, byMessage, bySweep] = [await event.vote(), await event.vote(), await event.vote()];
    await sandbox.reverse(referenceOf(event, byMessage), 'refund', part);
    const shown = { status: 'partially_refunded', amountMinor: part, finishedAt: null };
    const refunded = await event.until(byMessage, ({ refund }) => refund !== null);
    expect(refunded).toMatchObject({ status: 'fulfilled', refundedAt: null, reversedAt: null, refund: shown });

    sandbox.faults.webhooks = 'lost';
    await sandbox.reverse(referenceOf(event, bySweep), 'refund', part);
    await sandbox.reverse(referenceOf(event, bySweep), 'refund', part);
    expect((await event.payment(bySweep)).refund).toBe(null);
    await sweep();
    expect((await event.payment(bySweep)).refund).toMatchObject({ ...shown, amountMinor: 2 * part });

    const taken = 3 * amountMinor - 3 * part;
    expect((await get(event, '/stats')).payments).toMatchObject({ refunded: 0, revenue: [{ amountMinor: taken }] });
    const rows = await readCsv(event);
    const backs = rows.filter((row) => row.get('refundStatus') === 'partially_refunded');
    const sum = (some: Map<string, string>[], column: string) =>
      some.reduce((total, row) => total + Number(row.get(column)), 0);
    expect(sum(rows, 'amountMinor') - sum(backs, 'refundAmountMinor')).toBe(taken);
    expect((await event.payment(kept)).refund).toBe(null);
    expect((await get(event, '/results')).stats.ballots).toBe(3);
  });

  test('voids the vote once the parts come to all of it, and shows no part any more', async () => {
    const event = await createPaidEvent(service, provider);
    const attempt = await event.vote();
    await sandbox.reverse(referenceOf(event, attempt), 'refund', part);
    await event.until(attempt, ({ refund }) => refund !== null);
    await sandbox.reverse(referenceOf(event, attempt), 'refund', amountMinor - part);
    const reversed = await event.until(attempt, ({ reversedAt }) => reversedAt !== null);
    expect(reversed.refund).toBe(null);
    expect((await get(event, '/stats')).payments.revenue).toEqual([]);
  });

  test('is left out of what the service gives back later: the rest goes, and the payer has the whole', async () => {
    const event = await createPaidEvent(service, provider);
    const { attempt } = await cast(event);
    await sandbox.reverse(referenceOf(event, attempt), 'refund', part);
    await event.until(attempt, ({ refund }) => refund !== null);
    demand(await event.account.patch(`/voting-events/${event.id}`, { status: 'closed' }), 200);
    await moveEnd(service.deps, event.id, 'closed_at = closed_at - 86400000');
    await dropAllExpiredBallots(service.deps);
    const refunded = await event.until(attempt, ({ refundedAt }) => refundedAt !== null);
    expect(refunded.refund).toMatchObject({ status: 'refunded', amountMinor });
  });
});

test('fees that a payer of provider_b bore go back with the payment', async () => {
  const event = await createPaidEvent(service, 'provider_b');
  sandbox.faults.payerBearsFees = true;
  const visitorId = visitor();
  const votes = votesFor(event);
  const attempts: string[] = [];
  for (let time = 0; time < 2; time += 1) {
    const answer = await event.page('ballot/cast', { visitorId, email: 'payer@mail.example', votes });
    await decide(checkoutUrlOf(answer), 'pay');
    attempts.push(demand(answer, 402).paymentAttemptId);
  }
  const [first = '', second = ''] = attempts;
  demand(await event.cast(first), 201);
  expect((await event.cast(second)).status).toBe(409);
  const fee = Math.floor((PRICE.provider_b.amountMinor * 15) / 100_000) * 100;
  expect(fee).toBeGreaterThan(0);
  const refunded = await event.until(second, ({ refundedAt }) => refundedAt !== null);
  expect(refunded).toMatchObject({
    amountMinor: PRICE.provider_b.amountMinor,
    refund: { status: 'refunded', amountMinor: PRICE.provider_b.amountMinor + fee },
  });
});

test.each([
  ['in parts, by message', [20_000, 30_000], 'message'],
  ['at once, by message', [50_000], 'message'],
  ['in parts, by the sweep', [20_000, 30_000], 'sweep'],
])('a price that goes back %s, without the fees that its payer bore, voids the vote', async (_how, parts, way) => {
  const { amountMinor } = PRICE.provider_b;
  const event = await createPaidEvent(service, 'provider_b');
  sandbox.faults.payerBearsFees = true;
  const attempt = await event.vote();
  if (way === 'sweep') sandbox.faults.webhooks = 'lost';
  for (const part of parts) await sandbox.reverse(referenceOf(event, attempt), 'refund', (amountMinor * part) / 50_000);
  if (way === 'sweep') await sweep();
  const reversed = await event.until(attempt, ({ reversedAt }) => reversedAt !== null);
  expect(reversed).toMatchObject({ status: 'fulfilled', refund: null });
  expect((await get(event, '/stats')).payments.revenue).toEqual([]);
  expect((await get(event, '/results')).stats.ballots).toBe(0);
});

test('a payment of provider_b that comes ten days late, without a message, is found by the sweep and goes back', async () => {
  const event = await createPaidEvent(service, 'provider_b');
  const { attempt, url } = await event.begin();
  await query('UPDATE payment_attempts SET expires_at = 1, created_at = created_at - $2::bigint WHERE id = $1', [
    attempt,
    10 * DAY_MS,
  ]);
  await event.until(attempt, ({ status }) => status === 'cancelled');
  sandbox.advance(10 * DAY_MS);
  sandbox.faults.webhooks = 'lost';
  await decide(url, 'pay');
  await sweep();
  const found = await event.until(attempt, ({ refundedAt }) => refundedAt !== null);
  expect(found).toMatchObject({ status: 'cancelled', refund: { status: 'refunded' } });
});
