import type { z } from 'zod';
import type { MoneyRules } from './currencies.ts';

/** A payment business's credentials, stored encrypted. Never log them or put them into an error. */
export interface ProviderCredentials {
  readonly secretKey: string;
  /** The secret that signs the provider's messages; if absent, the secret key signs them. */
  readonly webhookSecret?: string | undefined;
  /** From `describeAccount` when the business was connected: a webhook that names another account is refused. */
  readonly accountId?: string | undefined;
}

export interface AccountDescription {
  readonly accountId: string | null;
  /** Whether the account may take payments. */
  readonly ready: boolean;
  /** ISO 3166-1 alpha-2, upper case; null if the provider does not report the country. */
  readonly country: string | null;
  /** The currencies that both the account and this service's table for the provider support; lowercase, sorted. */
  readonly supportedCurrencies: readonly string[];
  readonly livemode: boolean;
}

/** Everything for a provider's page. Stored before the call: provider_a refuses a known key with a changed request. */
export interface CheckoutRequest {
  readonly attemptId: string;
  /** Made by `referenceFor`. */
  readonly reference: string;
  readonly amountMinor: number;
  readonly currency: string;
  readonly title: string;
  readonly description?: string | null | undefined;
  /** Required if `ProviderKind.needs` contains it. */
  readonly email?: string | null | undefined;
  /** Required if `ProviderKind.needs` contains it. Callers pass the payer's URL unchanged; the adapter appends `paymentAttemptId`. */
  readonly returnUrl?: string | null | undefined;
  /** Where payers go who change their mind. If absent, or if the provider supports none, they go to `returnUrl`. */
  readonly cancelUrl?: string | null | undefined;
  readonly createdAtMs: number;
}

/** A provider's payment page as stored: its URL, and the adapter's own fields to find the page again. */
export interface CheckoutPage {
  readonly provider: string;
  readonly checkoutUrl: string;
  /** When the page stops taking payments; absent if the provider's pages do not expire. */
  readonly expiresAtMs?: number;
  readonly [own: string]: unknown;
}

export interface CheckoutHandle {
  readonly reference: string;
  /** The newest page; null before the provider has returned a page. */
  readonly page: CheckoutPage | null;
}

/** A payment as the provider reports it. `paymentMismatch` compares it with the requested payment. */
export interface ProviderPayment {
  /** In the currency's smallest unit; null if not convertible into that unit: such an amount equals no price. */
  readonly amountMinor: number | null;
  readonly currency: string;
  readonly reference: string | null;
  readonly attemptId: string | null;
  readonly providerPaymentId: string;
  /** When the payer paid, Unix ms; null if the provider does not report it. */
  readonly paidAtMs: number | null;
  /** The provider's fee in the payment's currency; null if the provider reports none, or in another currency. */
  readonly feeMinor: number | null;
  readonly livemode: boolean;
}

/** The state of a page at its provider. Only `paid` means money; unknown provider statuses become `unpaid`. */
export type ProviderState =
  /** `refused`: the last attempt to pay was refused, and the payer may try another card on the same page. */
  | { readonly kind: 'unpaid'; readonly refused: boolean }
  /** The payer is done and the money is under way, which may take days; this state does not expire. */
  | { readonly kind: 'processing' }
  | { readonly kind: 'paid'; readonly payment: ProviderPayment }
  /** Paid, and then returned in full. `backMinor`: what the payer got back, with fees that the payer bore; null as `amountMinor`. */
  | {
      readonly kind: 'reversed';
      readonly cause: 'refund' | 'dispute';
      readonly payment: ProviderPayment;
      readonly backMinor: number | null;
    }
  /** Refused, and the page allows no further attempt. */
  | { readonly kind: 'failed' }
  | { readonly kind: 'expired'; readonly refused: boolean }
  /** The payer gave up. Only the service's own page in a rehearsal reports this: a provider's page stays open. */
  | { readonly kind: 'cancelled' }
  /** The provider does not know the page: the call to create the page never arrived. */
  | { readonly kind: 'missing' };

