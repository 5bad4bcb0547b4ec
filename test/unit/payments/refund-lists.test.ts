import { expect, onTestFinished, test } from 'vitest';
import { type PaymentProvider, type RefundResult, summariseRefunds } from '#src/payment-providers/provider.ts';
import { createProviderA } from '#src/payment-providers/provider-a.ts';
import { createProviderB } from '#src/payment-providers/provider-b.ts';
import { startReceiver } from '#test/harness/receiver.ts';

/** A provider that has many refunds, of which the one that is looked for is the oldest, and that lists few at once. */
async function startProvider(answer: (url: URL) => [number, unknown], code = 'charge_already_refunded') {
  const asked: string[] = [];
  const server = await startReceiver((response, request) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    asked.push(`${request.method} ${url.pathname}`);
    const [status, body] =
      request.method === 'POST'
        ? [400, { status: false, message: 'No', code, error: { code, message: 'No' } }]
        : answer(url);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  onTestFinished(server.stop);
  return { baseUrl: new URL(server.url).origin, asked };
}

function connectB(baseUrl: string): PaymentProvider {
  const provider = createProviderB({ now, baseUrl });
  onTestFinished(() => provider.close());
  return provider;
}

const OWN = {
  ...{ attemptId: 'pay_ours', reference: 'ours.1', providerPaymentId: '5', sinceMs: 0 },
  isStillOwed: async () => true,
};
const now = () => 1_800_000_000_000;

test('provider_b finds a refund behind a thousand others, whatever size its provider gives a page', async () => {
  const others = Array.from({ length: 1_000 }, (_, index) => ({
    ...{ id: index + 10, status: 'processed', amount: 50_000, currency: 'NGN', transaction: index + 1_000 },
  }));
  const refunds = [...others, { id: 9, status: 'pending', amount: 50_000, currency: 'NGN', transaction: 5 }];
  const third = await startProvider((url) => {
    if (url.pathname === '/dispute') return [200, { status: true, message: 'ok', data: [] }];
    if (!url.pathname.startsWith('/refund')) {
      const data = { id: 5, status: 'success', reference: 'ours.1', amount: 50_000, currency: 'NGN', domain: 'test' };
      return [200, { status: true, message: 'ok', data }];
    }
    const begin = (Number(url.searchParams.get('page')) - 1) * 50;
    return [200, { status: true, message: 'ok', data: refunds.slice(begin, begin + 50) }];
  });
  const provider = connectB(third.baseUrl);
  const request = { ...OWN, amountMinor: 50_000, currency: 'ngn' };
  expect(await provider.refund({ secretKey: 'sk_test_x' }, request)).toMatchObject({ kind: 'pending', refundId: '9' });
});

test('provider_b takes no refund of another payment for its own, were all of them listed', async () => {
  const refundOf = (transaction: unknown) => ({ id: 9, status: 'processed', transaction });
  let listed: unknown[] = [];
  const payment = { id: 5, status: 'success', reference: 'ours.1', amount: 500, currency: 'NGN', domain: 'test' };
  const third = await startProvider((url) => {
    const data = url.pathname === '/dispute' ? [] : url.pathname.startsWith('/refund') ? listed : payment;
    return [200, { status: true, message: 'ok', data }];
  }, 'insufficient_balance');
  const provider = connectB(third.baseUrl);
  const request = { ...OWN, amountMinor: 50_000, currency: 'ngn' };
  const ask = async () => (await provider.refund({ secretKey: 'sk_test_x' }, request)).kind;
  listed = [refundOf(6), refundOf({ id: 7, reference: 'theirs.1' }), { id: 9, status: 'processed' }];
  expect(await ask()).toBe('refused');
  for (const own of [5, '5', { id: 5 }, { reference: 'ours.1' }]) {
    listed = [refundOf(6), refundOf(own)];
    expect(await ask()).toBe('refunded');
  }
});

test.each([
  [true, 2],
  [false, 1],
])(
  'provider_b is asked for the rest of a payment if that is still owed after the search: %s',
  async (isOwed, posts) => {
    const part = { id: 9, status: 'processed', amount: 100, currency: 'NGN', transaction: 5 };
    const payment = { id: 5, status: 'success', reference: 'ours.1', amount: 500, currency: 'NGN', domain: 'test' };
    const third = await startProvider((url) => {
      const data = url.pathname === '/dispute' ? [] : url.pathname.startsWith('/refund') ? [part] : payment;
      return [200, { status: true, message: 'ok', data }];
    });
    const request = { ...OWN, amountMinor: 500, currency: 'ngn', isStillOwed: async () => isOwed };
    expect((await connectB(third.baseUrl).refund({ secretKey: 'sk_test_x' }, request)).kind).toBe('refused');
    expect(third.asked.filter((call) => call === 'POST /refund')).toHaveLength(posts);
  },
);

test('provider_b ends a list that its provider gives whole, whatever page is asked for', async () => {
  const third = await startProvider(() => [200, { status: true, message: 'ok', data: [{ id: 1, transaction: 7 }] }]);
  const provider = connectB(third.baseUrl);
  const payment = { ...OWN, amountMinor: 50_000, currency: 'ngn' };
  expect(await provider.findRefunds({ secretKey: 'sk_test_x' }, payment)).toEqual({ whole: null, partMinor: 0 });
  expect(third.asked).toEqual(['GET /refund', 'GET /refund', 'GET /dispute', 'GET /dispute']);
});

test('provider_a finds the whole of a payment behind a page of parts that failed', async () => {
  const parts = Array.from({ length: 150 }, (_, index) => ({ id: `re_${index}`, status: 'failed', amount: 1 }));
  const whole = { id: 're_whole', status: 'pending', amount: 500 };
  const refunds = [...parts, whole].map((one) => ({ ...one, currency: 'usd' }));
  const third = await startProvider((url) => {
    const begin = refunds.findIndex(({ id }) => id === url.searchParams.get('starting_after')) + 1;
    const data = refunds.slice(begin, begin + 100);
    return [200, { object: 'list', data, has_more: begin + 100 < refunds.length }];
  });
  const provider = createProviderA({ now, baseUrl: third.baseUrl, maxNetworkRetries: 0 });
  const request = { ...OWN, providerPaymentId: 'pi_1', amountMinor: 500, currency: 'usd' };
  const refund = await provider.refund({ secretKey: 'sk_test_x' }, request);
  expect(refund).toMatchObject({ kind: 'pending', refundId: 're_whole' });
});

const one = (kind: RefundResult['kind'], amountMinor: number | null): RefundResult => ({
  ...{ kind, amountMinor, refundId: `${kind}-${amountMinor}`, code: null },
});
test.each<[string, RefundResult[], string | null, number]>([
  ['nothing', [], null, 0],
  ['the whole', [one('refunded', 100)], 'refunded', 0],
  ['the whole after a failure', [one('refused', 100), one('pending', 100)], 'pending', 0],
  ['only failures', [one('refused', 100)], 'refused', 0],
  ['one of unknown size', [one('refunded', null)], 'refunded', 0],
  ['more than was asked for', [one('refunded', 103)], 'refunded', 0],
  ['a part', [one('refunded', 40)], null, 40],
  ['a part under way', [one('pending', 40)], null, 0],
  ['parts that come to the whole', [one('refunded', 40), one('refunded', 60)], 'refunded', 0],
  ['the last part under way', [one('refunded', 40), one('pending', 60)], 'pending', 0],
  ['the last part waiting for the merchant', [one('refunded', 40), one('attention', 60)], 'attention', 0],
  ['a part, and a rest that failed', [one('refunded', 40), one('refused', 60)], 'refused', 40],
  ['a part, and a part that failed', [one('refunded', 40), one('refused', 10)], null, 40],
])('refunds of a payment of 100 that are %s', (_what, refunds, whole, partMinor) => {
  const found = summariseRefunds(refunds, 100);
  expect([found.whole?.kind ?? null, found.partMinor]).toEqual([whole, partMinor]);
});
