import { demand, visitor, votesFor } from '#test/harness/elections.ts';
import { type PaidEvent, type PaidTestService, PRICE, soldCredits, type TestProvider } from '#test/harness/payments.ts';

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

export const BUYERS: Readonly<Record<Purpose, Buyer>> = {
  vote: {
    plan: () => [{}],
    path: 'ballot/cast',
    body: (event) => ({ visitorId: visitor(), votes: votesFor(event) }),
  },
  quadratic_credits: {
    plan: (provider) => [{ payments: {} }, [soldCredits(provider)]],
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

/** An event that sells one thing. */
export interface Shop extends PaidEvent {
  readonly purpose: Purpose;
}

/** A shop with a business of its own. @param settings more of the event; an open one unless said otherwise */
export async function openShop(
  { poll }: PaidTestService,
  purpose: Purpose,
  provider: TestProvider,
  settings: Readonly<Record<string, unknown>> = {},
  open = true,
): Promise<Shop> {
  const [own, plans] = BUYERS[purpose].plan(provider);
  return { ...(await poll(provider, { ...own, ...settings }, plans, open)), purpose };
}

/** How much stands in the event of what payments bought: ballots in its result, credits bought by some of them, candidates. */
export async function countGiven(
  { service }: PaidTestService,
  { purpose, id, account }: Shop,
  attempts: readonly string[],
): Promise<number> {
  if (purpose === 'vote') {
    const { stats, afterReversals } = demand(await account.get(`/voting-events/${id}/results`), 200);
    return afterReversals?.ballots ?? stats.ballots;
  }
  const text =
    purpose === 'quadratic_credits'
      ? `SELECT count(*)::int AS given FROM credit_entries WHERE voting_event_id = $1 AND kind = 'purchase' AND reason = ANY ($2)`
      : 'SELECT count(*)::int AS given FROM candidates WHERE voting_event_id = $1 AND payment_attempt_id = ANY ($2)';
  const [row] = await service.query<{ given: number }>(text, [id, attempts]);
  return row?.given ?? 0;
}
