import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startSandbox } from '#sandbox/start-sandbox.ts';
import type { AdapterOptions, PaymentProvider, ProviderCredentials } from '#src/payment-providers/provider.ts';
import { createProviderA } from '#src/payment-providers/provider-a.ts';
import { createProviderB } from '#src/payment-providers/provider-b.ts';
import { PaymentProviderRefused, PaymentProviderUnavailable } from '#src/payment-providers/provider-fault.ts';
import { createPaymentProviders } from '#src/payments/payment-deps.ts';
import { decide, PRICE, publishedSchemas } from '#test/harness/payments.ts';
import { PROVIDER_C, startThirdProvider } from '#test/harness/third-provider.ts';
import { openPage, orderOf, paymentOf, playBoth, refundOf, sandboxCredentials } from './asking.ts';

const judge = publishedSchemas();

const playJudged = () => playBoth(judge === undefined ? {} : { judge });

/** Each adapter, with what plays its provider. */
const SUBJECTS = [
  {
    name: 'provider_a',
    country: 'DE',
    price: PRICE.provider_a,
    start: playJudged,
    connect: (options: AdapterOptions) => createProviderA({ ...options, maxNetworkRetries: 0 }),
    credentials: () => sandboxCredentials('DE'),
  },
  {
    name: 'provider_b',
    country: 'GH',
    price: PRICE.provider_b,
    start: playJudged,
    connect: createProviderB,
    credentials: () => sandboxCredentials('GH'),
  },
  {
    name: 'a third provider',
    country: 'FR',
    price: { amountMinor: 500, currency: 'eur' },
    start: startThirdProvider,
    connect: PROVIDER_C.connect,
    credentials: () => ({ secretKey: `sk_test_third_${randomBytes(8).toString('hex')}` }),
  },
];

