import { describe, expect, test } from 'vitest';
import { PLURALITY, visitor, votesFor } from '#test/harness/elections.ts';
import {
  checkoutUrlOf,
  connectTestBusiness,
  createPaidEvent,
  decide,
  type PaidEvent,
  PRICE,
  PROVIDERS,
  RETURN_URL,
  type TestProvider,
  usePaidService,
} from '#test/harness/payments.ts';
import { eventually, type TestAnswer } from '#test/harness/test-service.ts';

const { service, sandbox } = await usePaidService();

const ballotOf = (event: PaidEvent, visitorId = visitor()) => ({
  visitorId,
  email: 'payer@mail.example',
  votes: votesFor(event),
});

function publicCall(event: PaidEvent, method: string, path: string, body?: unknown, headers = {}): Promise<TestAnswer> {
  const target = `/public/voting-events/${event.id}${path}`;
  return service.call(method, target, body, { key: event.account.vote, headers });
}

const cast = (event: PaidEvent, body: unknown, headers = {}) =>
  publicCall(event, 'POST', '/ballot/cast', body, headers);
const finish = (event: PaidEvent, attempt: string, headers = {}) => cast(event, { paymentAttemptId: attempt }, headers);
const read = async (event: PaidEvent, attempt: string) =>
  (await publicCall(event, 'GET', `/payments/${attempt}`)).body.data;

async function begin(event: PaidEvent, body: object = ballotOf(event)): Promise<{ attempt: string; url: string }> {
  const answer = await cast(event, { ...body, returnUrl: RETURN_URL });
  expect(answer.status, JSON.stringify(answer.body)).toBe(402);
  return { attempt: answer.body.data.paymentAttemptId, url: checkoutUrlOf(answer) };
}

const untilStatus = (event: PaidEvent, attempt: string, status: string) =>
  eventually(async () => {
    const payment = await read(event, attempt);
    return payment.status === status ? payment : undefined;
  });

async function countBallots(event: PaidEvent): Promise<number> {
  const answer = await event.account.get(`/voting-events/${event.id}/results`);
  return answer.body.data.stats.ballots;
}

