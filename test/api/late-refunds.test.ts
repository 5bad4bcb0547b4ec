import { describe, expect, test } from 'vitest';
import { NO_FAULTS } from '#sandbox/faults.ts';
import { sweepRefunds } from '#src/payments/refund-payment.ts';
import { createLog } from '#src/platform/log.ts';
import { demand, visitor } from '#test/harness/elections.ts';
import { createPaidEvent, type PaidEvent, PROVIDERS, referenceOf, usePaidService } from '#test/harness/payments.ts';
import { startReceiver } from '#test/harness/receiver.ts';
import { eventually } from '#test/harness/test-service.ts';

const lines: string[] = [];
const { service, sandbox } = await usePaidService({ log: createLog('error', { write: (line) => lines.push(line) }) });

const DAY_MS = 86_400_000;
const query = (statement: string, values: unknown[]) => service.deps.db.$client.query(statement, values);

/** A second payment of one visitor, which buys nothing and goes back. */
async function payInVain(event: PaidEvent): Promise<string> {
  const visitorId = visitor();
  const [first, second] = [await event.payKnown({ visitorId }), await event.payKnown({ visitorId })];
  demand(await event.cast(first), 201);
  expect((await event.cast(second)).status).toBe(409);
  return second;
}

const untilRefund = (event: PaidEvent, attempt: string, status: string) =>
  event.until(attempt, ({ refund }) => refund?.status === status);

const alarmsOf = (attempt: string): string[] =>
  lines
    .map((line) => JSON.parse(line))
    .filter((line) => line.attempt === attempt)
    .map(({ alarm }) => alarm);

const refundCalls = (event: PaidEvent, attempt: string): number =>
  sandbox.requests.filter(
    ({ method, path, body }) =>
      method === 'POST' && /refund/.test(path) && JSON.stringify(body).includes(referenceOf(event, attempt)),
  ).length;

/** Every message that came is dealt with. */
const untilQuiet = () =>
  eventually(async () => {
    const { rows } = await query('SELECT 1 FROM provider_events WHERE processed_at IS NULL', []);
    return rows.length === 0 ? true : undefined;
  });

async function listen(event: PaidEvent) {
  const receiver = await startReceiver();
  const hook = { url: receiver.url, eventTypes: ['payment.refunded', 'payment.refund_failed', 'payment.reversed'] };
  demand(await event.account.post('/webhook-endpoints', hook), 201);
  return {
    heard: (): [string, string][] =>
      receiver.received.map(({ body }) => JSON.parse(body)).map(({ type, data }) => [type, data.id]),
    stop: () => receiver.stop(),
  };
}

