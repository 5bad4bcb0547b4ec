import { type Plan, requireFeature } from '#src/accounts/plans.ts';
import type { Executor } from '#src/database/client.ts';
import type { Issue } from '#src/platform/errors.ts';
import type { EventFields } from './schemas.ts';
import type { Price } from './types.ts';

/** What decides whether a price can be asked for. Payment businesses are kept further down the house, and handed in. */
export interface Pricing {
  /** What is wrong with a price of an event, or undefined (completions 3, rule 5). */
  fault(
    executor: Executor,
    event: { readonly accountId: string; readonly paymentBusinessId: string | null },
    price: Price,
  ): Promise<string | undefined>;
}

const PRICES = ['payToVote', 'payToRegisterCandidate'] as const;

/**
 * What is wrong with the prices that a body sets.
 * @throws ApiError 403 `plan_feature` when the plan has no paid features
 */
export async function priceIssues(
  executor: Executor,
  pricing: Pricing,
  plan: Plan,
  event: { readonly accountId: string; readonly paymentBusinessId: string | null },
  body: Pick<EventFields, 'payments'>,
): Promise<Issue[]> {
  const issues: Issue[] = [];
  for (const name of PRICES) {
    const price = body.payments?.[name];
    if (price == null) continue;
    requireFeature(plan, 'paid_features');
    const message = await pricing.fault(executor, event, price);
    if (message !== undefined) issues.push({ field: `payments.${name}`, message });
  }
  return issues;
}
