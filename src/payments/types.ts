import type { CheckoutPage, ProviderName } from './providers/provider.ts';

export type PaymentPurpose = 'vote' | 'candidate_registration' | 'quadratic_credits';
export const PAYMENT_PURPOSES = ['vote', 'candidate_registration', 'quadratic_credits'] as const;

export type AttemptStatus = 'created' | 'pending' | 'succeeded' | 'fulfilled' | 'failed' | 'cancelled';
export const ATTEMPT_STATUSES = ['created', 'pending', 'succeeded', 'fulfilled', 'failed', 'cancelled'] as const;

/** A merchant's account at a provider, as an operator connected it. Its credentials stay sealed. */
export interface PaymentBusiness {
  readonly id: string;
  readonly accountId: string;
  readonly provider: ProviderName;
  readonly displayName: string;
  readonly country: string;
  readonly ready: boolean;
  readonly supportedCurrencies: readonly string[];
  readonly livemode: boolean;
  /** Its money is play money: the sandbox of this service answers for the provider. */
  readonly sandbox: boolean;
  readonly credentials: string;
  readonly disconnectedAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

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

export interface PaymentAttempt {
  readonly votingEventId: string;
  readonly id: string;
  readonly accountId: string;
  readonly paymentBusinessId: string;
  readonly purpose: PaymentPurpose;
  readonly status: AttemptStatus;
  readonly provider: ProviderName;
  readonly amountMinor: number;
  readonly currency: string;
  /** The body of the first call, without what only the checkout needs. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly terms: CheckoutTerms;
  /** The newest page at the provider. */
  readonly page: CheckoutPage | null;
  /** How many pages were asked for; each has its own reference where the provider wants that. */
  readonly pages: number;
  /** When the newest page stops taking money, where that is known. */
  readonly expiresAt: number;
  readonly providerPaymentId: string | null;
  /** Which of its references was paid. */
  readonly providerReference: string | null;
  readonly endReason: EndReason | null;
  /** Sealed. */
  readonly confirmationCode: string | null;
  /** Sealed: what the first second call was answered, for all that follow. */
  readonly answer: string | null;
  readonly askedAt: number | null;
  readonly askingUntil: number | null;
  /** When the payer paid, as the provider says, or when we learnt of it. */
  readonly paidAt: number | null;
  readonly checkAt: number | null;
  readonly checks: number;
  readonly refundedAt: number | null;
  readonly reversedAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}
