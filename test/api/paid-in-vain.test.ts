import { describe, expect, test } from 'vitest';
import { paymentDeps } from '#src/fulfilments.ts';
import { reconcilePayments } from '#src/payments/reconcile-payments.ts';
import { demand, visitor } from '#test/harness/elections.ts';
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
import { eventually, patiently, type TestAnswer } from '#test/harness/test-service.ts';
import { use } from '#test/harness/use.ts';

const { service } = await usePaidService();
const another = await use(service.another());

const votesOf = ({ positions: [position] }: PaidEvent, value?: number) => [
  { positionId: position?.id, candidateId: position?.candidates[0], ...(value === undefined ? {} : { value }) },
];

const post = (event: PaidEvent, path: string, body: unknown, on = service): Promise<TestAnswer> =>
  on.call('POST', `/public/voting-events/${event.id}/${path}`, body, { key: event.account.vote });

const statusOf = async (id: string): Promise<string> => {
  const rows = await service.query('SELECT status FROM payment_attempts WHERE id = $1', [id]);
  return rows[0].status;
};

/** The first call of a checkout, and its payment: paid, known to be paid, and not asked for. */
async function pay(event: PaidEvent, path: string, body: Readonly<Record<string, unknown>>): Promise<string> {
  const answer = await post(event, path, { email: 'payer@mail.example', returnUrl: RETURN_URL, ...body });
  const { paymentAttemptId } = demand(answer, 402);
  await decide(checkoutUrlOf(answer), 'pay');
  await eventually(async () => ((await statusOf(paymentAttemptId)) === 'succeeded' ? true : undefined));
  return paymentAttemptId;
}

/** One run of the job, for which this payment is due. */
async function reconcile(id: string): Promise<void> {
  await service.query('UPDATE payment_attempts SET check_at = 1 WHERE id = $1', [id]);
  await reconcilePayments(paymentDeps(service.deps));
}

const endReasonOf = async (id: string): Promise<string | null> => {
  const rows = await service.query('SELECT end_reason FROM payment_attempts WHERE id = $1', [id]);
  return rows[0].end_reason;
};

const refunded = (event: PaidEvent, id: string) => event.until(id, ({ refundedAt }) => refundedAt !== null);

const vote = async (event: PaidEvent, identity: Readonly<Record<string, unknown>>, confirms = true) => {
  const id = await pay(event, 'ballot/cast', { votes: votesOf(event), ...identity });
  const { confirmationCode } = demand(await post(event, 'ballot/cast', { paymentAttemptId: id }), 201);
  if (confirms) demand(await post(event, 'ballot/confirm', { confirmationCode }), 200);
};

