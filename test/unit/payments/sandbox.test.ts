import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { NO_FAULTS } from '#sandbox/faults.ts';
import type { Sandbox } from '#sandbox/start-sandbox.ts';
import type { CheckoutRequest } from '#src/payment-providers/provider.ts';
import { createProviderA } from '#src/payment-providers/provider-a.ts';
import { createProviderB } from '#src/payment-providers/provider-b.ts';
import { decide } from '#test/harness/payments.ts';
import { startReceiver } from '#test/harness/receiver.ts';
import { orderOf, playBoth, sandboxCredentials, sessionOfA } from './asking.ts';

let folder: string;
let sandbox: Sandbox;

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'sandbox-'));
  sandbox = await playBoth({ stateFile: path.join(folder, 'sandbox.json') });
});
afterEach(async () => {
  await sandbox.stop();
  rmSync(folder, { recursive: true, force: true });
});

const referenceFor = (attemptId: string): string => attemptId.replace('_', '-');
const order = (more: Partial<CheckoutRequest>): CheckoutRequest =>
  orderOf({ referenceFor }, { amountMinor: 500, currency: 'usd' }, { returnUrl: undefined, ...more });
const openA = async (more: Partial<CheckoutRequest> = {}) => {
  const provider = createProviderA({ now: () => Date.now(), baseUrl: sandbox.url });
  return provider.createCheckout(sandboxCredentials('DE'), order({ returnUrl: 'https://shop.example/back', ...more }));
};
const openB = async (country: string, more: Partial<CheckoutRequest> = {}) => {
  const provider = createProviderB({ now: () => Date.now(), baseUrl: sandbox.url });
  const page = await provider.createCheckout(sandboxCredentials(country), order(more));
  await provider.close();
  return page;
};
const control = (method: string, name: string, body?: unknown, headers: Record<string, string> = {}) =>
  fetch(`${sandbox.url}/_sandbox/${name}`, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

describe('the sandbox, controlled over HTTP,', () => {
  test('switches some faults on, leaves the others, and all off again', async () => {
    const answer = await control('POST', 'faults', { webhooks: 'duplicate', paidAmount: 3 });
    expect(await answer.json()).toEqual({ data: { ...NO_FAULTS, webhooks: 'duplicate', paidAmount: 3 } });
    await control('POST', 'faults', { refuseRefunds: true });
    expect(sandbox.faults).toEqual({ ...NO_FAULTS, webhooks: 'duplicate', paidAmount: 3, refuseRefunds: true });
    await control('DELETE', 'faults');
    expect(await (await control('GET', 'faults')).json()).toEqual({ data: NO_FAULTS });
  });

  test('moves its clock on, so that pages expire', async () => {
    const page = await openA();
    expect((await control('POST', 'clock', { advanceMs: 3_601_000 })).status).toBe(200);
    expect(await (await fetch(page.checkoutUrl)).text()).toContain('This page has expired');
  });

  test('lists the requests that it got, and no key', async () => {
    await openA();
    const text = await (await control('GET', 'requests')).text();
    expect(JSON.parse(text).data).toMatchObject([{ provider: 'provider_a', path: '/v1/checkout/sessions' }]);
    expect(text).not.toContain('sk_test_sandbox_');
  });

  test('reverses a payment, and refuses to where there is none', async () => {
    const request = order({ returnUrl: 'https://shop.example/back' });
    const page = await openA(request);
    const body = { reference: request.reference, kind: 'refund' };
    expect((await control('POST', 'reversals', body)).status).toBe(409);
    await decide(page.checkoutUrl, 'pay');
    expect((await control('POST', 'reversals', body)).status).toBe(200);
  });

  test('sends the messages of an account where it is told to', async () => {
    const heard: string[] = [];
    const listener = await startReceiver((response, request) => {
      heard.push(request.url ?? '');
      response.end();
    });
    const credentials = sandboxCredentials('DE');
    const url = new URL('/messages', listener.url).href;
    await control('POST', 'webhooks', { secretKey: credentials.secretKey, url });
    const provider = createProviderA({ now: () => Date.now(), baseUrl: sandbox.url });
    const page = await provider.createCheckout(credentials, order({ returnUrl: 'https://shop.example/' }));
    await decide(page.checkoutUrl, 'pay');
    await expect.poll(() => heard).toEqual(['/messages']);
    await listener.stop();
  });

  test.each([
    ['faults', { webhooks: 'sometimes' }],
    ['faults', { nothing: true }],
    ['clock', { advanceMs: '1' }],
    ['webhooks', { secretKey: 'sk_live_real', url: 'http://127.0.0.1/' }],
    ['reversals', {}],
  ])('refuses what it does not understand: %s %o', async (name, body) => {
    expect((await control('POST', name, body)).status).toBe(400);
    expect(sandbox.faults).toEqual(NO_FAULTS);
  });

  test('cannot be reached by a web page: neither without JSON, nor under another name', async () => {
    const asForm = await fetch(`${sandbox.url}/_sandbox/faults`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: '{"refuseRefunds":true}',
    });
    expect(asForm.status).toBe(400);
    const status = await new Promise((resolve, reject) => {
      const options = { headers: { host: 'rebound.example' } };
      httpRequest(`${sandbox.url}/_sandbox/requests`, options, (answer) => resolve(answer.resume().statusCode))
        .on('error', reject)
        .end();
    });
    expect(status).toBe(400);
    expect(sandbox.faults).toEqual(NO_FAULTS);
  });
});