describe.each(PROVIDERS)('a refund through %s', (provider) => {
  test('that fails after it had succeeded is handed to a person, once, and ends when that one has paid back', async () => {
    const event = await createPaidEvent(service, provider);
    const receiver = await listen(event);
    const attempt = await payInVain(event);
    await untilRefund(event, attempt, 'refunded');
    await eventually(() => (receiver.heard().length === 1 ? true : undefined));
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
    const told = await eventually(() => (receiver.heard().length === 3 ? receiver.heard() : undefined));
    expect(told.map(([type]) => type).toSorted()).toEqual([
      'payment.refund_failed',
      'payment.refunded',
      'payment.refunded',
    ]);
    expect(alarmsOf(attempt)).toEqual(['refund_failed']);
    await receiver.stop();
  });

  test('that its merchant made, and that fails later, leaves the ballot void and says that the money is not back', async () => {
    const event = await createPaidEvent(service, provider);
    const receiver = await listen(event);
    const attempt = await event.payKnown();
    const { confirmationCode } = demand(await event.cast(attempt), 201);
    await untilQuiet();
    await sandbox.reverse(referenceOf(event, attempt), 'refund');
    await eventually(async () => ((await event.payment(attempt)).reversedAt === null ? undefined : true));
    await sandbox.moveRefund(referenceOf(event, attempt), 'failed');
    const failed = await untilRefund(event, attempt, 'failed');
    expect(failed).toMatchObject({ status: 'fulfilled', refundedAt: null, reversedAt: expect.any(Number) });
    const told = await eventually(() => (receiver.heard().length === 2 ? receiver.heard() : undefined));
    expect(told).toEqual(
      expect.arrayContaining([
        ['payment.reversed', attempt],
        ['payment.refund_failed', attempt],
      ]),
    );
    const confirmed = await event.account.page(event, 'ballot/confirm', { confirmationCode });
    expect(confirmed.status).toBe(404);
    expect(alarmsOf(attempt)).toEqual(['refund_failed']);
    await receiver.stop();
  });

  test('that takes days is pending, and refunded when the payer has the money', async () => {
    const event = await createPaidEvent(service, provider);
    sandbox.faults.newRefunds = 'pending';
    const attempt = await payInVain(event);
    await eventually(() => (refundCalls(event, attempt) === 1 ? true : undefined));
    await untilQuiet();
    expect((await event.payment(attempt)).refund).toMatchObject({ status: 'pending', finishedAt: null });
    await sandbox.moveRefund(referenceOf(event, attempt), 'succeeded');
    expect((await untilRefund(event, attempt, 'refunded')).status).toBe('cancelled');
    expect([refundCalls(event, attempt), alarmsOf(attempt)]).toEqual([1, []]);
  });

  test.each(['pending', 'attention'] as const)(
    'that fails while it was %s alarms with the provider’s message, and is asked for again',
    async (newRefunds) => {
      const event = await createPaidEvent(service, provider);
      sandbox.faults.newRefunds = newRefunds;
      const attempt = await payInVain(event);
      await untilRefund(event, attempt, newRefunds === 'attention' ? 'needs_attention' : 'pending');
      // A refund that the provider has not been asked for yet is shown as pending, too.
      const begun = 'SELECT 1 FROM payment_refunds WHERE attempt_id = $1 AND status = $2';
      await eventually(async () => (await query(begun, [attempt, newRefunds])).rows[0]);
      await untilQuiet();
      sandbox.faults.newRefunds = 'succeeded';
      await sandbox.moveRefund(referenceOf(event, attempt), 'failed');
      await eventually(() => (alarmsOf(attempt).includes('refund_refused') ? true : undefined));
      await query(
        'SELECT graphile_worker.reschedule_jobs(ARRAY(SELECT id FROM graphile_worker.jobs WHERE key LIKE $1), run_at => now())',
        [`refund:${attempt}:%`],
      );
      await untilRefund(event, attempt, 'refunded');
      expect(refundCalls(event, attempt)).toBe(2);
    },
  );

  test('whose job has used all its tries, or is gone, is swept until the payer has the money, and alarms after a day', async () => {
    const event = await createPaidEvent(service, provider);
    const { faults } = sandbox;
    Object.assign(faults, { refuseRefunds: true });
    const attempts = [await payInVain(event), await payInVain(event)];
    for (const [index, attempt] of attempts.entries()) {
      await eventually(() => (alarmsOf(attempt).length === 1 ? true : undefined));
      const jobs = 'SELECT id FROM graphile_worker.jobs WHERE key LIKE $1';
      const id = await eventually(async () => (await query(jobs, [`refund:${attempt}:%:again`])).rows[0]?.id);
      if (index === 0) await query("SELECT graphile_worker.permanently_fail_jobs(ARRAY[$1::bigint], 'used up')", [id]);
      else await query('SELECT graphile_worker.complete_jobs(ARRAY[$1::bigint])', [id]);
    }
    const aged = 'UPDATE payment_refunds SET created_at = created_at - $2::bigint WHERE attempt_id = ANY ($1)';
    await query(aged, [attempts, 2 * DAY_MS]);
    Object.assign(faults, { refuseRefunds: false, refuseStatus: 503, refuseTimes: 1e9 });
    const before = attempts.map((attempt) => refundCalls(event, attempt));
    await sweepRefunds(service.deps);
    for (const attempt of attempts) await eventually(() => (alarmsOf(attempt).length === 2 ? true : undefined));
    expect(new Set(attempts.flatMap(alarmsOf))).toEqual(new Set(['refund_refused']));
    // Planned again by itself: nothing is swept twice.
    const planned = attempts.map((attempt) => refundCalls(event, attempt));
    expect(planned.every((calls, index) => calls > (before[index] ?? 0))).toBe(true);
    await sweepRefunds(service.deps);
    Object.assign(faults, NO_FAULTS);
    const soon =
      'SELECT graphile_worker.reschedule_jobs(ARRAY(SELECT id FROM graphile_worker.jobs WHERE key LIKE $1), run_at => now())';
    for (const attempt of attempts) {
      await query(soon, [`refund:${attempt}:%`]);
      await untilRefund(event, attempt, 'refunded');
    }
  });

  test('that waits for its merchant alarms once, is asked for once a day, and is given up after 30', async () => {
    const event = await createPaidEvent(service, provider);
    sandbox.faults.newRefunds = 'attention';
    const attempt = await payInVain(event);
    await untilRefund(event, attempt, 'needs_attention');
    await untilQuiet();
    expect(alarmsOf(attempt)).toEqual(['refund_needs_attention']);
    const again = 'SELECT run_at FROM graphile_worker.jobs WHERE key LIKE $1';
    const planned = await eventually(async () => (await query(again, [`refund:${attempt}:%:again`])).rows[0]?.run_at);
    expect(planned.getTime() - Date.now()).toBeGreaterThan(23 * 3_600_000);
    const aged = 'UPDATE payment_refunds SET created_at = created_at - $2::bigint WHERE attempt_id = $1';
    await query(aged, [attempt, 30 * DAY_MS]);
    const soon =
      'SELECT graphile_worker.reschedule_jobs(ARRAY(SELECT id FROM graphile_worker.jobs WHERE key LIKE $1), run_at => now())';
    await query(soon, [`refund:${attempt}:%`]);
    await untilRefund(event, attempt, 'failed');
    expect(alarmsOf(attempt)).toEqual(['refund_needs_attention', 'refund_refused']);
    expect(refundCalls(event, attempt)).toBe(1);
  });
});
