import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ProviderClient from 'stripe';
import { describe, expect, test } from 'vitest';
import { type ProviderState, paymentMismatch, summariseRefunds } from '#src/payment-providers/provider.ts';
import { readRefundObject as readRefundA, readSession } from '#src/payment-providers/provider-a-state.ts';
import { readMessageTargets, verifyWebhookA } from '#src/payment-providers/provider-a-webhook.ts';
import {
  readPayments,
  readRefundObject as readRefundB,
  readReversals,
  readTransaction,
} from '#src/payment-providers/provider-b-state.ts';
import { signatureOf, verifyWebhookB } from '#src/payment-providers/provider-b-webhook.ts';

const CASES = path.resolve(import.meta.dirname, '../../../../shared/cases/payments');
const present = existsSync(CASES);
if (!present) console.info('payments: the official samples are absent, passed over');

// biome-ignore lint/suspicious/noExplicitAny: samples of any shape are read, which is what is tested
type Any = any;
const read = (name: string): Any => (present ? JSON.parse(readFileSync(path.join(CASES, name), 'utf8')) : {});
const samplesA: Any = read('stripe-official-fixtures.json').resources ?? {};
const eventA: Any = read('stripe-event-checkout_session_completed.json');
const samplesB: Any = read('paystack-official-events.json');
const at = (root: Any, place: string): Any => place.split('/').reduce((value, name) => value?.[name], root);

/** What a payment is read as; `live` and the time of payment where a sample says them. */
const payment = (
  amountMinor: number,
  currency: string,
  reference: string,
  providerPaymentId: string,
  feeMinor: number | null,
  more: object = {},
) => ({ amountMinor, currency, reference, providerPaymentId, feeMinor, ...more });

/** An attempt for what a state says that was paid: what the state then does to it. */
function effectOf(state: ProviderState, livemode: boolean): string {
  if (state.kind === 'unpaid') return state.refused ? 'stays pending, declined' : 'stays pending';
  if (state.kind === 'processing') return 'stays pending for days';
  if (state.kind !== 'paid' && state.kind !== 'reversed') return state.kind;
  const { reference, amountMinor, currency } = state.payment;
  const expected = { attemptId: 'pay_x', references: reference === null ? [] : [reference], currency, livemode };
  const mismatch = paymentMismatch(state.payment, { ...expected, amountMinor: amountMinor ?? 0 });
  if (mismatch !== null) return `is not paid: ${mismatch}`;
  return state.kind === 'paid' ? 'succeeds' : 'is reversed';
}

const NOW_MS = Date.parse('2026-01-01T00:00:00Z');
const valuesOf = (state: ProviderState) =>
  state.kind === 'paid' || state.kind === 'reversed' ? state.payment : undefined;

const session = (changes: object, intent?: object | null, charge?: object): Any => ({
  ...samplesA['checkout.session'],
  ...changes,
  ...(intent === undefined
    ? {}
    : { payment_intent: intent && { ...samplesA['payment_intent'], ...intent, latest_charge: charge ?? null } }),
});
const charge = (changes: object): Any => ({ ...samplesA['charge'], ...changes });
const PAID = { payment_status: 'paid', status: 'complete', amount_total: 1_099, currency: 'usd' };
const OURS = { client_reference_id: 'pay_x', metadata: { paymentAttemptId: 'pay_x' } };
const RECEIVED = { status: 'succeeded', amount_received: 1_099 };

