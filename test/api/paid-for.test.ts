import { describe, expect, test } from 'vitest';
import { dropAllExpiredBallots } from '#src/ballots/drop-expired-ballots.ts';
import { demand, finishEvent, visitor, votesFor } from '#test/harness/elections.ts';
import {
  checkoutUrlOf,
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
import { use } from '#test/harness/use.ts';

const { service } = await usePaidService();
const another = await use(service.another());

const pollOf = (provider: TestProvider, settings = {}, plans?: Parameters<typeof createPaidEvent>[3]) =>
  createPaidEvent(service, provider, settings, plans);

const post = (event: PaidEvent, path: string, body: unknown, on = service, headers = {}): Promise<TestAnswer> =>
  on.call('POST', `/public/voting-events/${event.id}/${path}`, body, { key: event.account.vote, headers });

const finishVote = (event: PaidEvent, paymentAttemptId: string, on = service, headers = {}) =>
  post(event, 'ballot/cast', { paymentAttemptId }, on, headers);

const refunded = (event: PaidEvent, id: string) => event.until(id, ({ refundedAt }) => refundedAt !== null);

describe.each(PROVIDERS)('a paid ballot through %s', (provider) => {
  test.each([
    ['the same visitor', {}, () => ({ visitorId: visitor() })],
    ['one e-mail address on two devices', { voter: { saveVoterInfo: true } }, () => ({ email: 'one@mail.example' })],
    ['one voter ID on two devices', { voter: { requireVoterId: true } }, () => ({ voterId: 'M-1' })],
    [
      'one voter ID with two addresses',
      { voter: { requireVoterId: true, saveVoterInfo: true } },
      () => ({ voterId: 'M-1' }),
    ],
  ])(
    'is one for a participant, whatever pays twice at once: %s; the other payment goes back',
    async (_who, settings, make) => {
      const event = await pollOf(provider, settings);
      const shared = make();
      const identity = (index: number) => ({ email: `p${index}@mail.example`, voterId: `V${index}`, ...shared });
      const attempts = await Promise.all([0, 1, 2].map((index) => event.pay(identity(index))));
      const answers = await Promise.all(
        attempts.map((id, index) => finishVote(event, id, index === 1 ? another : service)),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
      const winner = answers.findIndex(({ status }) => status === 201);
      for (const [index, id] of attempts.entries()) {
        if (index === winner) continue;
        expect(await refunded(event, id)).toMatchObject({ status: 'cancelled' });
      }
      const { confirmationCode } = answers[winner]?.body.data ?? {};
      expect((await post(event, 'ballot/confirm', { confirmationCode })).status).toBe(200);
      expect(await event.payment(attempts[winner] ?? '')).toMatchObject({ status: 'fulfilled', refundedAt: null });
    },
  );

  test.each([
    [
      'a day after its cast',
      async (event: PaidEvent) => {
        await service.query(
          'UPDATE pending_ballots SET cast_at = cast_at - 25 * 3600 * 1000 WHERE voting_event_id = $1',
          [event.id],
        );
        await dropAllExpiredBallots(service.deps);
      },
    ],
    [
      'by the confirm that comes too late',
      async (event: PaidEvent, confirmationCode: string) => {
        await service.query(
          'UPDATE pending_ballots SET cast_at = cast_at - 25 * 3600 * 1000 WHERE voting_event_id = $1',
          [event.id],
        );
        expect((await post(event, 'ballot/confirm', { confirmationCode })).status).toBe(404);
      },
    ],
    [
      'once the time after the close is over',
      async (event: PaidEvent, confirmationCode: string) => {
        await finishEvent(service, event.id);
        expect((await post(event, 'ballot/confirm', { confirmationCode })).status).toBe(403);
        await dropAllExpiredBallots(service.deps);
      },
    ],
  ])('that nobody confirmed is given back %s: the attempt stays fulfilled, and says so', async (_when, end) => {
    const event = await pollOf(provider);
    const id = await event.pay();
    const { confirmationCode } = demand(await finishVote(event, id), 201);
    await end(event, confirmationCode);
    expect(await refunded(event, id)).toMatchObject({ status: 'fulfilled' });
    // The provider's own word of the refund comes too, and reverses nothing.
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await event.payment(id)).toMatchObject({ status: 'fulfilled', reversedAt: null });
    const rows = await service.query(
      'SELECT count(*)::int AS left FROM waiting_participants WHERE voting_event_id = $1',
      [event.id],
    );
    expect(rows[0].left).toBe(0);
  });

  test('is given back when its event is deleted before it is confirmed', async () => {
    const event = await pollOf(provider);
    const id = await event.pay();
    demand(await finishVote(event, id), 201);
    const path = `/voting-events/${event.id}?force=true`;
    expect((await event.account.delete(path)).status).toBe(204);
    await eventually(async () => {
      const rows = await service.query("SELECT 1 FROM payment_refunds WHERE attempt_id = $1 AND status = 'refunded'", [
        id,
      ]);
      return rows.length === 1 ? true : undefined;
    }, 20_000);
  });

  test('answers a second call that came before the money anew after it, under the same Idempotency-Key', async () => {
    const event = await pollOf(provider);
    const body = { visitorId: visitor(), email: 'payer@mail.example', votes: votesFor(event), returnUrl: RETURN_URL };
    const first = await post(event, 'ballot/cast', body);
    const { paymentAttemptId } = demand(first, 402);
    const headers = { 'Idempotency-Key': 'the-second-call' };
    expect((await finishVote(event, paymentAttemptId, service, headers)).status).toBe(402);
    await decide(checkoutUrlOf(first), 'pay');
    const answer = await eventually(async () => {
      const again = await finishVote(event, paymentAttemptId, another, headers);
      return again.status === 402 ? undefined : again;
    });
    expect(answer.status).toBe(201);
    const repeat = await finishVote(event, paymentAttemptId, service, headers);
    expect([repeat.status, repeat.headers.get('idempotent-replayed'), repeat.body]).toEqual([201, 'true', answer.body]);
  });

  const CREDITS = {
    pricingModel: 'ratio',
    currency: PRICE[provider].currency,
    pricePerCreditMinor: 10_000,
    minCredits: 1,
    maxCredits: 9,
  };
  const QUADRATIC = { votingMethod: 'quadratic', candidates: ['Ada', 'Bea'], settings: { quadraticTopUp: CREDITS } };
  const price = PRICE[provider];
  const payer = () => ({ visitorId: visitor(), email: 'payer@mail.example', returnUrl: RETURN_URL });

  test.each([
    [
      'a vote',
      { payToVote: price },
      'ballot/cast',
      (event: PaidEvent) => ({ ...payer(), votes: votesFor(event) }),
      201,
    ],
    [
      'a registration',
      { payToRegisterCandidate: price },
      'register/candidate',
      ({ positions: [position] }: PaidEvent) => ({
        name: 'Cleo',
        email: 'cleo@mail.example',
        positionIds: [position?.id],
        returnUrl: RETURN_URL,
      }),
      201,
    ],
    [
      'credits',
      {},
      'quadratic-credits/checkout',
      ({ positions: [position] }: PaidEvent) => ({ ...payer(), positionId: position?.id, credits: 2 }),
      200,
    ],
  ] as const)(
    'gives %s to who has paid, whatever became of the plan: first calls alone ask it',
    async (what, payments, path, make, status) => {
      const settings = { payments, candidate: { selfRegistration: true } };
      const event = await pollOf(provider, settings, what === 'credits' ? [QUADRATIC] : undefined);
      const first = await post(event, path, make(event));
      const { paymentAttemptId } = demand(first, 402);
      await decide(checkoutUrlOf(first), 'pay');
      await service.query("UPDATE accounts SET plan = 'free' WHERE id = $1", [event.account.id]);
      await eventually(async () => {
        const refused = await post(event, path, make(event));
        return refused.status === 403 && refused.body.error.details.reason === 'plan_feature' ? true : undefined;
      });
      expect((await post(event, path, { paymentAttemptId })).status).toBe(status);
    },
  );

  test('that waits makes its participant one who has voted, by each identity, for the check, a cast and a payment alike', async () => {
    const event = await pollOf(provider, { voter: { saveVoterInfo: true, requireVoterId: true } });
    const own = { visitorId: visitor(), email: 'Payer@mail.example', voterId: 'M-1' };
    demand(await finishVote(event, await event.pay(own)), 201);
    const others = [
      { ...own },
      { visitorId: visitor(), email: 'payer@mail.example', voterId: 'M-2' },
      { visitorId: visitor(), email: 'other@mail.example', voterId: 'M-1' },
      { visitorId: own.visitorId.toUpperCase().replace('VI_', 'vi_'), email: 'other@mail.example', voterId: 'M-3' },
    ];
    for (const identity of others) {
      expect((await post(event, 'voter/check', identity)).body.data).toEqual({
        eligible: false,
        reason: 'already_voted',
      });
      const again = await post(event, 'ballot/cast', { ...identity, votes: votesFor(event), returnUrl: RETURN_URL });
      expect([again.status, again.body.error.details.reason]).toEqual([409, 'already_voted']);
      expect(again.body.error.message).toMatch(/paid for and waits/);
    }
    const stranger = { visitorId: visitor(), email: 'x@mail.example', voterId: 'M-9' };
    expect((await post(event, 'voter/check', stranger)).body.data).toEqual({ eligible: true });
  });
});

describe('a poll that changes its price', () => {
  const patch = (event: PaidEvent, body: unknown) => event.account.patch(`/voting-events/${event.id}`, body);

  test('counts the ballots that were cast before it had one; whoever votes from then on pays', async () => {
    const event = await pollOf('provider_a', { payments: {} });
    const { confirmationCode } = demand(
      await post(event, 'ballot/cast', { visitorId: visitor(), votes: votesFor(event) }),
      201,
    );
    demand(await patch(event, { payments: { payToVote: PRICE.provider_a } }), 200);
    const late = { visitorId: visitor(), returnUrl: RETURN_URL, votes: votesFor(event) };
    expect((await post(event, 'ballot/cast', late)).status).toBe(402);
    const confirmed = demand(await post(event, 'ballot/confirm', { confirmationCode }), 200);
    expect(confirmed.confirmedCount).toBe(1);
  });

  test('stays identified when the price goes, because payments keep the codes of ballots', async () => {
    const event = await pollOf('provider_a');
    demand(await finishVote(event, await event.pay()), 201);
    const answer = demand(await patch(event, { payments: { payToVote: null } }), 200);
    expect(answer.secrecy).toBe('identified');
    const untouched = await pollOf('provider_a');
    expect(demand(await patch(untouched, { payments: { payToVote: null } }), 200).secrecy).toBe('pseudonymous');
  });

  test.each([{ type: 'election' }, { voter: { requireVoterId: true } }, { voter: { saveVoterInfo: true } }])(
    'keeps %j as it is while an attempt is open or fulfilled, and lets go when it has ended',
    async (change) => {
      const event = await pollOf('provider_a');
      const answer = demand(
        await post(event, 'ballot/cast', { visitorId: visitor(), votes: votesFor(event), returnUrl: RETURN_URL }),
        402,
      );
      demand(await patch(event, { payments: { payToVote: null } }), 200);
      for (const status of ['created', 'pending', 'succeeded', 'fulfilled', 'failed', 'cancelled']) {
        await service.query('UPDATE payment_attempts SET status = $2 WHERE id = $1', [answer.paymentAttemptId, status]);
        const ended = status === 'failed' || status === 'cancelled';
        const { status: code, body } = await patch(event, change);
        expect([status, code, body.error?.details.reason]).toEqual([
          status,
          ended ? 200 : 409,
          ended ? undefined : 'event_has_ballots',
        ]);
        if (ended)
          demand(await patch(event, { type: 'poll', voter: { requireVoterId: false, saveVoterInfo: false } }), 200);
      }
    },
  );
});
