import { expect, test } from 'vitest';
import { demand, visitor } from '#test/harness/elections.ts';
import {
  checkoutUrlOf,
  createPaidEvent,
  decide,
  type PaidEvent,
  PRICE,
  PROVIDERS,
  RETURN_URL,
  referenceOf,
  usePaidService,
} from '#test/harness/payments.ts';

const { service, sandbox } = await usePaidService();

/** Both calls of a checkout with its payment between them; its attempt and what it brought. */
async function pay(event: PaidEvent, path: string, body: object) {
  const first = await event.page(path, { email: 'payer@mail.example', returnUrl: RETURN_URL, ...body });
  const { paymentAttemptId } = demand(first, 402);
  await decide(checkoutUrlOf(first), 'pay');
  const { status, body: answer } = await event.page(path, { paymentAttemptId });
  expect([200, 201]).toContain(status);
  return { attempt: paymentAttemptId as string, data: answer.data };
}

async function reverse(event: PaidEvent, attempt: string): Promise<void> {
  await sandbox.reverse(referenceOf(event, attempt), 'refund');
  await event.until(attempt, ({ reversedAt }) => reversedAt !== null);
}

test.each(PROVIDERS)(
  'reversed credits make void, through %s, the first ballot that could not be cast without them; what it spent is there again',
  async (provider) => {
    const { currency } = PRICE[provider];
    const quadraticTopUp = {
      pricingModel: 'ratio',
      currency,
      pricePerCreditMinor: 5_000,
      minCredits: 1,
      maxCredits: 99,
    };
    const event = await createPaidEvent(
      service,
      provider,
      { payments: { payToVote: PRICE[provider], repeatVotes: true }, results: { visibility: 'live' } },
      [
        {
          votingMethod: 'quadratic',
          candidates: ['Ada', 'Bea'],
          settings: { quadraticBaseCreditBudget: 5, quadraticTopUp },
        },
      ],
    );
    const [position] = event.positions;
    const visitorId = visitor();
    const buy = async (credits: number): Promise<string> =>
      (await pay(event, 'quadratic-credits/checkout', { visitorId, positionId: position?.id, credits })).attempt;
    const vote = async (value: number): Promise<void> => {
      const votes = [{ positionId: position?.id, candidateId: position?.candidates[0], value }];
      const { data } = await pay(event, 'ballot/cast', { visitorId, votes });
      demand(await event.page('ballot/confirm', { confirmationCode: data.confirmationCode }), 200);
    };
    const state = async () => {
      const query = `positionId=${position?.id}&visitorId=${visitorId}`;
      const { data } = (await event.page(`quadratic-credits?${query}`)).body;
      const { positions } = demand(await event.account.get(`/voting-events/${event.id}/results`), 200);
      const { purchasedCredits, spentCredits, heldCredits, availableCredits } = data;
      return [positions[0].candidates[0].votesWon, purchasedCredits, spentCredits, heldCredits, availableCredits];
    };
    const forty = await buy(40);
    const twenty = await buy(20);
    for (const value of [2, 7, 3]) await vote(value);
    expect(await state()).toEqual([12, 60, 62, 0, 3]);
    // Of 25 credits 4 are spent; 49 are too many, 9 are not.
    await reverse(event, forty);
    expect(await state()).toEqual([5, 20, 13, 0, 12]);
    // What is left can be spent.
    await vote(3);
    expect(await state()).toEqual([8, 20, 22, 0, 3]);
    await reverse(event, twenty);
    expect(await state()).toEqual([2, 0, 4, 0, 1]);
  },
);