describe.each(PROVIDERS)('a vote paid through %s', (provider: TestProvider) => {
  test('asks for the money with the body of the contract, and counts after pay, second call and confirm', async () => {
    const event = await createPaidEvent(service, provider);
    const first = await cast(event, { ...ballotOf(event), returnUrl: RETURN_URL });
    expect(first.status).toBe(402);
    const { data } = first.body;
    expect(data).toEqual({
      paymentRequired: true,
      paymentAttemptId: expect.stringMatching(/^pay_/),
      amount: PRICE[provider].amountMinor / 100,
      currency: PRICE[provider].currency,
      provider,
      [provider]:
        provider === 'provider_a'
          ? { checkoutUrl: expect.any(String), checkoutSessionId: expect.any(String) }
          : { checkoutUrl: expect.any(String), accessCode: expect.any(String), reference: expect.any(String) },
      next: expect.any(String),
    });
    const attempt = data.paymentAttemptId;
    const waiting = await finish(event, attempt);
    expect(waiting.status).toBe(402);
    expect(waiting.body.data).toEqual({ ...data, status: 'pending' });

    const back = new URL(await decide(checkoutUrlOf(first), 'pay'));
    expect(back.searchParams.get('order')).toBe('7');
    expect(back.searchParams.get('paymentAttemptId')).toBe(attempt);
    expect(back.hash).toBe('#top');
    await untilStatus(event, attempt, 'succeeded');

    const second = await finish(event, attempt);
    expect(second.status, JSON.stringify(second.body)).toBe(201);
    expect(second.body.data).toEqual({ confirmationCode: expect.stringMatching(/^[0-9A-Z]{26}$/), votesCount: 1 });
    const again = await finish(event, attempt);
    expect(again.status).toBe(200);
    expect(again.body).toEqual(second.body);
    expect(await countBallots(event)).toBe(0);

    const { confirmationCode } = second.body.data;
    const own = await event.account.get(`/voting-events/${event.id}/payments/${attempt}`);
    // Cast and not confirmed yet: who reads the payment alone can finish the vote.
    expect(own.body.data.confirmationCode).toBe(confirmationCode);
    const payment = await read(event, attempt);
    expect(payment).toEqual({
      id: attempt,
      votingEventId: event.id,
      purpose: 'vote',
      status: 'fulfilled',
      provider,
      livemode: false,
      ...PRICE[provider],
      confirmationCode,
      createdAt: expect.any(Number),
      updatedAt: expect.any(Number),
      refundedAt: null,
      reversedAt: null,
    });
    const confirmed = await publicCall(event, 'POST', '/ballot/confirm', { confirmationCode });
    expect(confirmed.status).toBe(200);
    expect(await countBallots(event)).toBe(1);

    const organizer = await event.account.get(`/voting-events/${event.id}/payments/${attempt}`);
    const providerDetails = expect.objectContaining({ paymentId: expect.any(String), livemode: false });
    expect(organizer.body.data).toEqual({ ...payment, providerDetails, refund: null });
    const filter = 'status=fulfilled&purpose=vote';
    const list = await event.account.get(`/voting-events/${event.id}/payments?${filter}`);
    expect(list.body).toMatchObject({ data: [{ ...payment, confirmationCode: null }], nextCursor: null });
    const csv = await event.account.get(`/voting-events/${event.id}/payments/csv`);
    expect(String(csv.body)).toContain(attempt);
    expect(JSON.stringify([list.body, csv.body])).not.toContain(confirmationCode);
  });

  test('judges the ballot before it asks for money', async () => {
    const event = await createPaidEvent(service, provider);
    const votes = [{ positionId: event.positions[0]?.id, candidateId: 'cnd_nobody' }];
    const answer = await cast(event, { ...ballotOf(event), votes, returnUrl: RETURN_URL });
    expect(answer.status).toBe(422);
    expect(answer.body.error.details.field).toBe('votes[0].candidateId');
    const payments = await event.account.get(`/voting-events/${event.id}/payments`);
    expect(payments.body.data).toEqual([]);
  });

  test('ends as failed when the payer is declined, and gives nothing', async () => {
    const event = await createPaidEvent(service, provider);
    const { attempt, url } = await begin(event);
    await decide(url, 'fail');
    await untilStatus(event, attempt, 'failed');
    const answer = await finish(event, attempt);
    expect(answer.status).toBe(409);
    expect(answer.body.error.details.reason).toBe('payment_failed');
  });

  test('stays open when the payer goes back, and takes the payment later', async () => {
    const event = await createPaidEvent(service, provider);
    const { attempt, url } = await begin(event);
    await decide(url, 'cancel');
    expect((await finish(event, attempt)).status).toBe(402);
    await decide(url, 'pay');
    await untilStatus(event, attempt, 'succeeded');
    expect((await finish(event, attempt)).status).toBe(201);
  });

  test('is refunded once when its visitor has voted meanwhile', async () => {
    const event = await createPaidEvent(service, provider);
    const visitorId = visitor();
    const one = await begin(event, ballotOf(event, visitorId));
    const two = await begin(event, ballotOf(event, visitorId));
    for (const { url, attempt } of [one, two]) {
      await decide(url, 'pay');
      await untilStatus(event, attempt, 'succeeded');
    }
    const { confirmationCode } = (await finish(event, one.attempt)).body.data;
    await publicCall(event, 'POST', '/ballot/confirm', { confirmationCode });
    const second = await finish(event, two.attempt);
    expect(second.status).toBe(409);
    expect(second.body.error.details).toEqual({ reason: 'payment_cancelled', cause: 'already_voted' });
    const refunded = await eventually(async () => {
      const payment = await read(event, two.attempt);
      return payment.refundedAt === null ? undefined : payment;
    });
    expect(refunded.status).toBe('cancelled');
    expect(await countBallots(event)).toBe(1);
    expect(
      (await cast(event, { ...ballotOf(event, visitorId), returnUrl: RETURN_URL })).body.error.details.reason,
    ).toBe('already_voted');
  });

  test('is taken after the close when it was paid before, and not when it was paid after', async () => {
    const event = await createPaidEvent(service, provider);
    const before = await begin(event);
    const after = await begin(event);
    await decide(before.url, 'pay');
    await untilStatus(event, before.attempt, 'succeeded');
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await event.account.patch(`/voting-events/${event.id}`, { status: 'closed' });
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await decide(after.url, 'pay');
    await untilStatus(event, after.attempt, 'succeeded');
    const taken = await finish(event, before.attempt);
    expect(taken.status).toBe(201);
    const { confirmationCode } = taken.body.data;
    expect((await publicCall(event, 'POST', '/ballot/confirm', { confirmationCode })).status).toBe(200);
    const refused = await finish(event, after.attempt);
    expect(refused.status).toBe(409);
    expect(refused.body.error.details.cause).toBe('event_closed');
  });

  test('goes on where it stopped when the first call is repeated with its Idempotency-Key', async () => {
    const event = await createPaidEvent(service, provider);
    const body = { ...ballotOf(event), returnUrl: RETURN_URL };
    const headers = { 'Idempotency-Key': 'first-call' };
    sandbox.faults.resetAfterTimes = 10;
    const broken = await cast(event, body, headers);
    sandbox.faults.resetAfterTimes = 0;
    expect(broken.status).toBe(500);
    expect(broken.body.error.details.reason).toBe('payment_provider_unavailable');
    const first = await cast(event, body, headers);
    expect(first.status).toBe(402);
    const again = await cast(event, body, headers);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.body).toEqual(first.body);
    const list = await event.account.get(`/voting-events/${event.id}/payments`);
    expect(list.body.data).toHaveLength(1);
  });

  test('is voided by a refund at the provider while it waits for its confirmation', async () => {
    const event = await createPaidEvent(service, provider);
    const first = await cast(event, { ...ballotOf(event), returnUrl: RETURN_URL });
    const attempt = first.body.data.paymentAttemptId;
    await decide(checkoutUrlOf(first), 'pay');
    await untilStatus(event, attempt, 'succeeded');
    const { confirmationCode } = (await finish(event, attempt)).body.data;
    const reference = provider === 'provider_a' ? attempt : first.body.data.provider_b.reference;
    // The message of the payment is through: that of the refund is matched by what it names itself.
    await eventually(async () => {
      const waiting = 'SELECT 1 FROM provider_events WHERE processed_at IS NULL';
      return (await service.query(waiting)).length === 0 ? true : undefined;
    });
    await sandbox.reverse(reference, 'refund');
    await eventually(async () => ((await read(event, attempt)).reversedAt === null ? undefined : true));
    expect((await publicCall(event, 'POST', '/ballot/confirm', { confirmationCode })).status).toBe(404);
  });
});

