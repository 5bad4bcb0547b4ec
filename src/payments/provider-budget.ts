import { monotonicMs } from '#src/platform/clock.ts';
import type { PaymentDeps } from './payment-deps.ts';

/**
 * How often one business is asked about by its callers, all processes together: well below what the providers allow a merchant,
 * who may use the account for other things too.
 */
const CALLS_PER_MINUTE = 600;
const BURST = 60;
/** What reads leave to those who finish a payment, or begin one. */
const RESERVED = 30;

type BudgetDeps = Pick<PaymentDeps, 'rateLimiter'>;
const keyOf = (businessId: string): string => `provider:${businessId}`;

/** Takes a call from a business's budget; false when there is none left. @param isRead leaves the reserve alone */
export function takeCall(deps: BudgetDeps, businessId: string, isRead: boolean): boolean {
  const { rateLimiter } = deps;
  if (rateLimiter === undefined) return true;
  const state = rateLimiter.look(keyOf(businessId), CALLS_PER_MINUTE, monotonicMs(), BURST);
  if (state.retryAfterSeconds !== undefined || (isRead && state.remaining < RESERVED)) return false;
  countCall(deps, businessId);
  return true;
}

/** Counts a call to the provider of a business. */
export function countCall({ rateLimiter }: BudgetDeps, businessId: string): void {
  rateLimiter?.take(keyOf(businessId), CALLS_PER_MINUTE, monotonicMs(), BURST);
}