describe.each(PROVIDERS)('what was paid through %s and was never asked for', (provider) => {
  test.each([
    ['a confirmed ballot', true],
    ['a paid ballot that waits', false],
  ])('a vote is given back while the event is open, once its visitor has %s', async (_what, confirms) => {
    const event = await createPaidEvent(service, provider);
    const visitorId = visitor();
    const second = await pay(event, 'ballot/cast', { visitorId, votes: votesOf(event) });
    await reconcile(second);
    expect(await statusOf(second)).toBe('succeeded');
    await vote(event, { visitorId }, confirms);
    await reconcile(second);
    expect(await refunded(event, second)).toMatchObject({ status: 'cancelled' });
    expect(await endReasonOf(second)).toBe('already_voted');
  });

  test('a vote is given back whichever identity its participant has voted by', async () => {
    const event = await createPaidEvent(service, provider, { voter: { saveVoterInfo: true } });
    const second = await pay(event, 'ballot/cast', {
      visitorId: visitor(),
      email: 'Same@mail.example',
      votes: votesOf(event),
    });
    await vote(event, { visitorId: visitor(), email: 'same@mail.example' });
    await reconcile(second);
    expect(await refunded(event, second)).toMatchObject({ status: 'cancelled' });
  });

  test('a vote stays bought where a visitor may vote again', async () => {
    const event = await createPaidEvent(service, provider, {
      payments: { payToVote: PRICE[provider], repeatVotes: true },
    });
    const visitorId = visitor();
    const second = await pay(event, 'ballot/cast', { visitorId, votes: votesOf(event) });
    await vote(event, { visitorId });
    await reconcile(second);
    expect(await statusOf(second)).toBe('succeeded');
    expect((await post(event, 'ballot/cast', { paymentAttemptId: second })).status).toBe(201);
  });

  test('no money is asked for a ballot that costs more credits than its visitor has left', async () => {
    const settings = { payments: { payToVote: PRICE[provider], repeatVotes: true } };
    const event = await createPaidEvent(service, provider, settings, [
      { votingMethod: 'quadratic', candidates: ['Ada', 'Bea'] },
    ]);
    const visitorId = visitor();
    const start = (value: number) =>
      post(event, 'ballot/cast', {
        visitorId,
        votes: votesOf(event, value),
        email: 'payer@mail.example',
        returnUrl: RETURN_URL,
      });
    const expectShortage = async (value: number, available: number): Promise<void> => {
      const refused = await start(value);
      expect([refused.status, refused.body.error.details]).toEqual([
        422,
        expect.objectContaining({
          field: 'votes',
          reason: 'insufficient_credits',
          positionId: event.positions[0]?.id,
          required: value * value,
          available,
        }),
      ]);
    };
    await expectShortage(11, 100);
    const id = await pay(event, 'ballot/cast', { visitorId, votes: votesOf(event, 8) });
    const { confirmationCode } = demand(await post(event, 'ballot/cast', { paymentAttemptId: id }), 201);
    // Held by a ballot that waits, then spent by it: gone both times.
    await expectShortage(8, 36);
    demand(await post(event, 'ballot/confirm', { confirmationCode }), 200);
    await expectShortage(8, 36);
    expect((await start(6)).status).toBe(402);
  });

  test('credits are given back once their visitor has voted without them', async () => {
    const offer = { pricingModel: 'ratio', currency: PRICE[provider].currency, pricePerCreditMinor: 10_000 };
    const quadratic = {
      votingMethod: 'quadratic',
      candidates: ['Ada', 'Bea'],
      settings: { quadraticTopUp: { ...offer, minCredits: 1, maxCredits: 9 } },
    };
    const event = await createPaidEvent(service, provider, { payments: {} }, [quadratic]);
    const visitorId = visitor();
    const positionId = event.positions[0]?.id;
    const bought = await pay(event, 'quadratic-credits/checkout', { visitorId, positionId, credits: 2 });
    await reconcile(bought);
    expect(await statusOf(bought)).toBe('succeeded');
    const cast = demand(await post(event, 'ballot/cast', { visitorId, votes: votesOf(event, 1) }), 201);
    demand(await post(event, 'ballot/confirm', { confirmationCode: cast.confirmationCode }), 200);
    await reconcile(bought);
    expect(await refunded(event, bought)).toMatchObject({ status: 'cancelled' });
    expect(await endReasonOf(bought)).toBe('already_voted');
  });

  test('a registration is given back once candidates cannot register themselves any more', async () => {
    const event = await createPaidEvent(service, provider, {
      payments: { payToRegisterCandidate: PRICE[provider] },
      candidate: { selfRegistration: true },
    });
    const positionIds = [event.positions[0]?.id];
    const body = { name: 'Cleo', email: 'cleo@mail.example', positionIds };
    const bought = await pay(event, 'register/candidate', body);
    await reconcile(bought);
    expect(await statusOf(bought)).toBe('succeeded');
    const change = { candidate: { selfRegistration: false } };
    demand(await event.account.patch(`/voting-events/${event.id}`, change), 200);
    await reconcile(bought);
    expect(await refunded(event, bought)).toMatchObject({ status: 'cancelled' });
  });

  test('is either given or given back when the second call and the job meet, on two processes', async () => {
    const event = await createPaidEvent(service, provider, {
      payments: { payToRegisterCandidate: PRICE[provider], payToVote: PRICE[provider] },
      candidate: { selfRegistration: true },
    });
    const positionIds = [event.positions[0]?.id];
    const attempts: { readonly id: string; readonly path: string }[] = [];
    for (let index = 0; index < 4; index += 1) {
      const visitorId = visitor();
      for (let tab = 0; tab < 2; tab += 1) {
        const id = await pay(event, 'ballot/cast', { visitorId, votes: votesOf(event) });
        attempts.push({ id, path: 'ballot/cast' });
      }
      const id = await pay(event, 'register/candidate', { name: `Cleo ${index}`, positionIds });
      attempts.push({ id, path: 'register/candidate' });
    }
    const due = 'UPDATE payment_attempts SET check_at = 1 WHERE voting_event_id = $1';
    await service.query(due, [event.id]);
    const jobs = [service, another].map(({ deps }) => reconcilePayments(paymentDeps(deps)));
    const answers = await Promise.all(
      attempts.map(({ id, path }, index) =>
        patiently(() => post(event, path, { paymentAttemptId: id }, index % 2 === 0 ? service : another)),
      ),
    );
    await Promise.all(jobs);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([
      ...Array.from({ length: 8 }, () => 201),
      ...Array.from({ length: 4 }, () => 409),
    ]);
    for (const { id } of attempts) {
      const status = await statusOf(id);
      const rows = await service.query('SELECT 1 FROM payment_refunds WHERE attempt_id = $1', [id]);
      expect([status, rows.length]).toEqual(status === 'fulfilled' ? ['fulfilled', 0] : ['cancelled', 1]);
    }
  });
});