describe.runIf(present)('an official object of provider_a, value by value,', () => {
  test.each<[string, () => Any, string, object | undefined]>([
    ['the session as it is', () => samplesA['checkout.session'], 'stays pending', undefined],
    [
      'the session of its message, which names no attempt',
      () => eventA.data.object,
      'is not paid: reference',
      {
        amountMinor: 999,
        currency: 'eur',
        reference: null,
        attemptId: null,
        livemode: true,
        providerPaymentId: 'pi_1IqxJOJDPojXS6LN9uOebAea',
        feeMinor: null,
        paidAtMs: null,
      },
    ],
    [
      'a paid session with its charge',
      () => session({ ...PAID, ...OURS }, RECEIVED, charge({})),
      'succeeds',
      payment(1_099, 'usd', 'pay_x', 'pi_1PgafyB7WZ01zgkWSjxsAJo3', null, {
        attemptId: 'pay_x',
        livemode: false,
        paidAtMs: 1_234_567_890_000,
      }),
    ],
    [
      'its charge with what it was settled by',
      () => session({ ...PAID, ...OURS }, RECEIVED, charge({ balance_transaction: samplesA['balance_transaction'] })),
      'succeeds',
      { feeMinor: 0 },
    ],
    [
      'less received than was asked for',
      () => session({ ...PAID, ...OURS }, { ...RECEIVED, amount_received: 1_000 }, charge({})),
      'succeeds',
      { amountMinor: 1_000 },
    ],
    [
      'a charge that went back whole',
      () =>
        session({ ...PAID, ...OURS }, RECEIVED, charge({ refunded: true, refunds: { data: [samplesA['refund']] } })),
      'is reversed',
      { amountMinor: 1_099 },
    ],
    [
      'a charge whose refund is under way',
      () =>
        session(
          { ...PAID, ...OURS },
          RECEIVED,
          charge({ refunded: true, refunds: { data: [{ ...samplesA['refund'], status: 'pending' }] } }),
        ),
      'succeeds',
      {},
    ],
    [
      'a charge of which a part went back',
      () =>
        session(
          { ...PAID, ...OURS },
          RECEIVED,
          charge({ refunded: false, amount_refunded: 100, refunds: { data: [samplesA['refund']] } }),
        ),
      'succeeds',
      {},
    ],
    ['a disputed charge', () => session({ ...PAID, ...OURS }, RECEIVED, charge({ disputed: true })), 'succeeds', {}],
    [
      'a delayed method under way',
      () => session({ status: 'complete', ...OURS }, { status: 'processing', last_payment_error: null }),
      'stays pending for days',
      undefined,
    ],
    ['a delayed method that bounced', () => session({ status: 'complete', ...OURS }, {}), 'failed', undefined],
    ['an open page after a declined card', () => session({ ...OURS }, {}), 'stays pending, declined', undefined],
    ['an expired page', () => session({ status: 'expired', ...OURS }, null), 'expired', undefined],
    [
      'an expired page that was paid all the same',
      () => session({ ...PAID, ...OURS, status: 'expired' }, RECEIVED, charge({})),
      'succeeds',
      { amountMinor: 1_099 },
    ],
  ])('%s', (_what, object, effect, values) => {
    const { state } = readSession(object());
    expect(effectOf(state, object().livemode)).toBe(effect);
    if (values === undefined) expect(valuesOf(state)).toBe(undefined);
    else expect(valuesOf(state)).toMatchObject(values);
  });

  test.each([
    ['succeeded', { kind: 'refunded', refundId: 're_1Pgc72B7WZ01zgkWqPvrRrPE', amountMinor: 100 }],
    ['pending', { kind: 'pending', refundId: 're_1Pgc72B7WZ01zgkWqPvrRrPE', amountMinor: 100 }],
    ['requires_action', { kind: 'attention', refundId: 're_1Pgc72B7WZ01zgkWqPvrRrPE', amountMinor: 100 }],
    ['failed', { kind: 'refused', code: 'failed', refundId: 're_1Pgc72B7WZ01zgkWqPvrRrPE', amountMinor: 100 }],
    ['canceled', { kind: 'refused', code: 'canceled', refundId: 're_1Pgc72B7WZ01zgkWqPvrRrPE', amountMinor: 100 }],
  ])('a refund that is %s, and what it means for a payment of 100 and of 1,099', (status, result) => {
    const refund = readRefundA({ ...samplesA['refund'], status });
    expect(refund).toEqual(result);
    expect(summariseRefunds([refund], 100)).toEqual({ whole: refund, partMinor: 0 });
    const partMinor = status === 'succeeded' ? 100 : 0;
    expect(summariseRefunds([refund], 1_099)).toEqual({ whole: null, partMinor });
  });

  test.each([
    ['charge', 'refund', 'charge.refunded', null],
    ['refund', 'refund', 'refund.failed', null],
    ['dispute', 'dispute', 'charge.dispute.closed', null],
    ['payment_intent', 'payment', 'payment_intent.payment_failed', 'pi_1PgafyB7WZ01zgkWSjxsAJo3'],
    ['checkout.session', 'payment', 'checkout.session.completed', 'pi_1PgafyB7WZ01zgkWSjxsAJo3'],
    ['account', 'account', 'account.updated', null],
  ])('a message about its %s says of which payment to ask', (kind, topic, type, providerPaymentId) => {
    const body = JSON.stringify({ ...samplesA['event'], type, data: { object: samplesA[kind] } });
    const header = ProviderClient.webhooks.generateTestHeaderString({ payload: body, secret: 'whsec_s', timestamp: 1 });
    const credentials = { secretKey: 'sk_test_x', webhookSecret: 'whsec_s' };
    const verdict = verifyWebhookA(credentials, Buffer.from(body), new Headers({ 'stripe-signature': header }), 1_000);
    expect(verdict).toMatchObject({
      kind: 'genuine',
      notice: { eventKey: 'evt_1Pgc76B7WZ01zgkWwyRHS12y', topic: expect.stringMatching(topic), providerPaymentId },
    });
  });
});

