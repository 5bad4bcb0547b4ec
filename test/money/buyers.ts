import { visitor, votesFor } from '#test/harness/elections.ts';
import { type PaidEvent, type PaidTestService, PRICE, type TestProvider } from '#test/harness/payments.ts';

export const PURPOSES = ['vote', 'quadratic_credits', 'candidate_registration'] as const;
export type Purpose = (typeof PURPOSES)[number];

type Plan = Parameters<PaidTestService['poll']> extends [unknown, ...infer Rest] ? Rest : never;

/** How one purpose is bought. */
interface Buyer {
  /** What an event needs for it: its settings, and its positions. */
  readonly plan: (provider: TestProvider) => Plan;
  readonly path: string;
  /** The first call's body; the second one's is the attempt alone. */
  readonly body: (event: PaidEvent) => object;
}

const quadratic = (provider: TestProvider) => ({
  votingMethod: 'quadratic',
  candidates: ['Ada', 'Bea'],
  settings: {
    quadraticTopUp: {
      ...{ pricingModel: 'ratio', currency: PRICE[provider].currency, pricePerCreditMinor: 10_000 },
      ...{ minCredits: 1, maxCredits: 9 },
    },
  },
});

export const BUYERS: Readonly<Record<Purpose, Buyer>> = {
  vote: {
    plan: () => [{}],
    path: 'ballot/cast',
    body: (event) => ({ visitorId: visitor(), votes: votesFor(event) }),
  },
  quadratic_credits: {
    plan: (provider) => [{ payments: {} }, [quadratic(provider)]],
    path: 'quadratic-credits/checkout',
    body: ({ positions }) => ({ visitorId: visitor(), positionId: positions[0]?.id, credits: 2 }),
  },
  candidate_registration: {
    plan: (provider) => [
      { payments: { payToRegisterCandidate: PRICE[provider] }, candidate: { selfRegistration: true } },
    ],
    path: 'register/candidate',
    body: ({ positions }) => ({ name: visitor(), positionIds: [positions[0]?.id] }),
  },
};
