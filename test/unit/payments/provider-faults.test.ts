import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Sandbox } from '#sandbox/start-sandbox.ts';
import {
  type CheckoutRequest,
  type PaymentProvider,
  type ProviderCredentials,
  paymentMismatch,
  type WebhookVerdict,
} from '#src/payment-providers/provider.ts';
import { createProviderA } from '#src/payment-providers/provider-a.ts';
import { createProviderB } from '#src/payment-providers/provider-b.ts';
import { PaymentProviderUnavailable } from '#src/payment-providers/provider-fault.ts';
import { decide, PRICE, PROVIDERS, publishedSchemas } from '#test/harness/payments.ts';
import { type Receiver, startReceiver } from '#test/harness/receiver.ts';
import { openPage, orderOf, paymentOf, playBoth, refundOf, sandboxCredentials } from './asking.ts';

const HOUR_MS = 3_600_000;
const judge = publishedSchemas();

/** What goes wrong at a provider, and what each adapter makes of it, over real HTTP. */
describe.each(PROVIDERS)('the adapter of %s, when its provider misbehaves,', (name) => {
  let sandbox: Sandbox;
  let provider: PaymentProvider;
  let credentials: ProviderCredentials;
  let merchant: Receiver;
  /** What the merchant answers first; then 200. */
  let statuses: number[];
  let sandboxAheadMs: number;

  beforeEach(async () => {
    sandboxAheadMs = 0;
    statuses = [];
    sandbox = await playBoth({
      ...{ now: () => Date.now() + sandboxAheadMs, webhookTarget: () => merchant.url },
      ...(judge === undefined ? {} : { judge }),
    });
    merchant = await startReceiver((response) => response.writeHead(statuses.shift() ?? 200).end());
    const connect = name === 'provider_a' ? createProviderA : createProviderB;
    provider = connect({ now: () => Date.now(), baseUrl: sandbox.url });
    credentials = sandboxCredentials(name === 'provider_a' ? 'DE' : 'GH');
  });
  afterEach(async () => {
    await provider.close();
    await sandbox.stop();
    await merchant.stop();
  });

  const order = (more: Partial<CheckoutRequest> = {}) => orderOf(provider, PRICE[name], more);
  const open = () => openPage(provider, credentials, order());
  const verdicts = (): WebhookVerdict[] =>
    merchant.received.map(({ body, headers }) =>
      provider.verifyWebhook(credentials, Buffer.from(body), new Headers(headers)),
    );
  const eventKeys = (): string[] =>
    verdicts().map((verdict) => (verdict.kind === 'genuine' ? verdict.notice.eventKey : verdict.kind));
  const heard = (count: number) => expect.poll(() => merchant.received.length, { timeout: 8_000 }).toBe(count);
  const pagesAsked = (): number => sandbox.requests.filter(({ path }) => /sessions$|initialize$/.test(path)).length;
  const expected = (request: CheckoutRequest) => ({ ...request, references: [request.reference], livemode: false });

  test('gets its page all the same after one 5xx or 429, or says at once that it may be asked again', async () => {
    for (const refuseStatus of [500, 503, 429] as const) {
      Object.assign(sandbox.faults, { refuseStatus, refuseTimes: 1 });
      const request = order();
      const before = pagesAsked();
      if (name === 'provider_a') {
        // Its library repeats the call under the same idempotency key; a 429 it leaves to its caller.
        const made = provider.createCheckout(credentials, request);
        if (refuseStatus === 429) await expect(made).rejects.toMatchObject({ reason: 'rate_limited', status: 429 });
        else expect((await made).checkoutUrl).toContain('/pay/');
        expect(pagesAsked() - before).toBe(refuseStatus === 429 ? 1 : 2);
      } else {
        // Without such a key nobody but the caller, who keeps the references, may repeat it.
        const reason = refuseStatus === 429 ? 'rate_limited' : 'server_error';
        await expect(provider.createCheckout(credentials, request)).rejects.toMatchObject({ reason });
        expect(pagesAsked() - before).toBe(1);
      }
      expect((await provider.createCheckout(credentials, request)).checkoutUrl).toContain('/pay/');
    }
  });

  test('finds one page, and not two, after an answer that was lost on its way', async () => {
    for (const fault of ['resetAfterTimes', 'malformedTimes'] as const) {
      sandbox.faults[fault] = name === 'provider_a' ? 3 : 1;
      const request = order();
      const lost = provider.createCheckout(credentials, request);
      await expect(lost).rejects.toBeInstanceOf(PaymentProviderUnavailable);
      sandbox.faults[fault] = 0;
      if (name === 'provider_a') {
        const one = await provider.createCheckout(credentials, request);
        expect(await provider.createCheckout(credentials, request)).toEqual(one);
      } else {
        // The same reference is refused, the page behind it is there, and a second reference gets one of its own.
        const { attemptId, reference } = request;
        const again = provider.createCheckout(credentials, request);
        await expect(again).rejects.toMatchObject({ code: 'duplicate_reference' });
        expect((await provider.readCheckout(credentials, { reference, page: null })).kind).toBe('unpaid');
        const second = { reference: provider.referenceFor(attemptId, 2) };
        expect(await provider.createCheckout(credentials, { ...request, ...second })).toMatchObject(second);
      }
    }
  });

  test('gets a page for a call that is repeated much later than it was made first', async () => {
    const request = order({ createdAtMs: Date.now() - 40 * 60_000 });
    const one = await provider.createCheckout(credentials, request);
    const reference = provider.referenceFor(request.attemptId, 2);
    const two = await provider.createCheckout(credentials, { ...request, reference });
    expect([one, two].map(({ checkoutUrl }) => checkoutUrl.includes('/pay/'))).toEqual([true, true]);
    if (name === 'provider_a') expect(one).toEqual(two);
  });

  test('knows a refund that was made while its answer was lost, and pays no second one', async () => {
    const { page, request, read } = await open();
    await decide(page.checkoutUrl, 'pay');
    const refund = refundOf(request, paymentOf(await read()));
    sandbox.faults.malformedTimes = 3;
    await expect(provider.refund(credentials, refund)).rejects.toBeInstanceOf(PaymentProviderUnavailable);
    sandbox.faults.malformedTimes = 0;
    expect((await provider.refund(credentials, refund)).kind).toBe('refunded');
    expect((await read()).kind).toBe('reversed');
    if (name === 'provider_a') {
      const keys = sandbox.requests
        .filter(({ path }) => path === '/v1/refunds')
        .map(({ idempotencyKey }) => idempotencyKey);
      expect(new Set(keys)).toEqual(new Set([`refund-${refund.providerPaymentId}`]));
    }
  });

  test.each([
    ['amount', { paidAmount: 7 }],
    ['amount', { paidAmount: 10_000_000 }],
    ['currency', { paidCurrency: name === 'provider_a' ? 'eur' : 'USD' }],
  ] as const)('reads another %s as what it is, and it equals no price', async (mismatch, fault) => {
    const { page, request, read } = await open();
    Object.assign(sandbox.faults, fault);
    await decide(page.checkoutUrl, 'pay');
    expect(paymentMismatch(paymentOf(await read()), expected(request))).toBe(mismatch);
  });

  test('reads a payment that was taken late as money, with the time it was made', async () => {
    const { page, request, handle, read } = await open();
    sandboxAheadMs = HOUR_MS + 1_000;
    if (name === 'provider_a') {
      expect((await read()).kind).toBe('expired');
      expect((await provider.expireCheckout?.(credentials, handle))?.kind).toBe('expired');
    } else {
      expect((await read()).kind).toBe('unpaid');
    }
    sandbox.faults.payAfterExpiry = true;
    await decide(page.checkoutUrl, 'pay');
    const payment = paymentOf(await read());
    expect(paymentMismatch(payment, expected(request))).toBeNull();
    expect(payment.paidAtMs ?? 0).toBeGreaterThanOrEqual(request.createdAtMs + HOUR_MS);
  });

  test.each(['refund', 'dispute'] as const)('reads a %s by somebody else as money that went back', async (kind) => {
    const { page, request, read } = await open();
    await decide(page.checkoutUrl, 'pay');
    await sandbox.reverse(request.reference, kind);
    const state = await read();
    expect(state.kind).toBe('reversed');
    if (state.kind === 'reversed' && name === 'provider_a') expect(state.cause).toBe(kind);
    await heard(2);
    const last = verdicts().find((verdict) => verdict.kind === 'genuine' && verdict.notice.topic === kind);
    expect(last).toBeDefined();
  });

  test('recognises a message that comes before the answer to its own call, and which attempt it is about', async () => {
    sandbox.faults.payBeforeAnswer = true;
    const request = order();
    const answer = provider.createCheckout(credentials, request).then(() => merchant.received.length);
    expect(await answer).toBe(1);
    const [verdict] = verdicts();
    expect(verdict).toMatchObject({
      kind: 'genuine',
      notice: { topic: 'payment', attemptId: request.attemptId, reference: request.reference },
    });
  });

  test('gives a message that comes twice one key, and two messages two', async () => {
    sandbox.faults.webhooks = 'duplicate';
    await decide((await open()).page.checkoutUrl, 'pay');
    await heard(2);
    await decide((await open()).page.checkoutUrl, 'pay');
    await heard(4);
    const keys = eventKeys();
    expect(keys[0]).toBe(keys[1]);
    expect(keys[2]).toBe(keys[3]);
    expect(new Set(keys).size).toBe(2);
  });

  test('learns of a payment whose message was lost by asking, and of nothing else', async () => {
    sandbox.faults.webhooks = 'lost';
    const { page, read } = await open();
    await decide(page.checkoutUrl, 'pay');
    expect((await read()).kind).toBe('paid');
    sandbox.faults.webhooks = 'normal';
    await decide((await open()).page.checkoutUrl, 'pay');
    await heard(1);
  });

  test('takes late and swapped messages as genuine, whatever their order', async () => {
    Object.assign(sandbox.faults, { webhooks: 'late', lateMs: 1_500 });
    await decide((await open()).page.checkoutUrl, 'pay');
    expect(merchant.received).toHaveLength(0);
    await heard(1);
    Object.assign(sandbox.faults, { webhooks: 'reordered', lateMs: 60_000 });
    const [first, second] = [await open(), await open()];
    await decide(first.page.checkoutUrl, 'pay');
    await decide(second.page.checkoutUrl, 'pay');
    await heard(3);
    const attempts = verdicts().map((verdict) =>
      verdict.kind === 'genuine' ? verdict.notice.attemptId : verdict.kind,
    );
    expect(attempts.slice(1)).toEqual([second.request.attemptId, first.request.attemptId]);
  });

  test('hears of a payment in the end when its last message had none to be swapped with', async () => {
    Object.assign(sandbox.faults, { webhooks: 'reordered', lateMs: 50 });
    await decide((await open()).page.checkoutUrl, 'pay');
    await heard(1);
  });

  test('refuses a message with a wrong signature', async () => {
    sandbox.faults.webhooks = 'wrong_signature';
    await decide((await open()).page.checkoutUrl, 'pay');
    await heard(1);
    expect(verdicts()).toEqual([{ kind: 'forged', reason: 'signature' }]);
  });

  test('hears again of what its merchant could not take, under the same key', async () => {
    statuses.push(500, 503);
    await decide((await open()).page.checkoutUrl, 'pay');
    await heard(3);
    expect(new Set(eventKeys()).size).toBe(1);
  });
});
