import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sandboxKey, sandboxWebhookSecret } from '#sandbox/sandbox-keys.ts';
import { type Sandbox, startSandbox } from '#sandbox/start-sandbox.ts';
import {
  type CheckoutPage,
  type CheckoutRequest,
  type PaymentProvider,
  PaymentProviderUnavailable,
  type ProviderCredentials,
  paymentMismatch,
  type WebhookVerdict,
} from '#src/payment-providers/provider.ts';
import { createProviderA } from '#src/payment-providers/provider-a.ts';
import { createProviderB } from '#src/payment-providers/provider-b.ts';
import { decide, PRICE, PROVIDERS, publishedSchemas } from '#test/harness/payments.ts';

const HOUR_MS = 3_600_000;
const judge = publishedSchemas();

interface Message {
  readonly body: Buffer;
  readonly headers: Headers;
}

/** A merchant that keeps every message to the byte. @param statuses what it answers first; then 200 */
async function startMerchant(statuses: number[] = []) {
  const messages: Message[] = [];
  const server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    messages.push({ body: Buffer.concat(chunks), headers: new Headers(request.headers as Record<string, string>) });
    response.writeHead(statuses.shift() ?? 200).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, messages, statuses, stop };
}

/** What goes wrong at a provider, and what each adapter makes of it, over real HTTP. */
describe.each(PROVIDERS)('the adapter of %s, when its provider misbehaves,', (name) => {
  let sandbox: Sandbox;
  let provider: PaymentProvider;
  let credentials: ProviderCredentials;
  let merchant: Awaited<ReturnType<typeof startMerchant>>;
  let sandboxAheadMs: number;

  beforeEach(async () => {
    sandboxAheadMs = 0;
    sandbox = await startSandbox({
      production: false,
      now: () => Date.now() + sandboxAheadMs,
      webhookTarget: () => merchant.url,
      ...(judge === undefined ? {} : { judge }),
    });
    merchant = await startMerchant();
    provider =
      name === 'provider_a'
        ? createProviderA({ now: () => Date.now(), baseUrl: sandbox.url })
        : createProviderB({ now: () => Date.now(), baseUrl: sandbox.url });
    const secretKey = sandboxKey('biz_test', name === 'provider_a' ? 'DE' : 'GH', randomBytes(16).toString('hex'));
    credentials = { secretKey, webhookSecret: sandboxWebhookSecret(secretKey) };
  });
  afterEach(async () => {
    await provider.close();
    await sandbox.stop();
    await merchant.stop();
  });

  const order = (more: Partial<CheckoutRequest> = {}): CheckoutRequest => {
    const attemptId = `pay_${randomBytes(8).toString('hex')}`;
    return {
      attemptId,
      reference: provider.referenceFor(attemptId, 1),
      ...PRICE[name],
      title: 'A vote',
      email: 'payer@mail.example',
      returnUrl: 'https://shop.example/back',
      createdAtMs: Date.now(),
      ...more,
    };
  };
  const handleOf = (page: CheckoutPage, reference: string) => ({ reference, page });
  const open = async () => {
    const request = order();
    const page = await provider.createCheckout(credentials, request);
    const handle = handleOf(page, request.reference);
    return { request, page, handle, read: () => provider.readCheckout(credentials, handle) };
  };
  const verdicts = (): WebhookVerdict[] =>
    merchant.messages.map(({ body, headers }) => provider.verifyWebhook(credentials, body, headers));
  const eventKeys = (): string[] =>
    verdicts().map((verdict) => (verdict.kind === 'genuine' ? verdict.notice.eventKey : verdict.kind));
  const heard = (count: number) => expect.poll(() => merchant.messages.length, { timeout: 8_000 }).toBe(count);
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
        const [one, two] = [
          await provider.createCheckout(credentials, request),
          await provider.createCheckout(credentials, request),
        ];
        expect(one).toEqual(two);
      } else {
        // The same reference is refused, the page behind it is there, and a second reference gets one of its own.
        await expect(provider.createCheckout(credentials, request)).rejects.toMatchObject({
          code: 'duplicate_reference',
        });
        expect((await provider.readCheckout(credentials, { reference: request.reference, page: null })).kind).toBe(
          'unpaid',
        );
        const second = provider.referenceFor(request.attemptId, 2);
        expect(await provider.createCheckout(credentials, { ...request, reference: second })).toMatchObject({
          reference: second,
        });
      }
    }
  });

  test('gets a page for a call that is repeated much later than it was made first', async () => {
    const request = order({ createdAtMs: Date.now() - 40 * 60_000 });
    const [one, two] = [
      await provider.createCheckout(credentials, request),
      await provider.createCheckout(credentials, {
        ...request,
        reference: provider.referenceFor(request.attemptId, 2),
      }),
    ];
    expect([one, two].map(({ checkoutUrl }) => checkoutUrl.includes('/pay/'))).toEqual([true, true]);
    if (name === 'provider_a') expect(one).toEqual(two);
  });

  test('knows a refund that was made while its answer was lost, and pays no second one', async () => {
    const { page, request, read } = await open();
    await decide(page.checkoutUrl, 'pay');
    const state = await read();
    if (state.kind !== 'paid') throw new Error('not paid');
    const { providerPaymentId } = state.payment;
    const refund = {
      attemptId: request.attemptId,
      reference: request.reference,
      providerPaymentId,
      sinceMs: 0,
      ...PRICE[name],
    };
    sandbox.faults.malformedTimes = 3;
    await expect(provider.refund(credentials, refund)).rejects.toBeInstanceOf(PaymentProviderUnavailable);
    sandbox.faults.malformedTimes = 0;
    expect((await provider.refund(credentials, refund)).kind).toBe('refunded');
    expect((await read()).kind).toBe('reversed');
    if (name === 'provider_a') {
      const keys = sandbox.requests
        .filter(({ path }) => path === '/v1/refunds')
        .map(({ idempotencyKey }) => idempotencyKey);
      expect(new Set(keys)).toEqual(new Set([`refund-${providerPaymentId}`]));
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
    const state = await read();
    if (state.kind !== 'paid') throw new Error('not paid');
    expect(paymentMismatch(state.payment, expected(request))).toBe(mismatch);
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
    const state = await read();
    if (state.kind !== 'paid') throw new Error('not paid');
    expect(paymentMismatch(state.payment, expected(request))).toBeNull();
    expect(state.payment.paidAtMs ?? 0).toBeGreaterThanOrEqual(request.createdAtMs + HOUR_MS);
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
    const answer = provider.createCheckout(credentials, request).then(() => merchant.messages.length);
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
    expect(merchant.messages).toHaveLength(0);
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
    merchant.statuses.push(500, 503);
    await decide((await open()).page.checkoutUrl, 'pay');
    await heard(3);
    expect(new Set(eventKeys()).size).toBe(1);
  });
});
