import { describe, expect, test } from 'vitest';
import { dropAllExpiredBallots } from '#src/ballots/drop-expired-ballots.ts';
import { paymentDeps } from '#src/fulfilments.ts';
import { reconcilePayments } from '#src/payments/reconcile-payments.ts';
import { demand, refusalOf, valuesOf } from '#test/harness/answers.ts';
import { finishEvent, visitor, votesFor } from '#test/harness/elections.ts';
import { CLOSED, moveEnd } from '#test/harness/move-end.ts';
import {
  decide,
  type PaidEvent,
  PRICE,
  PROVIDERS,
  RETURN_URL,
  refundsOf,
  soldCredits,
  usePaidService,
} from '#test/harness/payments.ts';
import { eventually, patiently, type TestAnswer, untilTrue } from '#test/harness/test-service.ts';
import { use } from '#test/harness/use.ts';

const { service, poll } = await usePaidService();
const another = await use(service.another());

const QUADRATIC = { votingMethod: 'quadratic', candidates: ['Ada', 'Bea'] };

const page = (event: PaidEvent, path: string, body: unknown, on = service, headers = {}): Promise<TestAnswer> =>
  on.call('POST', `/public/voting-events/${event.id}/${path}`, body, { key: event.account.vote, headers });

const finishVote = (event: PaidEvent, paymentAttemptId: string, on = service, headers = {}) =>
  page(event, 'ballot/cast', { paymentAttemptId }, on, headers);

