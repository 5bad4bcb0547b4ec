import { createHmac } from 'node:crypto';
import ProviderClient from 'stripe';
import { describe, expect, test } from 'vitest';
import { verifyWebhookA } from '#src/payment-providers/provider-a-webhook.ts';
import { signatureOf, verifyWebhookB } from '#src/payment-providers/provider-b-webhook.ts';

const AT_SECONDS = 1_700_000_000;
const SECRET = 'whsec_right';
const KEY = 'sk_test_right';

const eventA = (more: object = {}) => ({
  id: 'evt_1',
  type: 'checkout.session.completed',
  livemode: false,
  data: { object: { id: 'cs_test_1', object: 'checkout.session', client_reference_id: 'pay_1', metadata: {} } },
  ...more,
});

function verifyA(event: unknown, more: { secret?: string; credentials?: object; header?: string; at?: number } = {}) {
  const payload = typeof event === 'string' ? event : JSON.stringify(event);
  const header =
    more.header ??
    ProviderClient.webhooks.generateTestHeaderString({ payload, secret: more.secret ?? SECRET, timestamp: AT_SECONDS });
  return verifyWebhookA(
    { secretKey: KEY, webhookSecret: SECRET, accountId: 'acct_ours', ...more.credentials },
    Buffer.from(payload),
    new Headers({ 'stripe-signature': header }),
    (more.at ?? AT_SECONDS) * 1_000,
  );
}

describe('a message of provider_a', () => {
  test('is believed from its own account, and where it names none', () => {
    expect(verifyA(eventA({ account: 'acct_ours' })).kind).toBe('genuine');
    expect(verifyA(eventA()).kind).toBe('genuine');
  });

  test('is refused from another account, from real money, and under the secret of another business', () => {
    expect(verifyA(eventA({ account: 'acct_theirs' }))).toEqual({ kind: 'forged', reason: 'account' });
    expect(verifyA(eventA({ livemode: true }))).toEqual({ kind: 'forged', reason: 'livemode' });
    expect(verifyA(eventA(), { secret: 'whsec_theirs' })).toEqual({ kind: 'forged', reason: 'signature' });
  });

  test.each([
    ['an empty one', ''],
    ['none', undefined],
  ])('is never right where the business has %s for a secret', (_what, webhookSecret) => {
    const payload = JSON.stringify(eventA());
    const digest = createHmac('sha256', '').update(`${AT_SECONDS}.${payload}`).digest('hex');
    const header = `t=${AT_SECONDS},v1=${digest}`;
    expect(verifyA(payload, { credentials: { webhookSecret }, header })).toEqual({
      kind: 'forged',
      reason: 'signature',
    });
  });

  test('is good for 300 seconds in both directions, and not for one more', () => {
    for (const seconds of [-300, 0, 300]) expect(verifyA(eventA(), { at: AT_SECONDS + seconds }).kind).toBe('genuine');
    for (const seconds of [-301, 301])
      expect(verifyA(eventA(), { at: AT_SECONDS + seconds })).toEqual({ kind: 'forged', reason: 'timestamp' });
  });

  test('is refused with two times, of which one could be chosen', () => {
    const payload = JSON.stringify(eventA());
    const right = ProviderClient.webhooks.generateTestHeaderString({ payload, secret: SECRET, timestamp: AT_SECONDS });
    for (const header of [`t=1,${right}`, `${right},t=${AT_SECONDS + 1}`])
      expect(verifyA(payload, { header })).toEqual({ kind: 'forged', reason: 'signature' });
  });

  test('is believed while its secret is rotated: with one right signature among several', () => {
    const payload = JSON.stringify(eventA());
    const right = ProviderClient.webhooks.generateTestHeaderString({ payload, secret: SECRET, timestamp: AT_SECONDS });
    expect(verifyA(payload, { header: `${right},v1=${'0'.repeat(64)}` }).kind).toBe('genuine');
  });

  test.each(['null', '[]', '{}', 'no json', '{"id":1}'])(
    'that is signed and reads %s is unreadable, and no fault',
    (text) => {
      expect(verifyA(text)).toEqual({ kind: 'unreadable' });
    },
  );
});

describe('a message of provider_b', () => {
  const verifyB = (body: Uint8Array, secretKey = KEY, signedWith = secretKey) =>
    verifyWebhookB({ secretKey }, body, new Headers({ 'x-paystack-signature': signatureOf(body, signedWith) }));
  const bytes = (data: object): Buffer => Buffer.from(JSON.stringify({ event: 'charge.success', data }));

  test('is believed in either case of its digits, over the bytes as they came', () => {
    const body = Buffer.from('{ "event":"charge.success",\n"data":{"id":5,"reference":"a.1","domain":"test"}}');
    expect(verifyB(body).kind).toBe('genuine');
    const upper = new Headers({ 'x-paystack-signature': signatureOf(body, KEY).toUpperCase() });
    expect(verifyWebhookB({ secretKey: KEY }, body, upper).kind).toBe('genuine');
  });

  test('is refused of real money at a test business, and of play money at a real one', () => {
    expect(verifyB(bytes({ domain: 'live' }))).toEqual({ kind: 'forged', reason: 'livemode' });
    expect(verifyB(bytes({ domain: 'test' }), 'sk_live_right')).toEqual({ kind: 'forged', reason: 'livemode' });
  });

  test('is never right where the business has no key', () => {
    expect(verifyB(bytes({ domain: 'test' }), '', '')).toEqual({ kind: 'forged', reason: 'signature' });
  });

  test('keeps IDs that a double cannot hold apart', () => {
    const [one, two] = ['9007199254740993', '9007199254740992'].map((id) =>
      verifyB(Buffer.from(`{"event":"charge.success","data":{"id":${id},"domain":"test"}}`)),
    );
    expect(one).toMatchObject({ kind: 'genuine', notice: { providerPaymentId: '9007199254740993' } });
    expect(two).not.toEqual(one);
  });

  test.each(['', 0, null, '{"paymentAttemptId":"pay_1"}', { paymentAttemptId: 'pay_1' }, 'a note'])(
    'is read with metadata %o',
    (metadata) => {
      const named = JSON.stringify(metadata)?.includes('pay_1') ? 'pay_1' : null;
      expect(verifyB(bytes({ id: 5, domain: 'test', metadata }))).toMatchObject({
        kind: 'genuine',
        notice: { attemptId: named },
      });
    },
  );

  test.each(['null', '[]', '{}', 'no json', '{"event":""}', '\u0000'])(
    'that is signed and reads %j is unreadable',
    (text) => {
      expect(verifyB(Buffer.from(text))).toEqual({ kind: 'unreadable' });
      expect(verifyB(Buffer.from([0xff, 0xfe]))).toEqual({ kind: 'unreadable' });
    },
  );
});
