import { randomBytes } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { paymentDeps } from '#src/fulfilments.ts';
import type { ProviderName } from '#src/payment-providers/registered.ts';
import { connectBusiness } from '#src/payments/connect-business.ts';
import { sweepPayments } from '#src/payments/sweep-payments.ts';
import { demand } from '#test/harness/answers.ts';
import { PLURALITY, type TestEvent, visitor, votesFor } from '#test/harness/elections.ts';
import { decide } from '#test/harness/payments.ts';
import { eventually, type TestAccount, untilTrue, useService } from '#test/harness/test-service.ts';
import { startThirdProvider } from '#test/harness/third-provider.ts';
import { use } from '#test/harness/use.ts';

// The one line of registration that a third provider needs. Nothing else of the service knows of it.
vi.mock('#src/payment-providers/registration.ts', async (importOriginal) => {
  const { PROVIDERS } = await importOriginal<typeof import('#src/payment-providers/registration.ts')>();
  const { PROVIDER_C } = await import('#test/harness/third-provider.ts');
  return { PROVIDERS: { ...PROVIDERS, provider_c: PROVIDER_C } };
});
const NAME = 'provider_c' as ProviderName;
const PRICE = { amountMinor: 700, currency: 'eur' };

const third = await use(startThirdProvider());
const service = await useService({ environment: { PROVIDER_C_API_URL: third.url } });

interface Poll {
  readonly account: TestAccount;
  readonly event: TestEvent;
}

async function createPoll(): Promise<Poll> {
  const account = await service.account();
  const id = service.deps.ids.sortable('biz');
  const secretKey = `sk_test_third_${randomBytes(8).toString('hex')}`;
  const connection = { id, accountId: account.id, displayName: 'The third', country: 'FR' };
  const credentials = { secretKey };
  await connectBusiness(service.deps, { ...connection, provider: NAME, sandbox: false, test: true, credentials });
  third.sendTo(`${service.url}/provider-webhooks/${NAME}/${id}`, secretKey);
  const event = await account.event({ title: 'A paid poll' }, PLURALITY, true, async (eventId) => {
    const target = `/voting-events/${eventId}`;
    demand(await account.put(`${target}/payment-business`, { paymentBusinessId: id }), 200);
    await account.change(target, { payments: { payToVote: PRICE } });
  });
  return { account, event };
}

const post = ({ account, event }: Poll, path: string, body: object) => account.page(event, `ballot/${path}`, body);

async function begin(poll: Poll, visitorId = visitor()) {
  // It needs neither an e-mail address nor an address to come back to.
  const data = demand(await post(poll, 'cast', { visitorId, votes: votesFor(poll.event) }), 402);
  expect(data).toMatchObject({ provider: NAME, amount: 7, currency: 'eur' });
  expect(data[NAME]).toEqual({ checkoutUrl: expect.stringContaining(third.url), order: expect.any(String) });
  return { attempt: String(data.paymentAttemptId), url: String(data[NAME].checkoutUrl) };
}

const paymentsOf = ({ account, event }: Poll) => account.of(event).show('/payments');

test('a provider that is registered by one line takes a vote from the first call to the confirmation', async () => {
  const poll = await createPoll();
  const { attempt, url } = await begin(poll);
  await decide(url, 'pay');
  const data = demand(await post(poll, 'cast', { paymentAttemptId: attempt }), 201);
  demand(await post(poll, 'confirm', { confirmationCode: data.confirmationCode }), 200);
  expect(await paymentsOf(poll)).toMatchObject([
    { status: 'fulfilled', provider: NAME, livemode: false, ...PRICE, refund: null },
  ]);
});

test('its message alone settles a payment', async () => {
  const poll = await createPoll();
  const { url } = await begin(poll);
  await decide(url, 'pay');
  await untilTrue(async () => (await paymentsOf(poll))[0].status === 'succeeded');
});

test('its second payment of one visitor goes back, and what its merchant gives back voids the vote', async () => {
  const poll = await createPoll();
  const visitorId = visitor();
  const begun = [await begin(poll, visitorId), await begin(poll, visitorId)];
  for (const { url } of begun) await decide(url, 'pay');
  const [kept, spare] = begun.map(({ attempt }) => attempt);
  const cast = demand(await post(poll, 'cast', { paymentAttemptId: kept }), 201);
  demand(await post(poll, 'confirm', { confirmationCode: cast.confirmationCode }), 200);
  expect((await post(poll, 'cast', { paymentAttemptId: spare })).status).toBe(409);
  const refunded = await eventually(async () =>
    (await paymentsOf(poll)).find((one: { id: string; refundedAt: number | null }) => one.refundedAt !== null),
  );
  expect(refunded).toMatchObject({ id: spare, refund: { status: 'refunded', amountMinor: PRICE.amountMinor } });

  const order = (await paymentsOf(poll)).find((one: { id: string }) => one.id === kept).providerDetails.paymentId;
  const headers = { authorization: 'sk_test_third_any' };
  await fetch(`${third.url}/return`, { method: 'POST', headers, body: JSON.stringify({ order }) });
  await sweepPayments(paymentDeps(service.deps));
  const reversed = (await paymentsOf(poll)).find((one: { id: string }) => one.id === kept);
  expect(reversed).toMatchObject({ status: 'fulfilled', reversedAt: expect.any(Number) });
});

test('a price that it does not take is refused by its own rules', async () => {
  const { account, event } = await createPoll();
  const answer = await account.of(event).patch('', { payments: { payToVote: { amountMinor: 750, currency: 'eur' } } });
  expect([answer.status, JSON.stringify(answer.body)]).toEqual([422, expect.stringContaining('multiple of 100')]);
});