const dayPasses = ({ id }: PaidEvent) =>
  service.query('UPDATE pending_ballots SET cast_at = cast_at - 25 * 3600 * 1000 WHERE voting_event_id = $1', [id]);

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
      const event = await poll(provider, settings);
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
        expect(await event.refunded(id)).toMatchObject({ status: 'cancelled' });
      }
      const { confirmationCode } = answers[winner]?.body.data ?? {};
      expect((await event.page('ballot/confirm', { confirmationCode })).status).toBe(200);
      expect(await event.payment(attempts[winner] ?? '')).toMatchObject({ status: 'fulfilled', refundedAt: null });
    },
  );

  test.each<[string, (event: PaidEvent, confirmationCode: string) => Promise<void>]>([
    [
      'a day after its cast',
      async (event) => {
        await dayPasses(event);
        await dropAllExpiredBallots(service.deps);
      },
    ],
    [
      'by the confirm that comes too late',
      async (event, confirmationCode) => {
        await dayPasses(event);
        expect((await event.page('ballot/confirm', { confirmationCode })).status).toBe(404);
      },
    ],
    [
      'once the time after the close is over',
      async (event, confirmationCode) => {
        await finishEvent(service, event.id);
        expect((await event.page('ballot/confirm', { confirmationCode })).status).toBe(403);
        await dropAllExpiredBallots(service.deps);
      },
    ],
  ])('that nobody confirmed is given back %s: the attempt stays fulfilled, and says so', async (_when, end) => {
    const event = await poll(provider);
    const id = await event.pay();
    await end(event, await event.castCode(id));
    expect(await event.refunded(id)).toMatchObject({ status: 'fulfilled' });
    // The provider's own word of the refund comes too, and reverses nothing.
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await event.payment(id)).toMatchObject({ status: 'fulfilled', reversedAt: null });
    const left = 'SELECT 1 FROM waiting_participants WHERE voting_event_id = $1';
    expect(await service.query(left, [event.id])).toEqual([]);
  });

  test.each<[string, Record<string, unknown>, string, (event: PaidEvent, visitorId: string) => Promise<unknown>]>([
    [
      'its visitor has voted, and may no longer vote again',
      { payments: { payToVote: PRICE[provider], repeatVotes: true } },
      '409 already_voted',
      async (event, visitorId) => {
        const confirmationCode = await event.castCode(await event.pay({ visitorId }));
        await event.change({ payments: { payToVote: PRICE[provider], repeatVotes: false } });
        demand(await event.page('ballot/confirm', { confirmationCode }), 200);
      },
    ],
    ['the time after the close is over', {}, '403 event_closed', (event) => moveEnd(service.deps, event.id, CLOSED)],
  ])('that its confirm refuses is given back at once: %s', async (_why, settings, refusal, refuse) => {
    const event = await poll(provider, settings);
    const visitorId = visitor();
    const id = await event.pay({ visitorId });
    const confirmationCode = await event.castCode(id);
    await refuse(event, visitorId);
    expect(await refundsOf(service, id)).toEqual([]);
    expect(refusalOf(await event.page('ballot/confirm', { confirmationCode })).join(' ')).toBe(refusal);
    expect(await refundsOf(service, id)).toHaveLength(1);
    expect(await event.refunded(id)).toMatchObject({ status: 'fulfilled' });
  });

  test('is given back when its event is deleted before it is confirmed', async () => {
    const event = await poll(provider);
    const id = await event.pay();
    demand(await finishVote(event, id), 201);
    expect((await event.account.of(event).delete('?force=true')).status).toBe(204);
    await untilTrue(async () => valuesOf(await refundsOf(service, id), 'status').join() === 'refunded');
  });

  test('answers a second call that came before the money anew after it, under the same Idempotency-Key', async () => {
    const event = await poll(provider);
    const { attempt, url } = await event.begin();
    const headers = { 'Idempotency-Key': 'the-second-call' };
    expect((await finishVote(event, attempt, service, headers)).status).toBe(402);
    await decide(url, 'pay');
    const answer = await eventually(async () => {
      const again = await finishVote(event, attempt, another, headers);
      return again.status === 402 ? undefined : again;
    });
    expect(answer.status).toBe(201);
    const repeat = await finishVote(event, attempt, service, headers);
    expect([repeat.status, repeat.headers.get('idempotent-replayed'), repeat.body]).toEqual([201, 'true', answer.body]);
  });

  test.each([
    ['a vote', { payToVote: PRICE[provider] }, 'ballot/cast', (votes: unknown) => ({ votes }), 201],
    [
      'a registration',
      { payToRegisterCandidate: PRICE[provider] },
      'register/candidate',
      (_votes: unknown, positionId: unknown) => ({ visitorId: undefined, name: 'Cleo', positionIds: [positionId] }),
      201,
    ],
    [
      'credits',
      {},
      'quadratic-credits/checkout',
      (_votes: unknown, positionId: unknown) => ({ positionId, credits: 2 }),
      200,
    ],
  ])(
    'gives %s to who has paid, whatever became of the plan: first calls alone ask it',
    async (what, payments, path, make, status) => {
      const settings = { payments, candidate: { selfRegistration: true } };
      const event = await poll(provider, settings, what === 'credits' ? [soldCredits(provider)] : undefined);
      const body = () => ({ visitorId: visitor(), ...make(votesFor(event), event.positions[0]?.id) });
      const { attempt, url } = await event.checkout(path, body());
      await decide(url, 'pay');
      await service.query("UPDATE accounts SET plan = 'free' WHERE id = $1", [event.account.id]);
      const payer = { email: 'payer@mail.example', returnUrl: RETURN_URL };
      await untilTrue(async () => {
        const [code, reason] = refusalOf(await event.page(path, { ...payer, ...body() }));
        return code === 403 && reason === 'plan_feature';
      });
      expect((await event.page(path, { paymentAttemptId: attempt })).status).toBe(status);
    },
  );

  test('that waits makes its participant one who has voted, by each identity, for the check, a cast and a payment alike', async () => {
    const event = await poll(provider, { voter: { saveVoterInfo: true, requireVoterId: true } });
    const own = { visitorId: visitor(), email: 'Payer@mail.example', voterId: 'M-1' };
    demand(await finishVote(event, await event.pay(own)), 201);
    const others = [
      { ...own },
      { visitorId: visitor(), email: 'payer@mail.example', voterId: 'M-2' },
      { visitorId: visitor(), email: 'other@mail.example', voterId: 'M-1' },
      { visitorId: own.visitorId.toUpperCase().replace('VI_', 'vi_'), email: 'other@mail.example', voterId: 'M-3' },
    ];
    for (const identity of others) {
      const checked = { eligible: false, reason: 'already_voted' };
      expect((await event.page('voter/check', identity)).body.data).toEqual(checked);
      const again = await event.page('ballot/cast', { ...identity, votes: votesFor(event), returnUrl: RETURN_URL });
      expect(refusalOf(again)).toEqual([409, 'already_voted']);
      expect(again.body.error.message).toMatch(/paid for and waits/);
    }
    const stranger = { visitorId: visitor(), email: 'x@mail.example', voterId: 'M-9' };
    expect((await event.page('voter/check', stranger)).body.data).toEqual({ eligible: true });
  });
});

