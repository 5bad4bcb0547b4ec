import { type Plan, requireFeature } from '#src/accounts/plans.ts';
import type { Executor } from '#src/database/client.ts';
import type { Issue } from '#src/platform/errors.ts';
import type { Price, VotingEvent } from './voting-event.ts';

export interface PriceFault {
  readonly about: 'business' | 'currency' | 'amount';
  readonly message: string;
}

/** Validates prices. `pricing` in src/payments implements it, because this folder may not import that folder. */
export interface Pricing {
  /** Why the event's business cannot take a price; undefined if it can (completions 3, rule 5). */
  fault(executor: Executor, event: PricedEvent, price: Price): Promise<PriceFault | undefined>;
}

type PricedEvent = Pick<VotingEvent, 'accountId' | 'paymentBusinessId'>;

const PRICES = ['payToVote', 'payToRegisterCandidate'] as const;

type Prices = { readonly [Name in (typeof PRICES)[number]]?: Price | null | undefined };

/** @throws ApiError 403 `plan_feature` if a price is set but the plan has no paid features */
export function requirePricing(plan: Plan, prices: Prices): void {
  if (PRICES.some((name) => prices[name] != null)) requireFeature(plan, 'paid_features');
}

export async function priceIssues(
  executor: Executor,
  pricing: Pricing,
  event: PricedEvent,
  prices: Prices,
): Promise<Issue[]> {
  const issues: Issue[] = [];
  for (const name of PRICES) {
    const price = prices[name];
    const fault = price == null ? undefined : await pricing.fault(executor, event, price);
    if (fault !== undefined) issues.push({ field: `payments.${name}`, message: fault.message });
  }
  return issues;
}