export interface RefundRequest extends RefundedPayment {
  readonly attemptId: string;
  /** When the provider last refused this refund, if ever: a provider that replays answers by idempotency key then needs a new key. */
  readonly refusedAtMs?: number | undefined;
  /** Asked before a further call that moves money: meanwhile a person may have settled the payment. */
  readonly isStillOwed: () => Promise<boolean>;
}

/** A payment in a provider's list: received, or under way. */
export interface ListedPayment
  extends Pick<ProviderPayment, 'providerPaymentId' | 'amountMinor' | 'currency' | 'feeMinor'> {
  /** The attempt that the payment names, known to this service or not; null for a sale of another shop. */
  readonly attemptId: string | null;
  /** In the provider's words. */
  readonly providerStatus: string;
  readonly paid: boolean;
  /** When it was paid, otherwise when it was begun, Unix ms. */
  readonly atMs: number;
}

/** An unreadable row of a provider's list. The list has all sales of the merchant, so most such rows are not ours. */
export interface OddRow {
  /** Every text and number in the row: if the row is our payment, one of them names it. */
  readonly names: readonly string[];
}

const MOST_NAMES = 1_000;

/** Collects the names in an unreadable row. */
export function oddRow(row: unknown): OddRow {
  const names: string[] = [];
  const collect = (value: unknown): void => {
    if (names.length >= MOST_NAMES) return;
    if (typeof value === 'string' || typeof value === 'number') names.push(String(value));
    else if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) collect(inner);
  };
  collect(row);
  // Some rows hold their metadata as JSON text, so attempt IDs are also searched inside texts.
  return { names: [...names, ...names.flatMap((name) => name.match(/pay_[0-9a-z]{22}/g) ?? [])] };
}

/** `amountMinor` is the refund's own amount: more than the price if the payer also paid the provider's fees. */
export type RefundResult = { readonly amountMinor?: number | null } & (
  | { readonly kind: 'refunded'; readonly refundId: string | null }
  | { readonly kind: 'pending'; readonly refundId: string }
  /** Waits for an action of the merchant at the provider. */
  | { readonly kind: 'attention'; readonly refundId: string }
  | { readonly kind: 'refused'; readonly code: string | null; readonly refundId?: string }
);

export interface RefundedPayment {
  readonly reference: string;
  readonly providerPaymentId: string;
  readonly amountMinor: number;
  readonly currency: string;
  /** Refunds of this payment are searched from this time on. */
  readonly sinceMs: number;
}

const REFUND_WEIGHT: Readonly<Record<RefundResult['kind'], number>> = {
  refunded: 0,
  pending: 1,
  attention: 2,
  refused: 3,
};

export interface PaymentRefunds {
  /** The refund of the whole payment, as one refund or as parts that add up to it; null if there is none. */
  readonly whole: RefundResult | null;
  /** The sum that partial refunds returned, in the currency's smallest unit; 0 if `whole` covers the payment. */
  readonly partMinor: number;
}

const byHope = (refunds: readonly RefundResult[]): RefundResult[] =>
  refunds.toSorted((left, right) => REFUND_WEIGHT[left.kind] - REFUND_WEIGHT[right.kind]);

/** The refund nearest to success counts: failed tries before it do not matter. @param amountMinor what was paid */
export function summariseRefunds(refunds: readonly RefundResult[], amountMinor: number): PaymentRefunds {
  const sizeOf = (refund: RefundResult): number => refund.amountMinor ?? amountMinor;
  const [single] = byHope(refunds.filter((refund) => sizeOf(refund) >= amountMinor));
  if (single !== undefined && single.kind !== 'refused') return { whole: single, partMinor: 0 };
  const parts = refunds.filter((refund) => sizeOf(refund) < amountMinor);
  const sum = (some: readonly RefundResult[]): number => some.reduce((total, refund) => total + sizeOf(refund), 0);
  const live = parts.filter(({ kind }) => kind !== 'refused');
  const partMinor = sum(live.filter(({ kind }) => kind === 'refunded'));
  const [slowest] = byHope(live).toReversed();
  if (slowest !== undefined && sum(live) >= amountMinor) return { whole: { ...slowest, amountMinor }, partMinor: 0 };
  // A refused refund of what remained after partial refunds.
  const rest = parts.find((refund) => refund.kind === 'refused' && partMinor + sizeOf(refund) >= amountMinor);
  return { whole: single ?? rest ?? null, partMinor };
}