describe('the hosted page', () => {
  test('runs nothing, escapes everything, and is framed by nobody', async () => {
    const page = await openA({ title: '<script>alert(1)</script>"', description: "<img src=x onerror='1'>" });
    const answer = await fetch(page.checkoutUrl);
    const html = await answer.text();
    expect(html).not.toMatch(/<script|<img/);
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&quot;');
    expect(html).toContain('&lt;img src=x onerror=&#39;1&#39;&gt;');
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
  });

  test.each([
    ['usd', 123_450, 'USD 1,234.50'],
    ['jpy', 1_500, 'JPY 1,500'],
    ['isk', 1_500, 'ISK 1,500'],
    ['ugx', 25_000, 'UGX 25,000'],
    ['kwd', 1_234_500, 'KWD 1,234.500'],
  ])('of provider_a shows %s as payers know it', async (currency, amountMinor, text) => {
    const page = await openA({ currency, amountMinor });
    expect(await (await fetch(page.checkoutUrl)).text()).toContain(`<h1>${text}</h1>`);
  });

  test.each([
    ['NG', 'ngn', 50_000, 'NGN 500.00'],
    ['CI', 'xof', 1_500, 'XOF 1,500'],
    ['RW', 'rwf', 1_500, 'RWF 1,500'],
  ])('of provider_b in %s shows %s as payers know it', async (country, currency, amountMinor, text) => {
    const page = await openB(country, { currency, amountMinor });
    expect(await (await fetch(page.checkoutUrl)).text()).toContain(`<h1>${text}</h1>`);
  });

  test('of provider_b sends its payer back with its references, to the address as it was written', async () => {
    const request = order({ currency: 'ngn', amountMinor: 50_000, returnUrl: 'https://shop.example/b%61ck?a=x+y#z' });
    const page = await openB('NG', request);
    const { attemptId, reference } = request;
    expect(await decide(page.checkoutUrl, 'pay')).toBe(
      `https://shop.example/b%61ck?a=x+y&paymentAttemptId=${attemptId}&trxref=${reference}&reference=${reference}#z`,
    );
  });

  test('of provider_b has a last word for a payer whom nobody waits for', async () => {
    const page = await openB('NG', { currency: 'ngn', amountMinor: 50_000 });
    const back = await decide(page.checkoutUrl, 'pay');
    expect(await (await fetch(new URL(back, sandbox.url))).text()).toContain('You may close this page.');
  });

  test('takes one decision, and afterwards says which it was', async () => {
    const page = await openA();
    await decide(page.checkoutUrl, 'fail');
    await decide(page.checkoutUrl, 'pay');
    const html = await (await fetch(page.checkoutUrl)).text();
    expect(html).toContain('<h1>Declined</h1>');
    expect(html).toContain('href="https://shop.example/back?paymentAttemptId=');
    expect(html).not.toContain('<button');
  });

  test('refuses a decision that is none', async () => {
    const page = await openA();
    const answer = await fetch(page.checkoutUrl, { method: 'POST', body: new URLSearchParams({ outcome: 'steal' }) });
    expect(answer.status).toBe(400);
    expect((await fetch(`${sandbox.url}/pay/none`)).status).toBe(404);
  });
});