const B = (place: string) => () => at(samplesB, place);
describe.runIf(present)('an official object of provider_b, value by value,', () => {
  test.each<[string, () => Any, string, object | undefined]>([
    [
      'a verified transaction whose payer bore the fees',
      B('verify/200/data/data'),
      'succeeds',
      payment(30_050, 'ngn', 're4lyvq3s3', '4099260516', 10_283, {
        attemptId: null,
        livemode: false,
        paidAtMs: Date.parse('2024-08-22T09:15:02.000Z'),
      }),
    ],
    [
      'a card',
      B('webhook_events/transaction_successful/data'),
      'succeeds',
      payment(10_000, 'ngn', 'qTPrJoy9Bx', '302961', null, { livemode: true }),
    ],
    [
      'a bank transfer',
      B('bank_transfer_events/charge_successful/data'),
      'succeeds',
      payment(25_000, 'ngn', 'zuz8ggd1ro', '3104021987', 375, { livemode: false }),
    ],
    [
      'a bank transfer in Kenya',
      B('pesalink_events/charge_successful/data'),
      'succeeds',
      payment(1_000, 'kes', 'uybxnzf71231', '519558290', 15, { livemode: true }),
    ],
    [
      'mobile money',
      B('mobile_money_event/json/data'),
      'succeeds',
      payment(100, 'ghs', 'gf4n3ykzj6a7u89', '59214', 153, { livemode: true }),
    ],
    [
      'USSD',
      B('ussd_event/json/data'),
      'succeeds',
      payment(150_000, 'ngn', '2ofkbk0yie6dvzb', '53561', null, { livemode: true }),
    ],
    [
      'a QR code',
      B('qr_event/json/data'),
      'succeeds',
      payment(186_677, 'zar', '48rx32f1womvcr4', '59565', 6_342, { livemode: false }),
    ],
    [
      'EFT',
      B('eft_event/json/data'),
      'succeeds',
      payment(100, 'ghs', 'gf4n3ykzj6a7u89', '59214', 153, { livemode: true }),
    ],
    [
      'the payment of a lost dispute',
      () => ({ ...at(samplesB, 'webhook_events/charge_dispute_resolve/data/transaction') }),
      'is reversed',
      payment(5_700, 'ngn', '5qm4pv2mxs9rltp', '896467592', 52),
    ],
    [
      'the payment of an open dispute',
      () => ({ ...at(samplesB, 'webhook_events/charge_dispute_create/data/transaction') }),
      'succeeds',
      payment(5_800, 'ngn', 'v3mjfgbnc19v97x', '896467688', 53),
    ],
    [
      'an abandoned page',
      () => ({ ...at(samplesB, 'verify/200/data/data'), status: 'abandoned' }),
      'stays pending',
      undefined,
    ],
    [
      'a transfer under way',
      () => ({ ...at(samplesB, 'verify/200/data/data'), status: 'pending' }),
      'stays pending for days',
      undefined,
    ],
    [
      'a declined card on a page of today',
      () => ({
        ...at(samplesB, 'verify/200/data/data'),
        status: 'failed',
        created_at: '2025-12-31T23:00:00.000Z',
      }),
      'stays pending, declined',
      undefined,
    ],
    [
      'a declined card on a page that is over',
      () => ({ ...at(samplesB, 'verify/200/data/data'), status: 'failed' }),
      'failed',
      undefined,
    ],
  ])('%s', (_what, object, effect, values) => {
    const state = readTransaction(object(), NOW_MS);
    expect(effectOf(state, object().domain === 'live')).toBe(effect);
    if (values === undefined) expect(valuesOf(state)).toBe(undefined);
    else expect(valuesOf(state)).toMatchObject(values);
  });

  test.each([
    ['refund_create/200/data/data', { kind: 'pending', refundId: '3018284', amountMinor: 10_000 }],
    ['refund_fetch/200/data/data', { kind: 'refunded', refundId: '1', amountMinor: 500_000 }],
  ])('a refund (%s)', (place, result) => {
    expect(readRefundB(at(samplesB, place))).toEqual(result);
  });

  test.each([
    ['webhook_events/charge_dispute_create/data', 'pending', '896467688', 'v3mjfgbnc19v97x', 5_800],
    ['webhook_events/charge_dispute_remind/data', 'pending', '896467688', 'v3mjfgbnc19v97x', 5_800],
    ['webhook_events/charge_dispute_resolve/data', 'done', '896467592', '5qm4pv2mxs9rltp', 5_700],
  ])('a dispute in a list (%s)', (place, status, providerPaymentId, reference, amountMinor) => {
    const [dispute] = readReversals('dispute', [at(samplesB, place)]);
    expect(dispute).toMatchObject({ kind: 'dispute', status, amountMinor });
    if (status === 'done' || place.includes('create')) expect(dispute).toMatchObject({ providerPaymentId, reference });
  });

  test.each([
    ['refund_create/200/data/data', 'pending', '1004723697', 10_000],
    ['refund_fetch/200/data/data', 'done', '1641', 500_000],
  ])('a refund in a list (%s)', (place, status, providerPaymentId, amountMinor) => {
    const [refund] = readReversals('refund', [at(samplesB, place)]);
    expect(refund).toMatchObject({ kind: 'refund', status, providerPaymentId, amountMinor });
  });

  test.each([
    ['refund_failed', 'T9171231_412325_3be2736c_n6tml'],
    ['refund_needs_attention', '88bfa94509eb96aa9785641c26cc57cc'],
    ['refund_pending', 'tvunjbbd_412829_4b18075d_c7had'],
    ['refund_processed', 'T2154954_412829_3be32076_6lcg3'],
    ['refund_processing', 'tvunjbbd_412829_4b18075d_c7had'],
  ])('a message of a refund (%s) names the payment by its reference, and no other', (name, reference) => {
    const body = Buffer.from(JSON.stringify(samplesB.refund_events[name]));
    const headers = new Headers({ 'x-paystack-signature': signatureOf(body, 'sk_live_x') });
    expect(verifyWebhookB({ secretKey: 'sk_live_x' }, body, headers)).toMatchObject({
      kind: 'genuine',
      notice: { topic: 'refund', reference, providerPaymentId: null, attemptId: null },
    });
  });

  test('a list of transactions gives each payment with its values, and leaves out what was not paid', () => {
    const paid = at(samplesB, 'verify/200/data/data');
    expect(readPayments([paid, { ...paid, id: 2, status: 'abandoned' }])).toEqual([
      {
        providerPaymentId: '4099260516',
        attemptId: null,
        amountMinor: 30_050,
        currency: 'ngn',
        providerStatus: 'success',
        paid: true,
        feeMinor: 10_283,
        atMs: Date.parse('2024-08-22T09:15:02.000Z'),
      },
    ]);
  });
});