test('a vote through provider_a needs a returnUrl, one through provider_b an e-mail address', async () => {
  const a = await createPaidEvent(service, 'provider_a');
  const withoutUrl = await cast(a, ballotOf(a));
  expect([withoutUrl.status, withoutUrl.body.error.details.field]).toEqual([422, 'returnUrl']);
  const b = await createPaidEvent(service, 'provider_b');
  const { email: _, ...withoutMail } = ballotOf(b);
  const answer = await cast(b, withoutMail);
  expect([answer.status, answer.body.error.details.field]).toEqual([422, 'email']);
  expect((await cast(b, ballotOf(b))).status).toBe(402);
});

test('a visitor begins at most ten checkouts an hour', async () => {
  const event = await createPaidEvent(service, 'provider_a');
  const body = { ...ballotOf(event), returnUrl: RETURN_URL };
  const statuses: number[] = [];
  for (let index = 0; index < 11; index += 1) statuses.push((await cast(event, body)).status);
  expect(statuses).toEqual([...Array.from({ length: 10 }, () => 402), 429]);
});

test('an unpaid page of provider_a ends its attempt when it expires', async () => {
  const event = await createPaidEvent(service, 'provider_a');
  const { attempt } = await begin(event);
  sandbox.advance(3_600_000);
  try {
    await untilStatus(event, attempt, 'cancelled');
  } finally {
    sandbox.advance(-3_600_000);
  }
  expect((await finish(event, attempt)).body.error.details.reason).toBe('payment_expired');
});