describe('a poll that changes its price', () => {
  test('drops the ballots that wait unpaid when it gets one, with the credits that they hold; confirmed ones count', async () => {
    const event = await poll('provider_a', { payments: {} }, [QUADRATIC]);
    const [waiting, confirmed] = [visitor(), visitor()];
    const cast = async (visitorId: string): Promise<string> =>
      demand(await event.page('ballot/cast', { visitorId, votes: votesOf(event, 8) }), 201).confirmationCode;
    const held = async (): Promise<[number, number]> => {
      const query = `?positionId=${event.positions[0]?.id}&visitorId=${waiting}`;
      const { data } = (await event.page(`quadratic-credits${query}`)).body;
      return [data.heldCredits, data.availableCredits];
    };
    demand(await event.page('ballot/confirm', { confirmationCode: await cast(confirmed) }), 200);
    const confirmationCode = await cast(waiting);
    expect(await held()).toEqual([64, 36]);
    await event.change({ payments: { payToVote: PRICE.provider_a } });
    expect((await event.page('ballot/confirm', { confirmationCode })).status).toBe(404);
    expect(await held()).toEqual([0, 100]);
    const again = { visitorId: waiting, returnUrl: RETURN_URL, votes: votesOf(event, 8) };
    expect((await event.page('ballot/cast', again)).status).toBe(402);
    expect((await event.show('/stats')).ballots.confirmed).toBe(1);
  });

  test('keeps the ballots that were paid for when the price is raised', async () => {
    const event = await poll('provider_a');
    const confirmationCode = await event.castCode(await event.pay());
    await event.change({ payments: { payToVote: { ...PRICE.provider_a, amountMinor: 900 } } });
    demand(await event.page('ballot/confirm', { confirmationCode }), 200);
  });

  test('stays identified when the price goes, because payments keep the codes of ballots', async () => {
    const event = await poll('provider_a');
    demand(await finishVote(event, await event.pay()), 201);
    const answer = await event.change({ payments: { payToVote: null } });
    expect(answer.secrecy).toBe('identified');
    const untouched = await poll('provider_a');
    expect((await untouched.change({ payments: { payToVote: null } })).secrecy).toBe('pseudonymous');
  });

  test.each([{ type: 'election' }, { voter: { requireVoterId: true } }, { voter: { saveVoterInfo: true } }])(
    'keeps %j as it is while an attempt is open or fulfilled, and lets go when it has ended',
    async (change) => {
      const event = await poll('provider_a');
      const { attempt } = await event.begin();
      await event.change({ payments: { payToVote: null } });
      for (const status of ['created', 'pending', 'succeeded', 'fulfilled', 'failed', 'cancelled']) {
        await service.query('UPDATE payment_attempts SET status = $2 WHERE id = $1', [attempt, status]);
        const ended = status === 'failed' || status === 'cancelled';
        const { status: code, body } = await event.account.patch(`/voting-events/${event.id}`, change);
        const expected = ended ? [200, undefined] : [409, 'event_has_ballots'];
        expect([code, body.error?.details.reason], status).toEqual(expected);
        if (ended) await event.change({ type: 'poll', voter: { requireVoterId: false, saveVoterInfo: false } });
      }
    },
  );
});

const votesOf = ({ positions: [position] }: PaidEvent, value: number) => [
  { positionId: position?.id, candidateId: position?.candidates[0], value },
];

const stateOf = async (id: string): Promise<[status: string, endReason: string | null]> => {
  const rows = await service.query('SELECT status, end_reason FROM payment_attempts WHERE id = $1', [id]);
  return [rows[0].status, rows[0].end_reason];
};

