import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { demand, fieldOf, refusalOf } from '#test/harness/answers.ts';
import { visitor, votesFor } from '#test/harness/elections.ts';
import {
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
import { untilTrue } from '#test/harness/test-service.ts';

const { service, sandbox, poll } = await usePaidService();

/** A payment as the page of its payer sees it. */
const read = async (event: PaidEvent, attempt: string) => demand(await event.page(`payments/${attempt}`), 200);
const untilStatus = (event: PaidEvent, attempt: string, status: string) =>
  untilTrue(async () => (await read(event, attempt)).status === status);

interface Begun {
  readonly attempt: string;
  readonly url: string;
}
async function payFor(event: PaidEvent, { attempt, url }: Begun): Promise<void> {
  await decide(url, 'pay');
  await untilStatus(event, attempt, 'succeeded');
}

/** What a payer sends who has all that any provider asks for. */
const payer = (visitorId = visitor()) => ({ visitorId, email: 'payer@mail.example', returnUrl: RETURN_URL });

const confirm = async (event: PaidEvent, confirmationCode: string): Promise<number> =>
  (await event.page('ballot/confirm', { confirmationCode })).status;
const countBallots = async (event: PaidEvent): Promise<number> => (await event.show('/results')).stats.ballots;

describe.each(PROVIDERS)('a vote paid through %s', (provider: TestProvider) => {
  test('asks for the money with the body of the contract, and counts after pay, second call and confirm', async () => {
    const event = await poll(provider);
    const { attempt, url, data } = await event.begin();
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
    expect(demand(await event.cast(attempt), 402)).toEqual({ ...data, status: 'pending' });

    const back = new URL(await decide(url, 'pay'));
    expect(back.searchParams.get('order')).toBe('7');
    expect(back.searchParams.get('paymentAttemptId')).toBe(attempt);
    expect(back.hash).toBe('#top');
    await untilStatus(event, attempt, 'succeeded');

    const second = demand(await event.cast(attempt), 201);
    expect(second).toEqual({ confirmationCode: expect.stringMatching(/^[0-9A-Z]{26}$/), votesCount: 1 });
    expect(demand(await event.cast(attempt), 200)).toEqual(second);
    expect(await countBallots(event)).toBe(0);

    const { confirmationCode } = second;
    // Cast and not confirmed yet: who reads the payment alone can finish the vote.
    expect((await event.payment(attempt)).confirmationCode).toBe(confirmationCode);
    const payment = await read(event, attempt);
    expect(payment).toEqual({
      ...{ id: attempt, votingEventId: event.id, purpose: 'vote', status: 'fulfilled', provider, livemode: false },
      ...{ ...PRICE[provider], confirmationCode, createdAt: expect.any(Number), updatedAt: expect.any(Number) },
      ...{ refundedAt: null, reversedAt: null },
    });
    expect(await confirm(event, confirmationCode)).toBe(200);
    expect(await countBallots(event)).toBe(1);

    const providerDetails = expect.objectContaining({ paymentId: expect.any(String), livemode: false });
    expect(await event.payment(attempt)).toEqual({
      ...{ ...payment, providerDetails, refund: null },
      ...{ endReason: null, paidMinor: PRICE[provider].amountMinor, attention: false },
    });
    const path = `/voting-events/${event.id}/payments`;
    const list = await event.account.get(`${path}?status=fulfilled&purpose=vote`);
    const { confirmationCode: _code, ...listed } = payment;
    expect(list.body).toMatchObject({ data: [listed], nextCursor: null });
    expect(list.body.data[0]).not.toHaveProperty('confirmationCode');
    const csv = await event.account.get(`${path}/csv`);
    expect(String(csv.body)).toContain(attempt);
    expect(JSON.stringify([list.body, csv.body])).not.toContain(confirmationCode);
  });

  test('judges the ballot before it asks for money', async () => {
    const event = await poll(provider);
    const votes = [{ positionId: event.positions[0]?.id, candidateId: 'cnd_nobody' }];
    expect(fieldOf(await event.page('ballot/cast', { ...payer(), votes }))).toEqual([422, 'votes[0].candidateId']);
    expect(await event.show('/payments')).toEqual([]);
  });

  test('ends as failed when the payer is declined, and gives nothing', async () => {
    const event = await poll(provider);
    const { attempt, url } = await event.begin();
    await decide(url, 'fail');
    await untilStatus(event, attempt, 'failed');
    expect(refusalOf(await event.cast(attempt))).toEqual([409, 'payment_failed']);
  });

  test('stays open when the payer goes back, and takes the payment later', async () => {
    const event = await poll(provider);
    const begun = await event.begin();
    await decide(begun.url, 'cancel');
    demand(await event.cast(begun.attempt), 402);
    await payFor(event, begun);
    demand(await event.cast(begun.attempt), 201);
  });

  test('is refunded once when its visitor has voted meanwhile', async () => {
    const event = await poll(provider);
    const visitorId = visitor();
    const [one, two] = [await event.begin({ visitorId }), await event.begin({ visitorId })];
    for (const begun of [one, two]) await payFor(event, begun);
    await confirm(event, await event.castCode(one.attempt));
    const second = await event.cast(two.attempt);
    expect(second.status).toBe(409);
    expect(second.body.error.details).toEqual({ reason: 'payment_cancelled', cause: 'already_voted' });
    await untilTrue(async () => (await read(event, two.attempt)).refundedAt !== null);
    expect((await read(event, two.attempt)).status).toBe('cancelled');
    expect(await countBallots(event)).toBe(1);
    const again = await event.page('ballot/cast', { ...payer(visitorId), votes: votesFor(event) });
    expect(again.body.error.details.reason).toBe('already_voted');
  });

  test('is taken after the close when it was paid before, and not when it was paid after', async () => {
    const event = await poll(provider);
    const [before, after] = [await event.begin(), await event.begin()];
    await payFor(event, before);
    await pause(1_100);
    await event.change({ status: 'closed' });
    await pause(1_100);
    await payFor(event, after);
    expect(await confirm(event, await event.castCode(before.attempt))).toBe(200);
    const refused = await event.cast(after.attempt);
    expect([refused.status, refused.body.error.details.cause]).toEqual([409, 'event_over']);
  });

  test('goes on where it stopped when the first call is repeated with its Idempotency-Key', async () => {
    const event = await poll(provider);
    const body = { ...payer(), votes: votesFor(event) };
    const cast = () => event.account.page(event, 'ballot/cast', body, { 'Idempotency-Key': 'first-call' });
    sandbox.faults.resetAfterTimes = 10;
    const broken = await cast();
    sandbox.faults.resetAfterTimes = 0;
    expect(refusalOf(broken)).toEqual([500, 'payment_provider_unavailable']);
    const first = await cast();
    expect(first.status).toBe(402);
    const again = await cast();
    expect([again.headers.get('idempotent-replayed'), again.body]).toEqual(['true', first.body]);
    expect(await event.show('/payments')).toHaveLength(1);
  });

  test('is voided by a refund at the provider while it waits for its confirmation', async () => {
    const event = await poll(provider);
    const begun = await event.begin();
    await payFor(event, begun);
    const confirmationCode = await event.castCode(begun.attempt);
    const reference = provider === 'provider_a' ? begun.attempt : begun.data.provider_b.reference;
    // The message of the payment is through: that of the refund is matched by what it names itself.
    const waiting = 'SELECT 1 FROM provider_events WHERE processed_at IS NULL';
    await untilTrue(async () => (await service.query(waiting)).length === 0);
    await sandbox.reverse(reference, 'refund');
    await untilTrue(async () => (await read(event, begun.attempt)).reversedAt !== null);
    expect(await confirm(event, confirmationCode)).toBe(404);
  });
});

test('a vote through provider_a needs a returnUrl, one through provider_b an e-mail address', async () => {
  const ask = async (provider: TestProvider, missing: string) => {
    const event = await poll(provider);
    const { [missing]: _, ...rest } = { ...payer(), votes: votesFor(event) } as Record<string, unknown>;
    return event.page('ballot/cast', rest);
  };
  expect(fieldOf(await ask('provider_a', 'returnUrl'))).toEqual([422, 'returnUrl']);
  expect(fieldOf(await ask('provider_b', 'email'))).toEqual([422, 'email']);
  expect((await ask('provider_b', 'returnUrl')).status).toBe(402);
});

test('a visitor begins at most ten checkouts an hour', async () => {
  const event = await poll('provider_a');
  const body = { ...payer(), votes: votesFor(event) };
  for (let index = 0; index < 10; index += 1) demand(await event.page('ballot/cast', body), 402);
  expect((await event.page('ballot/cast', body)).status).toBe(429);
});

test('an unpaid page of provider_a ends its attempt when it expires', async () => {
  const event = await poll('provider_a');
  const { attempt } = await event.begin();
  sandbox.advance(3_600_000);
  try {
    await untilStatus(event, attempt, 'cancelled');
  } finally {
    sandbox.advance(-3_600_000);
  }
  expect((await event.cast(attempt)).body.error.details.reason).toBe('payment_expired');
});

describe('pricing', () => {
  async function prepare(plan?: 'free') {
    const account = await service.account(plan);
    const { id } = await account.make('/voting-events', { title: 'A poll', type: 'poll' });
    const path = `/voting-events/${id}/payment-business`;
    const link = (paymentBusinessId: string) => account.put(path, { paymentBusinessId });
    const price = (payToVote: object | null) => account.patch(`/voting-events/${id}`, { payments: { payToVote } });
    return { account, path, link, price };
  }

  test('needs a linked business that takes the currency and the amount', async () => {
    const { account, path, link, price } = await prepare();
    expect((await price({ amountMinor: 500, currency: 'usd' })).body.error.details.field).toBe('payments.payToVote');
    const { id } = await connectTestBusiness(service, account, 'provider_a');
    expect((await account.get(path)).status).toBe(404);
    const linked = demand(await link(id), 200);
    expect(linked).toEqual({
      ...{ id, provider: 'provider_a', displayName: 'The shop', country: 'US', ready: true, livemode: false },
      supportedCurrencies: expect.arrayContaining(['usd', 'jpy', 'kwd']),
    });
    expect((await account.get(path)).body).toEqual({ data: linked });
    for (const [amountMinor, currency, status] of [
      [1, 'usd', 422],
      [500, 'xxx', 422],
      [1_555, 'kwd', 422],
      [500, 'usd', 200],
    ] as const)
      expect([currency, (await price({ amountMinor, currency })).status]).toEqual([currency, status]);
    expect(refusalOf(await account.delete(path))).toEqual([409, 'paid_pricing_set']);
    await price(null);
    expect((await account.delete(path)).status).toBe(204);
    expect((await account.get('/payment-businesses')).body).toEqual({ data: [linked], nextCursor: null });
  });

  test("does not see another account's business", async () => {
    const { link } = await prepare();
    const { id } = await connectTestBusiness(service, await service.account(), 'provider_a');
    const [theirs, nobodys] = [await link(id), await link('biz_nobody')];
    expect(theirs.status).toBe(404);
    expect({ ...theirs.body.error, requestId: '' }).toEqual({ ...nobodys.body.error, requestId: '' });
  });

  test('is a paid feature', async () => {
    const { account, link } = await prepare('free');
    const { status, body } = await link((await connectTestBusiness(service, account, 'provider_a')).id);
    expect([status, body.error.details]).toEqual([403, { reason: 'plan_feature', feature: 'paid_features' }]);
  });
});

test.each(PROVIDERS)(
  'a candidate pays through %s to stand for a group, which stays until they do',
  async (provider) => {
    const event = await poll(provider, {
      candidate: { selfRegistration: true },
      payments: { payToRegisterCandidate: PRICE[provider] },
    });
    const positionIds = [event.positions[0]?.id];
    const groups = `/voting-events/${event.id}/groups`;
    const { id: groupId } = await event.account.make(groups, { name: 'South' });
    const body = { name: 'Cora', positionIds, groupId, email: 'cora@mail.example', returnUrl: RETURN_URL };
    const register = (sent: unknown) => event.page('register/candidate', sent);
    expect((await register({ ...body, email: undefined })).body.error.details.field).toBe('email');
    const begun = await event.checkout('register/candidate', body);
    const { attempt } = begun;
    expect((await event.cast(attempt)).status).toBe(404);
    expect(refusalOf(await event.account.delete(`${groups}/${groupId}`))).toEqual([409, 'event_has_ballots']);
    await payFor(event, begun);
    const second = demand(await register({ paymentAttemptId: attempt }), 201);
    expect(second).toEqual({
      ...{ id: expect.stringMatching(/^cnd_/), name: 'Cora', positionIds, avatarUrl: null, status: 'pending' },
    });
    const again = await register({ paymentAttemptId: attempt });
    expect([again.status, again.body]).toEqual([200, { data: second }]);
    const { id: elsewhere } = await event.account.make(`/voting-events/${event.id}/positions`, {
      ...{ title: 'Elsewhere', votingMethod: 'plurality' },
    });
    const moved = await event.account.patch(`/voting-events/${event.id}/candidates/${second.id}`, {
      positionIds: [elsewhere],
    });
    expect(refusalOf(moved)).toEqual([409, 'event_has_ballots']);
    demand(await event.account.delete(`${groups}/${groupId}`), 202);
    const own = `/voting-events/${event.id}/candidates/${second.id}`;
    expect(refusalOf(await event.account.delete(own))).toEqual([409, 'event_has_ballots']);
    await service.query('UPDATE payment_attempts SET refunded_at = 1 WHERE id = $1', [attempt]);
    demand(await event.account.delete(own), 202);
  },
);

test('a position stays as it is, and in the draft whose file leaves it out, while a candidate pays to stand for it', async () => {
  const settings = { candidate: { selfRegistration: true }, startsAt: Date.now() + 3_600_000 };
  const price = { payToRegisterCandidate: PRICE.provider_a };
  const event = await createPaidEvent(service, 'provider_a', { ...settings, payments: price }, undefined, false);
  const body = { name: 'Cora', positionIds: [event.positions[0]?.id] };
  await event.checkout('register/candidate', body);
  await event.change({ startsAt: null });
  const at = `/voting-events/${event.id}/definition`;
  const file = await event.account.show(at);
  const [position] = file.positions;
  const refused = [
    await event.account.put(at, { ...file, positions: [], candidates: [] }),
    await event.account.put(at, { ...file, positions: [{ ...position, seats: 2 }] }),
    await event.account.patch(`/voting-events/${event.id}/positions/${position.id}`, { title: 'Another' }),
  ];
  for (const answer of refused) expect(refusalOf(answer)).toEqual([409, 'event_has_ballots']);
  expect(await event.account.show(at)).toEqual(file);
  const words = { ...file, positions: [{ ...position, description: 'What it is about' }] };
  expect((await event.account.put(at, words)).status).toBe(200);
  await service.query('UPDATE payment_attempts SET refunded_at = 1 WHERE voting_event_id = $1', [event.id]);
  await event.account.change(`/voting-events/${event.id}/positions/${position.id}`, { title: 'Another' });
});

describe.each(PROVIDERS)('credits through %s', (provider) => {
  const { currency } = PRICE[provider];
  const ratio = { pricingModel: 'ratio', currency, pricePerCreditMinor: 1_000, minCredits: 5, maxCredits: 200 };

  async function prepare(quadraticTopUp: object) {
    const settings = { quadraticBaseCreditBudget: 100, quadraticTopUp };
    const plan = { votingMethod: 'quadratic', candidates: ['Ada', 'Bea'], settings };
    const event = await poll(provider, { payments: {} }, [plan]);
    const visitorId = visitor();
    const [positionId, candidateId] = [event.positions[0]?.id, event.positions[0]?.candidates[0]];
    const query = `?positionId=${positionId}&visitorId=${visitorId}`;
    const balance = async () => (await event.page(`quadratic-credits${query}`)).body.data;
    const options = async () => (await event.page(`quadratic-credits/options${query}`)).body.data;
    const cast = (value: number) =>
      event.page('ballot/cast', { visitorId, votes: [{ positionId, candidateId, value }] });
    const buy = (body: object) => event.page('quadratic-credits/checkout', body);
    const purchase = { ...payer(visitorId), positionId };
    return { event, visitorId, positionId, balance, options, cast, buy, purchase };
  }

  test('are bought one by one, spent with a ballot, and never more than there are', async () => {
    const { event, visitorId, positionId, balance, options, cast, buy, purchase } = await prepare(ratio);
    const poor = await cast(11);
    expect(poor.status).toBe(422);
    expect(poor.body.error.details).toMatchObject({
      ...{ field: 'votes', reason: 'insufficient_credits', positionId, required: 121, available: 100 },
    });
    expect(await options()).toEqual({ positionId, visitorId, provider, ...ratio });

    expect((await buy({ ...purchase, credits: 4 })).body.error.details.field).toBe('credits');
    expect((await buy({ ...purchase, tierId: 'x' })).status).toBe(422);
    const begun = await event.checkout('quadratic-credits/checkout', { ...purchase, credits: 21 });
    expect(begun.data).toMatchObject({ credits: 21, pricingModel: 'ratio', amount: 210, currency });
    await payFor(event, begun);
    const second = demand(await buy({ paymentAttemptId: begun.attempt }), 200);
    const bought = { positionId, visitorId, baseCredits: 100, purchasedCredits: 21, spentCredits: 0, heldCredits: 0 };
    expect(second).toEqual({ ...bought, availableCredits: 121 });

    expect((await cast(11)).status).toBe(201);
    expect(await balance()).toEqual({ ...bought, heldCredits: 121, availableCredits: 0 });
    const { confirmationCode } = (await cast(10)).body.data;
    expect(await balance()).toEqual({ ...bought, heldCredits: 100, availableCredits: 21 });
    expect(await confirm(event, confirmationCode)).toBe(200);
    expect(await balance()).toEqual({ ...bought, spentCredits: 100, availableCredits: 21 });
    expect((await buy({ paymentAttemptId: begun.attempt })).body).toEqual({ data: second });
  });

  test('are bought in tiers, and go back with their money', async () => {
    const tiers = [
      { id: 'small', label: 'Small', credits: 10, amountMinor: 20_000 },
      { id: 'large', label: 'Large', credits: 50, amountMinor: 80_000 },
    ];
    const prepared = await prepare({ pricingModel: 'tiered', currency, tiers });
    const { event, balance, options, cast, buy, purchase } = prepared;
    expect((await options()).tiers).toEqual([
      { ...tiers[0], amount: 200 },
      { ...tiers[1], amount: 800 },
    ]);
    const begun = await event.checkout('quadratic-credits/checkout', { ...purchase, tierId: 'large' });
    await payFor(event, begun);
    expect((await buy({ paymentAttemptId: begun.attempt })).body.data.availableCredits).toBe(150);
    const { confirmationCode } = (await cast(11)).body.data;
    const reference = provider === 'provider_a' ? begun.attempt : begun.data.provider_b.reference;
    await sandbox.reverse(reference, 'dispute');
    await untilTrue(async () => (await read(event, begun.attempt)).reversedAt !== null);
    expect(await balance()).toMatchObject({ purchasedCredits: 0, heldCredits: 0, availableCredits: 100 });
    expect(await confirm(event, confirmationCode)).toBe(404);
  });
});

test('an offer of credits holds no number of credits that its business cannot sell', async () => {
  const offer = (quadraticTopUp: object) => {
    const ratio = { pricingModel: 'ratio', ...quadraticTopUp };
    return [{ votingMethod: 'quadratic', candidates: ['Ada', 'Bea'], settings: { quadraticTopUp: ratio } }];
  };
  // provider_a takes thousandths of a dinar in tens alone.
  const odd = offer({ currency: 'kwd', pricePerCreditMinor: 5, minCredits: 100, maxCredits: 200 });
  await expect(poll('provider_a', { payments: {} }, odd)).rejects.toThrow('quadraticTopUp.pricePerCreditMinor');
  // The most that provider_b takes is more than the most of provider_a.
  const large = offer({ currency: 'usd', pricePerCreditMinor: 100_000, minCredits: 1, maxCredits: 5_000 });
  const { id, account } = await poll('provider_b', { payments: {} }, large);
  const { id: paymentBusinessId } = await connectTestBusiness(service, account, 'provider_a');
  const linked = await account.put(`/voting-events/${id}/payment-business`, { paymentBusinessId });
  expect(linked.status).toBe(422);
});

test('repeat votes let one visitor pay for and confirm any number of ballots', async () => {
  const event = await poll('provider_a', { payments: { payToVote: PRICE.provider_a, repeatVotes: true } });
  const visitorId = visitor();
  const begun = [await event.begin({ visitorId }), await event.begin({ visitorId })];
  const codes: string[] = [];
  for (const one of begun) {
    await payFor(event, one);
    codes.push(await event.castCode(one.attempt));
  }
  for (const code of codes) expect(await confirm(event, code)).toBe(200);
  expect(await countBallots(event)).toBe(2);
});
