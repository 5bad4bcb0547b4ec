import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ProviderClient from 'stripe';
import { describe, expect, test } from 'vitest';
import { readRefundObject as readRefundA, readSession } from '#src/payment-providers/provider-a-state.ts';
import { readMessageTargets, verifyWebhookA } from '#src/payment-providers/provider-a-webhook.ts';
import { readRefundObject as readRefundB, readTransaction } from '#src/payment-providers/provider-b-state.ts';
import { signatureOf, verifyWebhookB } from '#src/payment-providers/provider-b-webhook.ts';

const CASES = path.resolve(import.meta.dirname, '../../../../shared/cases/payments');
const present = existsSync(CASES);
if (!present) console.info('payments: the official samples are absent, passed over');

// biome-ignore lint/suspicious/noExplicitAny: samples of any shape are read, which is what is tested
const read = (name: string): any => JSON.parse(readFileSync(path.join(CASES, name), 'utf8'));

const headersA = (body: string, secret: string, at: number): Headers =>
  new Headers({
    'stripe-signature': ProviderClient.webhooks.generateTestHeaderString({ payload: body, secret, timestamp: at }),
  });

describe.runIf(present)('the official samples', () => {
  test('of provider_a: session, refund and event are read', () => {
    const { resources } = read('stripe-official-fixtures.json');
    expect(readSession(resources['checkout.session']).state.kind).toBe('unpaid');
    expect(['refunded', 'pending', 'refused']).toContain(readRefundA(resources.refund).kind);
  });

  test('of provider_a: an address of messages says what is missing', () => {
    const { resources } = read('stripe-official-fixtures.json');
    const [target] = readMessageTargets({ data: [resources.webhook_endpoint] });
    expect(target).toMatchObject({ url: 'https://example.com/my/webhook/endpoint', enabled: true });
    expect(target?.missingKinds).toContain('charge.dispute.closed');
  });

  test('of provider_a: an event of an older version is genuine under its signature, and names its session', () => {
    const body = JSON.stringify(read('stripe-event-checkout_session_completed.json'));
    const credentials = { secretKey: 'sk_live_x', webhookSecret: 'whsec_test_secret' };
    const verdict = verifyWebhookA(
      credentials,
      Buffer.from(body),
      headersA(body, 'whsec_test_secret', 1_700_000_000),
      1_700_000_010_000,
    );
    expect(verdict).toMatchObject({
      kind: 'genuine',
      notice: { topic: 'payment', eventType: 'checkout.session.completed' },
    });
  });

  test('of provider_a: the sequences that its own tool plays name only parameters that the page calls know', () => {
    const files = readdirSync(path.join(CASES, 'stripe-cli-triggers'));
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) {
      const { fixtures } = read(`stripe-cli-triggers/${file}`);
      expect(fixtures.some(({ path: at }: { path: string }) => at.includes('/v1/checkout/sessions'))).toBe(true);
    }
  });

  test('of provider_b: a verified transaction is paid with what was requested, fees apart', () => {
    const { data } = read('paystack-official-events.json').verify['200'].data;
    expect(readTransaction(data, 0)).toMatchObject({
      kind: 'paid',
      payment: {
        amountMinor: 30_050,
        currency: 'ngn',
        reference: 're4lyvq3s3',
        providerPaymentId: '4099260516',
        feeMinor: 10_283,
      },
    });
  });

  test('of provider_b: refunds are read in every state', () => {
    const samples = read('paystack-official-events.json');
    expect(readRefundB(samples.refund_create['200'].data.data).kind).toBe('pending');
    expect(['refunded', 'pending', 'refused']).toContain(readRefundB(samples.refund_fetch['200'].data.data).kind);
  });

  test('of provider_b: every message is genuine under its signature, and none is taken for another kind', () => {
    const samples = read('paystack-official-events.json');
    const groups = ['webhook_events', 'refund_events', 'bank_transfer_events', 'pesalink_events'];
    const events = groups
      .flatMap((group) => Object.values(samples[group]))
      .concat(
        ['mobile_money_event', 'ussd_event', 'qr_event', 'eft_event', 'split_event'].map((name) => samples[name].json),
      );
    let messages = 0;
    for (const sample of events) {
      const event = unwrap(sample);
      if (typeof event?.event !== 'string') continue;
      messages += 1;
      const body = Buffer.from(JSON.stringify(event));
      const secretKey = /"domain":"live"/.test(body.toString()) ? 'sk_live_x' : 'sk_test_x';
      const headers = new Headers({ 'x-paystack-signature': signatureOf(body, secretKey) });
      const verdict = verifyWebhookB({ secretKey }, body, headers);
      expect([event.event, verdict.kind]).toEqual([event.event, 'genuine']);
      if (verdict.kind !== 'genuine') continue;
      const topic = event.event.startsWith('charge.dispute')
        ? 'dispute'
        : event.event.startsWith('charge.')
          ? 'payment'
          : event.event.startsWith('refund.')
            ? 'refund'
            : 'other';
      expect([event.event, verdict.notice.topic]).toEqual([event.event, topic]);
    }
    expect(messages).toBeGreaterThan(24);
  });

  test('signatures of both are recognised as their own tools make them', () => {
    const { stripe, paystack } = read('signature-vectors.json');
    const credentials = { secretKey: 'sk_test_x', webhookSecret: stripe.secret };
    const signed = verifyWebhookA(
      credentials,
      Buffer.from(stripe.payload),
      new Headers({ 'stripe-signature': stripe.header }),
      stripe.timestamp * 1_000,
    );
    // Rightly signed, and no event that could be read.
    expect(signed.kind).toBe('unreadable');
    const late = verifyWebhookA(
      credentials,
      Buffer.from(stripe.payload),
      new Headers({ 'stripe-signature': stripe.header }),
      (stripe.timestamp + 301) * 1_000,
    );
    expect(late).toEqual({ kind: 'forged', reason: 'timestamp' });
    const samples = read('paystack-official-events.json');
    const body = Buffer.from(JSON.stringify(samples.bank_transfer_events.charge_successful));
    expect(signatureOf(body, paystack.secret)).toBe(paystack.header);
  });
});

// biome-ignore lint/suspicious/noExplicitAny: samples stand alone or below a name
function unwrap(sample: any): any {
  return sample?.event === undefined && sample?.json !== undefined ? sample.json : sample;
}
