import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestEvent, demand, visitor } from '#test/harness/elections.ts';
import { connectTestBusiness, type PaidTestService, startPaidTestService } from '#test/harness/payments.ts';
import { createTestAccount, type TestAccount, type TestService } from '#test/harness/test-service.ts';

let paid: PaidTestService;
let service: TestService;
let account: TestAccount;
beforeAll(async () => {
  paid = await startPaidTestService();
  service = paid.service;
  account = await createTestAccount(service);
});
afterAll(() => paid.stop());

test('a business in test mode is shown as one in the context and in attempts, and takes pages of the own machine', async () => {
  const poll = await createTestEvent(service, account, {}, [{ votingMethod: 'plurality', candidates: ['A', 'B'] }]);
  const context = async () =>
    demand(await service.call('GET', `/public/voting-events/${poll.id}`, undefined, { key: account.vote }), 200)
      .payments;
  const cast = () =>
    service.call(
      'POST',
      `/public/voting-events/${poll.id}/ballot/cast`,
      {
        visitorId: visitor(),
        votes: [{ positionId: poll.positions[0]?.id, candidateId: poll.positions[0]?.candidates[0] }],
        returnUrl: 'http://localhost:8080/paid',
        cancelUrl: 'http://127.0.0.1/back',
      },
      { key: account.vote },
    );
  expect((await context()).livemode).toBeNull();
  const refused = await cast();
  expect([refused.status, refused.body.error.details.field]).toEqual([422, 'returnUrl']);
  const business = await connectTestBusiness(service, account, 'provider_a');
  const path = `/voting-events/${poll.id}`;
  const linked = await service.call(
    'PUT',
    `${path}/payment-business`,
    { paymentBusinessId: business.id },
    {
      key: account.write,
    },
  );
  demand(linked, 200);
  const payments = { payToVote: { amountMinor: 500, currency: 'usd' } };
  demand(await service.call('PATCH', path, { payments }, { key: account.write }), 200);
  expect((await context()).livemode).toBe(false);
  const { paymentAttemptId } = demand(await cast(), 402);
  for (const [target, key] of [
    [`${path}/payments/${paymentAttemptId}`, account.read],
    [`/public${path}/payments/${paymentAttemptId}`, account.vote],
  ] as const)
    expect(demand(await service.call('GET', target, undefined, { key }), 200).livemode).toBe(false);
  demand(await service.call('PATCH', path, { payments: { payToVote: null } }, { key: account.write }), 200);
  expect((await service.call('DELETE', `${path}/payment-business`, undefined, { key: account.write })).status).toBe(
    204,
  );
  expect((await context()).livemode).toBeNull();
});