/** A refund or dispute in a provider's list, begun by the merchant, the payer or this service. */
export interface ListedReversal extends Pick<ProviderPayment, 'reference' | 'amountMinor'> {
  readonly kind: 'refund' | 'dispute';
  /** `failed`: the payer received no money back, or the money returned to the merchant. */
  readonly status: 'pending' | 'done' | 'failed';
  readonly providerPaymentId: string | null;
}

export interface MessageTarget {
  readonly url: string;
  readonly enabled: boolean;
  /** Message types that this service needs and the target does not receive, in the provider's words. */
  readonly missingKinds: readonly string[];
}

/** A hint that something happened, not a proof: the receiver then reads the checkout at the provider. */
export interface WebhookNotice {
  /** Identifies the event: the same in every delivery of the event, and different from all other events of the account. */
  readonly eventKey: string;
  /** In the provider's words, for the record. */
  readonly eventType: string;
  readonly topic: 'payment' | 'refund' | 'dispute' | 'account' | 'other';
  readonly attemptId: string | null;
  readonly reference: string | null;
  readonly providerPaymentId: string | null;
}

export type WebhookVerdict =
  | { readonly kind: 'genuine'; readonly notice: WebhookNotice }
  | { readonly kind: 'forged'; readonly reason: 'signature' | 'timestamp' | 'account' | 'livemode' }
  /** Signed by the provider, but not in the documented format. */
  | { readonly kind: 'unreadable' };

/** What a payer has to send before a page can be made. */
export type PayerNeed = 'email' | 'returnUrl';

export interface AdapterOptions {
  readonly now: () => number;
  /** Scheme, host and port of the sandbox in tests and in the demo; by default the provider's own. */
  readonly baseUrl?: string | undefined;
  readonly timeoutMs?: number;
}

/** The static properties of a provider, and the factory of its adapter. */
export interface ProviderKind {
  readonly money: MoneyRules;
  /** What the payer's first call must contain (contract, "Checkout flow"). */
  readonly needs: readonly PayerNeed[];
  /** The provider signs messages with a separate secret, not with the secret key. */
  readonly needsWebhookSecret: boolean;
  /** How long to wait for a payment on a page without `expiresAtMs`. */
  readonly pageLifeMs: number;
  /** The fields of `CheckoutPage` that callers see, with their descriptions for the API document. */
  readonly pageView: z.ZodObject;
  /** The fields of a rehearsal's page that replace the provider's IDs. */
  rehearsedPage(id: string): Readonly<Record<string, string>>;
  connect(options: AdapterOptions): PaymentProvider;
}

