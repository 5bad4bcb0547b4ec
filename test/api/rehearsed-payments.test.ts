import { expect, test } from 'vitest';
import { demand, sealBallots, visitor, votesFor } from '#test/harness/elections.ts';
import {
  checkoutUrlOf,
  createPaidEvent,
  decide,
  type PaidEvent,
  PRICE,
  PROVIDERS,
  RETURN_URL,
  usePaidService,
} from '#test/harness/payments.ts';
import { startReceiver } from '#test/harness/receiver.ts';
import { dumpEvent, patchEvent } from '#test/harness/rehearsals.ts';
import { eventually, type TestAnswer } from '#test/harness/test-service.ts';

const PLANS = [
  { votingMethod: 'plurality', candidates: ['Ada', 'Bea'] },
  {
    votingMethod: 'quadratic',
    candidates: ['Cy', 'Di'],
    settings: {
      minSelections: 0,
      quadraticBaseCreditBudget: 4,
      quadraticTopUp: {
        pricingModel: 'ratio',
        currency: 'usd',
        pricePerCreditMinor: 100,
        minCredits: 1,
        maxCredits: 50,
      },
    },
  },
];

const paid = await usePaidService();

const asVoter = (event: PaidEvent, method: string, place: string, body?: object): Promise<TestAnswer> =>
  paid.service.call(method, `/public/voting-events/${event.id}${place}`, body, { key: event.account.vote });

/** The page of the service itself, at the port that it has here. */
function ownPageOf(answer: TestAnswer): string {
  const { pathname } = new URL(checkoutUrlOf(answer));
  expect(pathname).toMatch(/^\/rehearsal-payments\/pay_/);
  return `http://127.0.0.1:${paid.service.port}${pathname}`;
}

const BACK = { returnUrl: RETURN_URL, cancelUrl: 'https://shop.example/cancelled', email: 'payer@shop.example' };

async function startPaid(event: PaidEvent, place: string, body: object): Promise<[string, string]> {
  const answer = await asVoter(event, 'POST', place, { ...body, ...BACK });
  const { paymentAttemptId, rehearsal } = demand(answer, 402);
  expect(rehearsal).toBe(true);
  return [paymentAttemptId, ownPageOf(answer)];
}

test.each(PROVIDERS)('a rehearsal of a paid poll of %s takes no money and is wiped', async (provider) => {
  const { service, sandbox } = paid;
  const payments = { payToVote: PRICE[provider], payToRegisterCandidate: PRICE[provider] };
  const isA = provider === 'provider_a';
  const settings = { payments, candidate: { selfRegistration: true } };
  const event = await createPaidEvent(service, provider, settings, isA ? PLANS : PLANS.slice(0, 1), false);
  const receiver = await startReceiver();
  const endpoint = { url: receiver.url, eventTypes: ['payment.fulfilled', 'voting_event.opened', 'candidate.created'] };
  demand(await event.account.post('/webhook-endpoints', endpoint), 201);
  const before = await dumpEvent(service, event.id);
  const asked = sandbox.requests.length;

  await patchEvent(service, event.account, event, { status: 'rehearsal' });
  const ballot = { visitorId: visitor(), votes: votesFor(event) };
  const [attempt, page] = await startPaid(event, '/ballot/cast', ballot);
  const html = await (await fetch(page)).text();
  expect(html).toContain('no money is taken');
  expect(demand(await asVoter(event, 'GET', `/payments/${attempt}`), 200)).toMatchObject({
    status: 'pending',
    livemode: false,
    rehearsal: true,
  });
  demand(await asVoter(event, 'POST', '/ballot/cast', { paymentAttemptId: attempt }), 402);
  expect(await decide(page, 'pay')).toContain(`paymentAttemptId=${attempt}`);
  const cast = demand(await asVoter(event, 'POST', '/ballot/cast', { paymentAttemptId: attempt }), 201);
  const { confirmationCode } = cast;
  demand(await asVoter(event, 'POST', '/ballot/confirm', { confirmationCode }), 200);
  await sealBallots(service, event.id);

  const [refused, refusing] = await startPaid(event, '/ballot/cast', { ...ballot, visitorId: visitor() });
  await decide(refusing, 'fail');
  const failed = await asVoter(event, 'POST', '/ballot/cast', { paymentAttemptId: refused });
  expect(failed.body.error.details.reason).toBe('payment_failed');
  const [left, leaving] = await startPaid(event, '/ballot/cast', { ...ballot, visitorId: visitor() });
  expect(await decide(leaving, 'cancel')).toBe(BACK.cancelUrl);
  expect((await asVoter(event, 'POST', '/ballot/cast', { paymentAttemptId: left })).status).toBe(409);
  const registration = { name: 'Eve', positionIds: [event.positions[0]?.id] };
  const [standing, place] = await startPaid(event, '/register/candidate', registration);
  await decide(place, 'pay');
  demand(await asVoter(event, 'POST', '/register/candidate', { paymentAttemptId: standing }), 201);
  if (isA) {
    const order = { positionId: event.positions[1]?.id, visitorId: visitor(), credits: 5 };
    const [bought, shop] = await startPaid(event, '/quadratic-credits/checkout', order);
    await decide(shop, 'pay');
    demand(await asVoter(event, 'POST', '/quadratic-credits/checkout', { paymentAttemptId: bought }), 200);
  }
  const messages = await eventually(() => (receiver.received.length >= 3 ? receiver.received : undefined));
  for (const { body } of messages) expect(JSON.parse(String(body)).data.rehearsal).toBe(true);
  expect(messages.map(({ body }) => JSON.parse(String(body)).type)).not.toContain('voting_event.opened');
  // A ballot that was paid for and is not confirmed is wiped as well, and nothing is given back for it.
  const [open, paying] = await startPaid(event, '/ballot/cast', { ...ballot, visitorId: visitor() });
  await decide(paying, 'pay');
  demand(await asVoter(event, 'POST', '/ballot/cast', { paymentAttemptId: open }), 201);
  expect(sandbox.requests.length).toBe(asked);

  await patchEvent(service, event.account, event, { status: 'draft' });
  const after = await dumpEvent(service, event.id);
  expect(after).toEqual(before);
  expect((await fetch(page)).status).toBe(404);
  expect((await fetch(page, { method: 'POST', body: new URLSearchParams({ outcome: 'pay' }) })).status).toBe(404);

  await patchEvent(service, event.account, event, { status: 'open' });
  const real = await asVoter(event, 'POST', '/ballot/cast', { ...ballot, ...BACK });
  expect(real.status).toBe(402);
  expect(checkoutUrlOf(real)).toContain(sandbox.url);
  expect(real.body.data).not.toHaveProperty('rehearsal');
  await receiver.stop();
});
