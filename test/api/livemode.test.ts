import { expect, test } from 'vitest';
import { demand, visitor, votesFor } from '#test/harness/elections.ts';
import { connectTestBusiness, usePaidService } from '#test/harness/payments.ts';

const { service } = await usePaidService();
const account = await service.account();

test('a business in test mode is shown as one in the context and in attempts, and takes pages of the own machine', async () => {
  const poll = await account.event({}, [{ votingMethod: 'plurality', candidates: ['A', 'B'] }]);
  const context = async () =>
    demand(await service.call('GET', `/public/voting-events/${poll.id}`, undefined, { key: account.vote }), 200)
      .payments;
  const cast = () =>
    account.page(poll, 'ballot/cast', {
      visitorId: visitor(),
      votes: votesFor(poll),
      returnUrl: 'http://localhost:8080/paid',
      cancelUrl: 'http://127.0.0.1/back',
    });
  expect((await context()).livemode).toBeNull();
  const refused = await cast();
  expect([refused.status, refused.body.error.details.field]).toEqual([422, 'returnUrl']);
  const business = await connectTestBusiness(service, account, 'provider_a');
  const path = `/voting-events/${poll.id}`;
  const linked = await account.put(`${path}/payment-business`, { paymentBusinessId: business.id });
  demand(linked, 200);
  const payments = { payToVote: { amountMinor: 500, currency: 'usd' } };
  demand(await account.patch(path, { payments }), 200);
  expect((await context()).livemode).toBe(false);
  const { paymentAttemptId } = demand(await cast(), 402);
  for (const [target, key] of [
    [`${path}/payments/${paymentAttemptId}`, account.read],
    [`/public${path}/payments/${paymentAttemptId}`, account.vote],
  ] as const)
    expect(demand(await service.call('GET', target, undefined, { key }), 200).livemode).toBe(false);
  demand(await account.patch(path, { payments: { payToVote: null } }), 200);
  expect((await account.delete(`${path}/payment-business`)).status).toBe(204);
  expect((await context()).livemode).toBeNull();
});