const headersA = (body: string, secret: string, at: number): Headers =>
  new Headers({
    'stripe-signature': ProviderClient.webhooks.generateTestHeaderString({ payload: body, secret, timestamp: at }),
  });

describe.runIf(present)('the official samples', () => {
  test('of provider_a: an address of messages says what is missing', () => {
    const [target] = readMessageTargets({ data: [samplesA['webhook_endpoint']] });
    expect(target).toMatchObject({ url: 'https://example.com/my/webhook/endpoint', enabled: true });
    expect(target?.missingKinds).toContain('charge.dispute.closed');
  });

  test('of provider_a: an event of an older version is genuine under its signature, and names its session', () => {
    const body = JSON.stringify(eventA);
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

  test('of provider_b: every message is genuine under its signature, and none is taken for another kind', () => {
    const groups = ['webhook_events', 'refund_events', 'bank_transfer_events', 'pesalink_events'];
    const events = groups
      .flatMap((group) => Object.values(samplesB[group]))
      .concat(
        ['mobile_money_event', 'ussd_event', 'qr_event', 'eft_event', 'split_event'].map((name) => samplesB[name].json),
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
    const body = Buffer.from(JSON.stringify(samplesB.bank_transfer_events.charge_successful));
    expect(signatureOf(body, paystack.secret)).toBe(paystack.header);
  });
});

/** Samples stand alone or below a name. */
function unwrap(sample: Any): Any {
  return sample?.event === undefined && sample?.json !== undefined ? sample.json : sample;
}