/** A hosted-checkout provider. Calls may throw `PaymentProviderUnavailable` (try again) or `PaymentProviderRefused`. */
export interface PaymentProvider {
  readonly money: MoneyRules;
  /** The reference of an attempt at the provider; `ordinal` counts the pages made for it, from 1. */
  referenceFor(attemptId: string, ordinal: number): string;
  /** What is wrong with the format of the keys, for the operator, without quoting a key; null if nothing is. */
  keyFault(keys: Partial<ProviderCredentials>): string | null;
  describeAccount(credentials: ProviderCredentials): Promise<AccountDescription>;
  createCheckout(credentials: ProviderCredentials, request: CheckoutRequest): Promise<CheckoutPage>;
  readCheckout(credentials: ProviderCredentials, handle: CheckoutHandle): Promise<ProviderState>;
  /** Closes an unpaid page, if the provider supports that. @returns the page's state afterwards */
  expireCheckout?(credentials: ProviderCredentials, handle: CheckoutHandle): Promise<ProviderState>;
  /** Refunds the rest of a payment, with the fees that the payer paid. Idempotent: a repeat for the same attempt never pays twice. */
  refund(credentials: ProviderCredentials, request: RefundRequest): Promise<RefundResult>;
  /** Reads the present state of a refund that was `pending`. */
  readRefund(credentials: ProviderCredentials, refundId: string): Promise<RefundResult>;
  /** The refunds of a payment, including refunds that the merchant began at the provider. */
  findRefunds(credentials: ProviderCredentials, payment: RefundedPayment): Promise<PaymentRefunds>;
  /** The attempt of a reference made by `referenceFor`; null for any other reference. */
  attemptOfReference(reference: string): string | null;
  /** Payments since a moment, newest first, a page at a time. */
  listPayments(credentials: ProviderCredentials, sinceMs: number): AsyncGenerator<ListedPayment | OddRow>;
  /** Refunds and disputes that were begun since a moment, a page at a time. */
  listReversals(credentials: ProviderCredentials, sinceMs: number): AsyncGenerator<ListedReversal | OddRow>;
  /** What `listPayments` cannot show, in words for the operator. */
  readonly notListed: string;
  /** The webhook endpoints configured at the provider; absent if the provider's API does not list them. */
  listMessageTargets?(credentials: ProviderCredentials): Promise<MessageTarget[]>;
  /** @param rawBody the bytes as received, which the signature covers */
  verifyWebhook(credentials: ProviderCredentials, rawBody: Uint8Array, headers: Headers): WebhookVerdict;
  close(): Promise<void>;
}

export const isAttemptId = (text: string): boolean => /^pay_[0-9a-hjkmnp-tv-z]{22}$/.test(text);

/** What is wrong with the format of a secret key, for any provider; null if nothing is. */
export function secretKeyFault(secretKey: string | undefined): string | null {
  if (/^[a-z]{2}_org_/.test(secretKey ?? ''))
    return 'this is the key of an organization (sk_org_…): the key of one account is needed, which begins with sk_live_ or sk_test_';
  if (secretKey?.startsWith('pk_')) return 'this is a publishable key: the secret key is needed, which begins with sk_';
  return secretKey?.startsWith('whsec_') ? 'this is the secret of a webhook: the secret key begins with sk_' : null;
}

/** Whether a key moves real money: both providers show it in the key's first characters. */
export function isLiveKey(secretKey: string): boolean {
  return /^[a-z]{2}_(?:org_)?live_/.test(secretKey);
}

interface ExpectedPayment extends Pick<ProviderPayment, 'amountMinor' | 'currency' | 'livemode'> {
  readonly attemptId: string;
  /** All references ever made for the attempt. */
  readonly references: readonly string[];
}

export type PaymentMismatch = 'reference' | 'attempt' | 'amount' | 'currency' | 'livemode';

/** The first difference between a payment and the expected payment. Only without a difference (null) may it be fulfilled. */
export function paymentMismatch(payment: ProviderPayment, expected: ExpectedPayment): PaymentMismatch | null {
  if (payment.reference === null || !expected.references.includes(payment.reference)) return 'reference';
  if (payment.attemptId !== null && payment.attemptId !== expected.attemptId) return 'attempt';
  if (payment.currency !== expected.currency) return 'currency';
  if (payment.amountMinor !== expected.amountMinor) return 'amount';
  return payment.livemode === expected.livemode ? null : 'livemode';
}

/** Name of the attempt's ID in return URLs and in the providers' metadata. */
export const ATTEMPT_PARAMETER = 'paymentAttemptId';

/** A return URL with `paymentAttemptId`. Query and fragment keep their text: a URL object would break signed URLs. */
export function appendAttempt(returnUrl: string, attemptId: string): string {
  const hash = returnUrl.indexOf('#');
  const address = hash === -1 ? returnUrl : returnUrl.slice(0, hash);
  const fragment = hash === -1 ? '' : returnUrl.slice(hash);
  const separator = !address.includes('?') ? '?' : /[?&]$/.test(address) ? '' : '&';
  return `${address}${separator}${ATTEMPT_PARAMETER}=${encodeURIComponent(attemptId)}${fragment}`;
}