describe('pricing', () => {
  test('needs a linked business that takes the currency and the amount', async () => {
    const account = await service.account();
    const event = (await account.post('/voting-events', { title: 'A poll', type: 'poll' })).body.data;
    const price = (amountMinor: number, currency: string) =>
      account.patch(`/voting-events/${event.id}`, { payments: { payToVote: { amountMinor, currency } } });
    expect((await price(500, 'usd')).body.error.details.field).toBe('payments.payToVote');
    const { id } = await connectTestBusiness(service, account, 'provider_a');
    const path = `/voting-events/${event.id}/payment-business`;
    expect((await account.get(path)).status).toBe(404);
    const linked = await account.put(path, { paymentBusinessId: id });
    expect(linked.status).toBe(200);
    expect(linked.body.data).toEqual({
      id,
      provider: 'provider_a',
      displayName: 'The shop',
      country: 'US',
      ready: true,
      supportedCurrencies: expect.arrayContaining(['usd', 'jpy', 'kwd']),
    });
    expect((await account.get(path)).body).toEqual(linked.body);
    expect((await price(1, 'usd')).status).toBe(422);
    expect((await price(500, 'xxx')).status).toBe(422);
    expect((await price(1_555, 'kwd')).status).toBe(422);
    expect((await price(500, 'usd')).status).toBe(200);
    const unlink = await account.delete(path);
    expect([unlink.status, unlink.body.error.details.reason]).toEqual([409, 'paid_pricing_set']);
    await account.patch(`/voting-events/${event.id}`, { payments: { payToVote: null } });
    expect((await account.delete(path)).status).toBe(204);
    const list = await account.get('/payment-businesses');
    expect(list.body).toEqual({ data: [linked.body.data], nextCursor: null });
  });

  test("does not see another account's business", async () => {
    const account = await service.account();
    const other = await service.account();
    const { id } = await connectTestBusiness(service, other, 'provider_a');
    const event = (await account.post('/voting-events', { title: 'A poll', type: 'poll' })).body.data;
    const put = (paymentBusinessId: string) =>
      account.put(`/voting-events/${event.id}/payment-business`, { paymentBusinessId });
    const [theirs, nobodys] = [await put(id), await put('biz_nobody')];
    expect(theirs.status).toBe(404);
    expect({ ...theirs.body.error, requestId: '' }).toEqual({ ...nobodys.body.error, requestId: '' });
  });

  test('is a paid feature', async () => {
    const account = await service.account('free');
    const { id } = await connectTestBusiness(service, account, 'provider_a');
    const event = (await account.post('/voting-events', { title: 'A poll', type: 'poll' })).body.data;
    const path = `/voting-events/${event.id}/payment-business`;
    const answer = await account.put(path, { paymentBusinessId: id });
    expect([answer.status, answer.body.error.details]).toEqual([
      403,
      { reason: 'plan_feature', feature: 'paid_features' },
    ]);
  });
});

test.each(PROVIDERS)('a candidate pays through %s to stand', async (provider) => {
  const event = await createPaidEvent(service, provider, {
    candidate: { selfRegistration: true },
    payments: { payToRegisterCandidate: PRICE[provider] },
  });
  const body = {
    name: 'Cora',
    positionIds: [event.positions[0]?.id],
    email: 'cora@mail.example',
    returnUrl: RETURN_URL,
  };
  const register = (sent: unknown) => publicCall(event, 'POST', '/register/candidate', sent);
  expect((await register({ ...body, email: undefined })).body.error.details.field).toBe('email');
  const first = await register(body);
  expect(first.status, JSON.stringify(first.body)).toBe(402);
  const attempt = first.body.data.paymentAttemptId;
  expect((await finish(event, attempt)).status).toBe(404);
  await decide(checkoutUrlOf(first), 'pay');
  await untilStatus(event, attempt, 'succeeded');
  const second = await register({ paymentAttemptId: attempt });
  expect(second.status).toBe(201);
  expect(second.body.data).toEqual({
    id: expect.stringMatching(/^cnd_/),
    name: 'Cora',
    positionIds: body.positionIds,
    avatarUrl: null,
    status: 'pending',
  });
  const again = await register({ paymentAttemptId: attempt });
  expect([again.status, again.body]).toEqual([200, second.body]);
});

