import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { sandboxWebhookSecret } from '#sandbox/sandbox-keys.ts';
import { signatureOf } from '#src/payment-providers/provider-b-webhook.ts';
import { createPaidEvent, type PaidEvent, PROVIDERS, usePaidService } from '#test/harness/payments.ts';

const { service } = await usePaidService();

function signed({ provider, secretKey }: PaidEvent, body: string): Record<string, string> {
  if (provider === 'provider_b') return { 'x-paystack-signature': signatureOf(Buffer.from(body), secretKey) };
  const seconds = Math.floor(Date.now() / 1_000);
  const digest = createHmac('sha256', sandboxWebhookSecret(secretKey)).update(`${seconds}.${body}`).digest('hex');
  return { 'stripe-signature': `t=${seconds},v1=${digest}` };
}

async function send(event: PaidEvent, body: string): Promise<{ status: number; tookMs: number }> {
  const url = `http://127.0.0.1:${service.port}/provider-webhooks/${event.provider}/${event.businessId}`;
  const begin = performance.now();
  const answer = await fetch(url, { method: 'POST', body, headers: signed(event, body) });
  await answer.text();
  return { status: answer.status, tookMs: performance.now() - begin };
}

const thin = {
  id: 'evt_test_65R9Ijk8dKEYZcXeRWn16R9A7j1FSQ3w3TGDPLLGSM4CW0',
  object: 'v2.core.event',
  type: 'v1.billing.meter.error_report_triggered',
  livemode: false,
  created: '2026-09-17T06:20:52.246Z',
  related_object: { id: 'mtr_test_1', type: 'billing.meter', url: '/v1/billing/meters/mtr_test_1' },
};

describe.each(PROVIDERS)('a message of %s', (provider) => {
  test('of any shape is answered within a second, and changes nothing that the provider does not confirm', async () => {
    const event = await createPaidEvent(service, provider);
    const { attempt } = await event.begin();
    const paidA = { id: 'cs_x', object: 'checkout.session', client_reference_id: attempt, payment_status: 'paid' };
    const messages = [
      ...['{}', '[]', 'null', '"text"', '7', 'no json', '{"event":7}', '{"id":"evt_1","type":"x"}'],
      JSON.stringify(thin),
      JSON.stringify({ ...thin, type: 'v2.core.account.updated', id: 'evt_2' }),
      JSON.stringify({ id: 'evt_3', type: 'charge.refunded', livemode: false, data: { object: [] } }),
      JSON.stringify({ event: 'charge.success', data: null }),
      JSON.stringify({ event: 'bank.transfer.rejected', data: { bank_transfer: { amount: '300' } } }),
      JSON.stringify({ event: 'charge.success', data: [1, [2]] }),
      `{"event":"charge.success","data":{"metadata":${'['.repeat(500)}${']'.repeat(500)}}}`,
      // What says that the attempt was paid: asked at the provider, it was not.
      JSON.stringify({ id: 'evt_4', type: 'checkout.session.completed', livemode: false, data: { object: paidA } }),
      JSON.stringify({ event: 'charge.success', data: { domain: 'test', metadata: { paymentAttemptId: attempt } } }),
    ];
    const times: number[] = [];
    for (const message of messages) {
      const { status, tookMs } = await send(event, message);
      expect([message.slice(0, 60), status]).toEqual([message.slice(0, 60), 200]);
      times.push(tookMs);
    }
    // A busy machine may hold one of them up.
    expect(times.toSorted((left, right) => left - right)[Math.floor(times.length / 2)]).toBeLessThan(1_000);
    expect(await event.payment(attempt)).toMatchObject({ status: 'pending', refund: null });
  });

  test('that another signed is refused, whatever its shape', async () => {
    const event = await createPaidEvent(service, provider);
    const other = await createPaidEvent(service, provider);
    for (const message of ['{}', JSON.stringify(thin)]) {
      const { status } = await send({ ...event, secretKey: other.secretKey }, message);
      expect(status).toBe(400);
    }
  });
});