/** One run of the job, for which this payment is due. */
async function reconcile(id: string): Promise<void> {
  await service.query('UPDATE payment_attempts SET check_at = 1 WHERE id = $1', [id]);
  await reconcilePayments(paymentDeps(service.deps));
}

const vote = async (event: PaidEvent, identity: object, confirms = true) => {
  const confirmationCode = await event.castCode(await event.payKnown(identity));
  if (confirms) demand(await event.page('ballot/confirm', { confirmationCode }), 200);
};

describe.each(PROVIDERS)('what was paid through %s and was never asked for', (provider) => {
  test.each([
    ['a confirmed ballot', true],
    ['a paid ballot that waits', false],
  ])('a vote is given back while the event is open, once its visitor has %s', async (_what, confirms) => {
    const event = await poll(provider);
    const visitorId = visitor();
    const second = await event.payKnown({ visitorId });
    await reconcile(second);
    expect(await stateOf(second)).toEqual(['succeeded', null]);
    await vote(event, { visitorId }, confirms);
    await reconcile(second);
    expect(await event.refunded(second)).toMatchObject({ status: 'cancelled' });
    expect(await stateOf(second)).toEqual(['cancelled', 'already_voted']);
  });

  test('a vote is given back whichever identity its participant has voted by', async () => {
    const event = await poll(provider, { voter: { saveVoterInfo: true } });
    const second = await event.payKnown({ email: 'Same@mail.example' });
    await vote(event, { email: 'same@mail.example' });
    await reconcile(second);
    expect(await event.refunded(second)).toMatchObject({ status: 'cancelled' });
  });

  test('a vote stays bought where a visitor may vote again', async () => {
    const event = await poll(provider, { payments: { payToVote: PRICE[provider], repeatVotes: true } });
    const visitorId = visitor();
    const second = await event.payKnown({ visitorId });
    await vote(event, { visitorId });
    await reconcile(second);
    expect(await stateOf(second)).toEqual(['succeeded', null]);
    expect((await event.page('ballot/cast', { paymentAttemptId: second })).status).toBe(201);
  });

  test('no money is asked for a ballot that costs more credits than its visitor has left', async () => {
    const settings = { payments: { payToVote: PRICE[provider], repeatVotes: true } };
    const event = await poll(provider, settings, [QUADRATIC]);
    const visitorId = visitor();
    const payer = { visitorId, email: 'payer@mail.example', returnUrl: RETURN_URL };
    const start = (value: number) => event.page('ballot/cast', { ...payer, votes: votesOf(event, value) });
    const expectShortage = async (required: number, available: number): Promise<void> => {
      const { status, body } = await start(Math.sqrt(required));
      const shortage = { field: 'votes', reason: 'insufficient_credits', required, available };
      expect([status, body.error.details]).toMatchObject([422, { ...shortage, positionId: event.positions[0]?.id }]);
    };
    await expectShortage(121, 100);
    const id = await event.payKnown({ visitorId, votes: votesOf(event, 8) });
    // Held from the first call on: what is paid goes on holding.
    await expectShortage(64, 36);
    const confirmationCode = await event.castCode(id);
    // Held by a ballot that waits, then spent by it: gone both times.
    await expectShortage(64, 36);
    demand(await event.page('ballot/confirm', { confirmationCode }), 200);
    await expectShortage(64, 36);
    expect((await start(6)).status).toBe(402);
  });

  test('of three checkouts at once for credits that are enough for one, one is taken, and its end frees them', async () => {
    const event = await poll(provider, {}, [QUADRATIC]);
    const visitorId = visitor();
    const payer = { visitorId, email: 'payer@mail.example', returnUrl: RETURN_URL };
    const start = () => event.page('ballot/cast', { ...payer, votes: votesOf(event, 10) });
    const held = async (): Promise<number> => {
      const query = `?positionId=${event.positions[0]?.id}&visitorId=${visitorId}`;
      return (await event.page(`quadratic-credits${query}`)).body.data.heldCredits;
    };
    const open = `SELECT id FROM payment_attempts WHERE voting_event_id = $1 AND status IN ('created', 'pending')`;
    const answers = await Promise.all([start(), start(), start()]);
    for (const { status } of answers) expect([402, 422]).toContain(status);
    expect([(await service.query(open, [event.id])).length, await held()]).toEqual([1, 100]);
    const again = await start();
    // A page of provider_b cannot be closed: it may still be paid.
    expect(again.status).toBe(provider === 'provider_a' ? 402 : 422);
    const [last, ...others] = await service.query(open, [event.id]);
    expect([others.length, await held()]).toEqual([0, 100]);
    await service.query('UPDATE payment_attempts SET expires_at = 1, asked_at = NULL WHERE id = $1', [last.id]);
    expect((await event.payment(last.id)).status).toBe('cancelled');
    expect(await held()).toBe(0);
    const attempt = await event.payKnown({ visitorId, votes: votesOf(event, 10) });
    const confirmationCode = await event.castCode(attempt);
    expect(await held()).toBe(100);
    demand(await event.page('ballot/confirm', { confirmationCode }), 200);
    expect(await held()).toBe(0);
  });

  test('credits are given back once their visitor has voted without them', async () => {
    const event = await poll(provider, { payments: {} }, [soldCredits(provider)]);
    const visitorId = visitor();
    const positionId = event.positions[0]?.id;
    const bought = await event.buy('quadratic-credits/checkout', { visitorId, positionId, credits: 2 });
    await reconcile(bought);
    expect(await stateOf(bought)).toEqual(['succeeded', null]);
    const cast = demand(await event.page('ballot/cast', { visitorId, votes: votesOf(event, 1) }), 201);
    demand(await event.page('ballot/confirm', { confirmationCode: cast.confirmationCode }), 200);
    await reconcile(bought);
    expect(await event.refunded(bought)).toMatchObject({ status: 'cancelled' });
    expect(await stateOf(bought)).toEqual(['cancelled', 'already_voted']);
  });

  test('a registration is given back once candidates cannot register themselves any more', async () => {
    const event = await poll(provider, {
      payments: { payToRegisterCandidate: PRICE[provider] },
      candidate: { selfRegistration: true },
    });
    const body = { name: 'Cleo', email: 'cleo@mail.example', positionIds: [event.positions[0]?.id] };
    const bought = await event.buy('register/candidate', body);
    await reconcile(bought);
    expect(await stateOf(bought)).toEqual(['succeeded', null]);
    await event.change({ candidate: { selfRegistration: false } });
    await reconcile(bought);
    expect(await event.refunded(bought)).toMatchObject({ status: 'cancelled' });
  });

  test('is either given or given back when the second call and the job meet, on two processes', async () => {
    const event = await poll(provider, {
      payments: { payToRegisterCandidate: PRICE[provider], payToVote: PRICE[provider] },
      candidate: { selfRegistration: true },
    });
    const positionIds = [event.positions[0]?.id];
    const attempts: { readonly id: string; readonly path: string }[] = [];
    for (let index = 0; index < 4; index += 1) {
      const visitorId = visitor();
      for (let tab = 0; tab < 2; tab += 1)
        attempts.push({ id: await event.payKnown({ visitorId }), path: 'ballot/cast' });
      const id = await event.buy('register/candidate', { name: `Cleo ${index}`, positionIds });
      attempts.push({ id, path: 'register/candidate' });
    }
    await service.query('UPDATE payment_attempts SET check_at = 1 WHERE voting_event_id = $1', [event.id]);
    const jobs = [service, another].map(({ deps }) => reconcilePayments(paymentDeps(deps)));
    const answers = await Promise.all(
      attempts.map(({ id, path }, index) =>
        patiently(() => page(event, path, { paymentAttemptId: id }, index % 2 === 0 ? service : another)),
      ),
    );
    await Promise.all(jobs);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([
      ...Array.from({ length: 8 }, () => 201),
      ...Array.from({ length: 4 }, () => 409),
    ]);
    for (const { id } of attempts) {
      const [status] = await stateOf(id);
      const refunds = await refundsOf(service, id);
      expect([status, refunds.length]).toEqual(status === 'fulfilled' ? ['fulfilled', 0] : ['cancelled', 1]);
    }
  });
});