describe('the state of the sandbox', () => {
  test('outlives a restart', async () => {
    const page = await openA();
    const stateFile = path.join(folder, 'sandbox.json');
    await sandbox.stop();
    sandbox = await playBoth({ stateFile });
    const again = `${sandbox.url}${new URL(page.checkoutUrl).pathname}`;
    expect(await (await fetch(again)).text()).toContain('Pay USD 5.00');
  });

  test.each([
    ['cut short', '{"checkouts":[{"prov'],
    ['of another kind', '[]'],
  ])('is set aside when its file is %s, and keeps nothing from starting', async (_how, text) => {
    const stateFile = path.join(folder, 'broken.json');
    writeFileSync(stateFile, text);
    const other = await playBoth({ stateFile });
    expect(existsSync(stateFile)).toBe(false);
    expect(readFileSync(`${stateFile}.unreadable`, 'utf8')).toBe(text);
    await other.stop();
  });
});

describe('the APIs of the sandbox, where no published schema judges for them,', () => {
  const { secretKey } = sandboxCredentials('NG');
  const post = (at: string, body: string | URLSearchParams, type?: string) =>
    fetch(`${sandbox.url}${at}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secretKey}`, ...(type === undefined ? {} : { 'content-type': type }) },
      body,
    });
  const session = (more: Record<string, string | undefined> = {}): URLSearchParams =>
    new URLSearchParams(
      Object.entries({ ...sessionOfA('pay_1', 500), ...more }).filter(
        (entry): entry is [string, string] => entry[1] !== undefined,
      ),
    );

  test('take a page call of provider_a only as this project makes it', async () => {
    expect((await post('/v1/checkout/sessions', session())).status).toBe(200);
    for (const wrong of [
      { mode: 'subscription' },
      { 'payment_method_types[0]': 'card' },
      { 'line_items[0][price_data][unit_amount]': '5.5' },
      { 'line_items[0][price_data][currency]': 'USD' },
      { 'adaptive_pricing[enabled]': 'true' },
      { success_url: 'javascript:alert(1)' },
      { success_url: undefined },
      { expires_at: String(Math.floor(Date.now() / 1_000) + 60) },
      { expires_at: String(Math.floor(Date.now() / 1_000) + 2 * 86_400) },
    ]) {
      const answer = await post('/v1/checkout/sessions', session(wrong));
      expect([wrong, answer.status]).toEqual([wrong, 400]);
    }
  });

  test('take a page call of provider_b only as this project makes it', async () => {
    const right = { email: 'a@mail.example', amount: 50_000, currency: 'NGN', reference: 'pay-1.1', metadata: {} };
    const call = (body: unknown) => post('/transaction/initialize', JSON.stringify(body), 'application/json');
    expect((await call(right)).status).toBe(200);
    for (const wrong of [
      { reference: 'pay_1' },
      { reference: 'x'.repeat(101) },
      { email: '' },
      { amount: 0 },
      { amount: '500' },
      { amount: 1.5 },
      { currency: 'ngn' },
      { card: '4242' },
    ]) {
      const answer = await call({ ...right, reference: 'pay-2.1', ...wrong });
      expect([wrong, answer.status]).toEqual([wrong, 400]);
    }
    expect((await call(right)).status).toBe(400);
  });

  test('survive what is no request at all', async () => {
    expect((await post('/transaction/initialize', '{', 'application/json')).status).toBe(400);
    expect((await post('/v1/checkout/sessions', 'x'.repeat(300_000))).status).toBe(400);
    expect((await post('/refund', 'null', 'application/json')).status).toBe(400);
    const statusOf = async (at: string, headers = {}) => (await fetch(`${sandbox.url}${at}`, { headers })).status;
    const known = { authorization: `Bearer ${secretKey}` };
    expect(await statusOf('/transaction/verify/%E0%A4%A', known)).toBe(400);
    expect(await statusOf('/balance')).toBe(401);
    expect(await statusOf('/balance', known)).toBe(200);
  });
});

test.each([
  ['NG', 'ngn'],
  ['GH', 'ghs'],
  ['ZA', 'zar'],
  ['KE', 'kes'],
  ['CI', 'xof'],
  ['EG', 'egp'],
  ['RW', 'rwf'],
])('an account of provider_b in %s is one of that country, and takes %s', async (country, currency) => {
  const provider = createProviderB({ now: () => Date.now(), baseUrl: sandbox.url });
  const described = await provider.describeAccount(sandboxCredentials(country));
  expect(described.country).toBe(country);
  expect(described.supportedCurrencies).toContain(currency);
  await provider.close();
});