describe.each(PROVIDERS)('credits through %s', (provider) => {
  const { currency } = PRICE[provider];
  const position = (quadraticTopUp: unknown) => [
    {
      votingMethod: 'quadratic',
      candidates: ['Ada', 'Bea'],
      settings: { quadraticBaseCreditBudget: 100, quadraticTopUp },
    },
  ];
  const ratio = { pricingModel: 'ratio', currency, pricePerCreditMinor: 1_000, minCredits: 5, maxCredits: 200 };

  test('are bought one by one, spent with a ballot, and never more than there are', async () => {
    const event = await createPaidEvent(service, provider, { payments: {} }, position(ratio));
    const positionId = event.positions[0]?.id;
    const visitorId = visitor();
    const query = `?positionId=${positionId}&visitorId=${visitorId}`;
    const balance = async () => (await publicCall(event, 'GET', `/quadratic-credits${query}`)).body.data;
    const votes = [{ positionId, candidateId: event.positions[0]?.candidates[0], value: 11 }];
    const poor = await cast(event, { visitorId, votes });
    expect(poor.status).toBe(422);
    expect(poor.body.error.details).toMatchObject({
      field: 'votes',
      reason: 'insufficient_credits',
      positionId,
      required: 121,
      available: 100,
    });
    const options = await publicCall(event, 'GET', `/quadratic-credits/options${query}`);
    expect(options.body.data).toEqual({ positionId, visitorId, provider, ...ratio });

    const purchase = { positionId, visitorId, email: 'payer@mail.example', returnUrl: RETURN_URL };
    const buy = (body: unknown) => publicCall(event, 'POST', '/quadratic-credits/checkout', body);
    expect((await buy({ ...purchase, credits: 4 })).body.error.details.field).toBe('credits');
    expect((await buy({ ...purchase, tierId: 'x' })).status).toBe(422);
    const first = await buy({ ...purchase, credits: 21 });
    expect(first.status, JSON.stringify(first.body)).toBe(402);
    expect(first.body.data).toMatchObject({ credits: 21, pricingModel: 'ratio', amount: 210, currency });
    const attempt = first.body.data.paymentAttemptId;
    await decide(checkoutUrlOf(first), 'pay');
    await untilStatus(event, attempt, 'succeeded');
    const second = await buy({ paymentAttemptId: attempt });
    expect(second.status, JSON.stringify(second.body)).toBe(200);
    const bought = { positionId, visitorId, baseCredits: 100, purchasedCredits: 21, spentCredits: 0, heldCredits: 0 };
    expect(second.body.data).toEqual({ ...bought, availableCredits: 121 });

    const held = await cast(event, { visitorId, votes });
    expect(held.status).toBe(201);
    expect(await balance()).toEqual({ ...bought, heldCredits: 121, availableCredits: 0 });
    const replaced = await cast(event, { visitorId, votes: [{ ...votes[0], value: 10 }] });
    expect(await balance()).toEqual({ ...bought, heldCredits: 100, availableCredits: 21 });
    const { confirmationCode } = replaced.body.data;
    expect((await publicCall(event, 'POST', '/ballot/confirm', { confirmationCode })).status).toBe(200);
    expect(await balance()).toEqual({ ...bought, spentCredits: 100, availableCredits: 21 });
    expect((await buy({ paymentAttemptId: attempt })).body).toEqual(second.body);
  });

  test('are bought in tiers, and go back with their money', async () => {
    const tiers = [
      { id: 'small', label: 'Small', credits: 10, amountMinor: 20_000 },
      { id: 'large', label: 'Large', credits: 50, amountMinor: 80_000 },
    ];
    const topUp = { pricingModel: 'tiered', currency, tiers };
    const event = await createPaidEvent(service, provider, { payments: {} }, position(topUp));
    const positionId = event.positions[0]?.id;
    const visitorId = visitor();
    const query = `?positionId=${positionId}&visitorId=${visitorId}`;
    const options = await publicCall(event, 'GET', `/quadratic-credits/options${query}`);
    expect(options.body.data.tiers).toEqual([
      { ...tiers[0], amount: 200 },
      { ...tiers[1], amount: 800 },
    ]);
    const purchase = { positionId, visitorId, email: 'payer@mail.example', returnUrl: RETURN_URL, tierId: 'large' };
    const buy = (body: unknown) => publicCall(event, 'POST', '/quadratic-credits/checkout', body);
    const first = await buy(purchase);
    const attempt = first.body.data.paymentAttemptId;
    await decide(checkoutUrlOf(first), 'pay');
    await untilStatus(event, attempt, 'succeeded');
    expect((await buy({ paymentAttemptId: attempt })).body.data.availableCredits).toBe(150);
    const votes = [{ positionId, candidateId: event.positions[0]?.candidates[0], value: 11 }];
    const { confirmationCode } = (await cast(event, { visitorId, votes })).body.data;
    const reference = provider === 'provider_a' ? attempt : first.body.data.provider_b.reference;
    await sandbox.reverse(reference, 'dispute');
    await eventually(async () => ((await read(event, attempt)).reversedAt === null ? undefined : true));
    const balance = (await publicCall(event, 'GET', `/quadratic-credits${query}`)).body.data;
    expect(balance).toMatchObject({ purchasedCredits: 0, heldCredits: 0, availableCredits: 100 });
    expect((await publicCall(event, 'POST', '/ballot/confirm', { confirmationCode })).status).toBe(404);
  });
});

test('repeat votes let one visitor pay for and confirm any number of ballots', async () => {
  const payments = { payToVote: PRICE.provider_a, repeatVotes: true };
  const event = await createPaidEvent(service, 'provider_a', { payments }, PLURALITY);
  const visitorId = visitor();
  const attempts = [await begin(event, ballotOf(event, visitorId)), await begin(event, ballotOf(event, visitorId))];
  const codes: string[] = [];
  for (const { attempt, url } of attempts) {
    await decide(url, 'pay');
    await untilStatus(event, attempt, 'succeeded');
    codes.push((await finish(event, attempt)).body.data.confirmationCode);
  }
  for (const confirmationCode of codes)
    expect((await publicCall(event, 'POST', '/ballot/confirm', { confirmationCode })).status).toBe(200);
  expect(await countBallots(event)).toBe(2);
});
