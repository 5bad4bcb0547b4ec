import type { paymentAttempts, paymentBusinesses } from './tables.ts';

export type PaymentPurpose = 'vote' | 'candidate_registration' | 'quadratic_credits';
export const PAYMENT_PURPOSES = ['vote', 'candidate_registration', 'quadratic_credits'] as const;

export type AttemptStatus = 'created' | 'pending' | 'succeeded' | 'fulfilled' | 'failed' | 'cancelled';
export const ATTEMPT_STATUSES = ['created', 'pending', 'succeeded', 'fulfilled', 'failed', 'cancelled'] as const;

/** A merchant's account at a provider, as an operator connected it. Its credentials stay sealed. */
export type PaymentBusiness = Readonly<typeof paymentBusinesses.$inferSelect>;

/** What a provider's page is made of, stored before the provider is asked: a repeated call must be the same. */
export interface CheckoutTerms {
  readonly title: string;
  readonly description: string | null;
  readonly email: string | null;
  readonly returnUrl: string | null;
  readonly cancelUrl: string | null;
  /** Quadratic credit checkouts say how many credits the money buys (contract, "Payment-required body"). */
  readonly credits: number | null;
  readonly pricingModel: 'ratio' | 'tiered' | null;
}

/**
 * How money stands that is to go back. `refused`: the provider said no, and is asked again. `attention`: it waits for the
 * merchant. `failed`: no one is asked any more, or the money came back to the merchant after it had been given back.
 */
export type RefundStatus = 'due' | 'pending' | 'attention' | 'refunded' | 'refused' | 'failed';

/** Why an attempt ended without what was paid for. */
export type EndReason =
  | 'expired'
  | 'declined'
  | 'mismatch'
  | 'refused_by_provider'
  | 'refunded_at_provider'
  | 'event_closed'
  | 'event_gone'
  | 'already_voted'
  | 'not_accepted';

/** One try to pay for one thing; which call made it and which process asks are the statements' own business. */
export type PaymentAttempt = Readonly<Omit<typeof paymentAttempts.$inferSelect, 'requestKey' | 'askingBy'>>;
