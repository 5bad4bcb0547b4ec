import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { paymentDeps } from '#src/fulfilments.ts';
import { processProviderEventJob } from '#src/payments/receive-provider-event.ts';
import { sweepPayments } from '#src/payments/sweep-payments.ts';
import { demand } from '#test/harness/elections.ts';
import {
  createPaidEvent,
  decide,
  type PaidEvent,
  PROVIDERS,
  referenceOf,
  usePaidService,
} from '#test/harness/payments.ts';
import { eventually } from '#test/harness/test-service.ts';

const { service, sandbox } = await usePaidService();

const query = (statement: string, values: unknown[]) => service.deps.db.$client.query(statement, values);
const sweep = () => sweepPayments(paymentDeps(service.deps));

/** A ballot that is paid for and confirmed. */
async function vote(event: PaidEvent): Promise<string> {
  const attempt = await event.payKnown();
  const { confirmationCode } = demand(await event.cast(attempt), 201);
  demand(await event.page('ballot/confirm', { confirmationCode }), 200);
  return attempt;
}

describe.each(PROVIDERS)('the daily sweep of payments through %s', (provider) => {
  test('makes up for lost messages of refunds, failed refunds and disputes, and asks for nothing else', async () => {
    const event = await createPaidEvent(service, provider);
    const attempts = [await vote(event), await vote(event), await vote(event)];
    const [kept = '', refunded = '', disputed = ''] = attempts;
    sandbox.faults.webhooks = 'lost';
    await sandbox.reverse(referenceOf(event, refunded), 'refund');
    await sandbox.reverse(referenceOf(event, disputed), 'dispute');
    expect((await event.payment(refunded)).reversedAt).toBe(null);
    await sweep();
    const states = await Promise.all(
      attempts.map(async (attempt) => (await event.payment(attempt)).reversedAt !== null),
    );
    expect(states).toEqual([false, true, true]);
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
    const event = await createPaidEvent(service, provider);
    sandbox.faults.webhooks = 'lost';
    const { attempt, url } = await event.begin();
    if (provider === 'provider_a') sandbox.advance(3_600_000);
    else await query('UPDATE payment_attempts SET expires_at = 1 WHERE id = $1', [attempt]);
    await eventually(async () => ((await event.payment(attempt)).status === 'cancelled' ? true : undefined));
    if (provider === 'provider_a') sandbox.advance(-3_600_000);
    sandbox.faults.payAfterExpiry = true;
    await decide(url, 'pay');
    await sweep();
    await eventually(async () => ((await event.payment(attempt)).refundedAt === null ? undefined : true));
    await sweep();
    const refunds = sandbox.requests.filter(
      ({ method, path, body }) =>
        method === 'POST' && /refund/.test(path) && JSON.stringify(body).includes(referenceOf(event, attempt)),
    );
    expect(refunds).toHaveLength(1);
  });

  test('matches a message again that named a payment nobody knew when it came', async () => {
    const event = await createPaidEvent(service, provider);
    const attempt = await vote(event);
    const away = 'UPDATE payment_attempts SET id = $2, provider_payment_id = $3 WHERE id = $1';
    const { rows } = await query('SELECT provider_payment_id AS payment FROM payment_attempts WHERE id = $1', [
      attempt,
    ]);
    await query(away, [attempt, `${attempt}-away`, null]);
    await sandbox.reverse(referenceOf(event, attempt), 'refund');
    const message = await eventually(async () => {
      const found = await query(
        `SELECT event_key AS key FROM provider_events WHERE payment_business_id = $1 AND event_type LIKE '%refund%'`,
        [event.businessId],
      );
      return found.rows[0]?.key;
    });
    await query('UPDATE provider_events SET received_at = received_at - 61000 WHERE event_key = $1', [message]);
    const job = processProviderEventJob(paymentDeps(service.deps));
    await job.work({ businessId: event.businessId, eventKey: message }, { id: '1', attempt: 1, last: false });
    await sweep();
    const outcome = async () => {
      const found = await query('SELECT outcome FROM provider_events WHERE event_key = $1', [message]);
      return found.rows[0]?.outcome;
    };
    expect(await outcome()).toBe('unmatched');
    await query(away, [`${attempt}-away`, attempt, rows[0].payment]);
    // A job that is at the same message leaves it to a later sweep. Too many in a row would use up what the business may ask.
    await eventually(async () => {
      await sweep();
      if ((await outcome()) === 'applied') return true;
      await pause(2_000);
      return undefined;
    }, 60_000);
    expect((await event.payment(attempt)).reversedAt).toEqual(expect.any(Number));
  });
});