/** What all adapters promise, asked of each over real HTTP with a provider that also misbehaves. */
describe.each(SUBJECTS)('the adapter of $name', (subject) => {
  const { name, country, price } = subject;
  let sandbox: Awaited<ReturnType<typeof subject.start>>;
  let provider: PaymentProvider;
  let credentials: ProviderCredentials;

  const connect = (timeoutMs: number): PaymentProvider =>
    subject.connect({ now: () => Date.now(), baseUrl: sandbox.url, timeoutMs });

  beforeEach(async () => {
    sandbox = await subject.start();
    provider = connect(10_000);
    credentials = subject.credentials();
  });
  afterEach(async () => {
    await provider.close();
    await sandbox.stop();
  });

  const HARD = {
    ...{ title: 'Wahl & "Ọlá" <山田>', description: 'Your vote' },
    ...{ returnUrl: 'https://shop.example/back?a=1#b', cancelUrl: 'https://shop.example/cancel' },
  };
  const order = () => orderOf(provider, price, HARD);
  const open = () => openPage(provider, credentials, order());

  /** A page that was paid, and what asks for its refund. */
  const openPaid = async () => {
    const { page, request, read } = await open();
    await decide(page.checkoutUrl, 'pay');
    return { read, refund: refundOf(request, paymentOf(await read())) };
  };

  test('describes an account: ready, its country, currencies that its price table knows', async () => {
    const described = await provider.describeAccount(credentials);
    expect(described).toMatchObject({ ready: true, country, livemode: false });
    expect(described.supportedCurrencies).toContain(price.currency);
    expect(described.supportedCurrencies.every((code) => provider.money.currencies.includes(code))).toBe(true);
  });

  test('reads a page in every state: unpaid, paid with all that is compared, failed, unpaid after going back', async () => {
    const paid = await open();
    expect((await paid.read()).kind).toBe('unpaid');
    await decide(paid.page.checkoutUrl, 'cancel');
    expect((await paid.read()).kind).toBe('unpaid');
    await decide(paid.page.checkoutUrl, 'pay');
    const state = await paid.read();
    expect(state).toMatchObject({
      kind: 'paid',
      payment: {
        ...price,
        reference: paid.request.reference,
        attemptId: paid.request.attemptId,
        livemode: false,
        providerPaymentId: expect.any(String),
      },
    });
    const failed = await open();
    await decide(failed.page.checkoutUrl, 'fail');
    expect((await failed.read()).kind).toBe('failed');
  });

  test('sends a payer back to the address as it was written, with the attempt appended', async () => {
    const { page, request } = await open();
    const back = await decide(page.checkoutUrl, 'pay');
    expect(back.startsWith('https://shop.example/back?a=1&')).toBe(true);
    expect(new URL(back).searchParams.get('paymentAttemptId')).toBe(request.attemptId);
    expect(new URL(back).hash).toBe('#b');
  });

  test('gives a payment back once, and says so when it was given back before', async () => {
    const { refund, read } = await openPaid();
    expect((await provider.refund(credentials, refund)).kind).toBe('refunded');
    expect((await provider.refund(credentials, refund)).kind).toBe('refunded');
    expect((await read()).kind).toBe('reversed');
  });

  test('tells a refused refund from one that could not be asked for', async () => {
    const { refund } = await openPaid();
    sandbox.faults.refuseRefunds = true;
    expect((await provider.refund(credentials, refund)).kind).toBe('refused');
  });

  test.each([
    ['too slow', { latencyMs: 900 }],
    ['broken', { refuseStatus: 500, refuseTimes: 9 }],
    ['busy', { refuseStatus: 429, refuseTimes: 9 }],
    ['cut off after its work', { resetAfterTimes: 9 }],
    ['talking nonsense', { malformedTimes: 9 }],
  ] as const)('says of a provider that is %s that it may be asked again', async (_what, faults) => {
    Object.assign(sandbox.faults, faults);
    const hasty = connect(500);
    await expect(hasty.createCheckout(credentials, order())).rejects.toBeInstanceOf(PaymentProviderUnavailable);
    await hasty.close();
  });

  test('says of a wrong key that asking again is of no use, and repeats it nowhere', async () => {
    const secretKey = 'sk_test_wrong_0123456789';
    const fault = await provider.createCheckout({ secretKey }, order()).catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(PaymentProviderRefused);
    expect(JSON.stringify(fault) + String(fault)).not.toContain(secretKey);
  });

  test('knows nothing of a page that was never made', async () => {
    const handle = { reference: 'never-made', page: null };
    expect(await provider.readCheckout(credentials, handle)).toEqual({ kind: 'missing' });
    if (name !== 'provider_a') return;
    const page = { provider: name, checkoutUrl: '', checkoutSessionId: 'cs_test_none' };
    expect(await provider.readCheckout(credentials, { ...handle, page })).toEqual({ kind: 'missing' });
  });
});

test('provider_a answers a repeated call with the same page, and refuses the same key for another order', async () => {
  const sandbox = await playBoth();
  const provider = createProviderA({ now: () => Date.now(), baseUrl: sandbox.url, maxNetworkRetries: 0 });
  const credentials = sandboxCredentials('US');
  const request = orderOf(provider, PRICE.provider_a);
  const ask = (more: object = {}) => provider.createCheckout(credentials, { ...request, ...more });
  const first = await ask();
  expect(await ask()).toEqual(first);
  await expect(ask({ amountMinor: 900 })).rejects.toBeInstanceOf(PaymentProviderRefused);
  await sandbox.stop();
});

test('provider_b makes a reference of its own for each page, from what its provider allows', () => {
  const providers = createPaymentProviders(() => 0, {}, undefined);
  const provider = providers.of({ provider: 'provider_b', sandbox: false });
  expect(provider.referenceFor('pay_abc', 1)).toMatch(/^[A-Za-z0-9.=-]+$/);
  expect(provider.referenceFor('pay_abc', 1)).not.toBe(provider.referenceFor('pay_abc', 2));
});

test('the sandbox refuses to start in production', async () => {
  const start = startSandbox({ production: true, now: () => 0, webhookTarget: () => undefined });
  await expect(start).rejects.toThrow('production');
});
