import type { z } from 'zod';
import type { MoneyRules } from './currencies.ts';

/** A payment business's credentials, stored encrypted. Never log them or put them into an error. */
export interface ProviderCredentials {
  readonly secretKey: string;
  /** The secret that signs the provider's messages; if absent, the secret key signs them. */
  readonly webhookSecret?: string | undefined;
  /** The account as `describeAccount` reported it when the business was connected. A webhook that names another account is refused. */
  readonly accountId?: string | undefined;
}

export interface AccountDescription {
  readonly accountId: string | null;
  /** Whether the account may take payments. */
  readonly ready: boolean;
  /** ISO 3166-1 alpha-2, upper case; null if the provider does not report the country. */
  readonly country: string | null;
  /** The lowercase, sorted currencies that the account and this service's table for the provider have in common. */
  readonly supportedCurrencies: readonly string[];
  readonly livemode: boolean;
}

/** Everything that a provider's page needs. It is stored before the call, because provider_a refuses a known key with a changed request. */
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
  /** Where payers go if they change their mind. They go to `returnUrl` if this is absent, or if the provider supports none. */
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
  /** In the currency's smallest unit. Null if it cannot be converted to that unit; null equals no price. */
  readonly amountMinor: number | null;
  readonly currency: string;
  readonly reference: string | null;
  readonly attemptId: string | null;
  readonly providerPaymentId: string;
  /** When the payer paid, Unix ms; null if the provider does not report it. */
  readonly paidAtMs: number | null;
  /** The provider's fee in the payment's currency; null if it reports no fee, or one in another currency. */
  readonly feeMinor: number | null;
  readonly livemode: boolean;
}

/** The state of a page at its provider. Only `paid` means money. A status that this service does not know becomes `unpaid`. */
export type ProviderState =
  /** `refused`: the last attempt to pay was refused. The payer may try another card on the same page. */
  | { readonly kind: 'unpaid'; readonly refused: boolean }
  /** The payer has finished, and the money is under way, which may take days. This state does not expire. */
  | { readonly kind: 'processing' }
  | { readonly kind: 'paid'; readonly payment: ProviderPayment }
  /** Paid, and then returned in full. `backMinor`: what the payer got back, with fees that the payer bore; null like `amountMinor`. */
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
  /** When the provider last refused this refund, if ever. A provider that replays its answers needs a new idempotency key then. */
  readonly refusedAtMs?: number | undefined;
  /** Called before a further call that moves money, because a person may have settled the payment meanwhile. */
  readonly isStillOwed: () => Promise<boolean>;
}

/** A payment in a provider's list, received or still under way. */
export interface ListedPayment
  extends Pick<ProviderPayment, 'providerPaymentId' | 'amountMinor' | 'currency' | 'feeMinor'> {
  /** The attempt that the payment names, even if this service does not know it; null for a sale of another shop. */
  readonly attemptId: string | null;
  /** The status as the provider names it. */
  readonly providerStatus: string;
  readonly paid: boolean;
  /** When the payment was made, or otherwise when it was begun; Unix ms. */
  readonly atMs: number;
}

/** An unreadable row of a provider's list. The list has all sales of the merchant, so most such rows are not ours. */
export interface OddRow {
  /** Every text and number in the row. If the row is a payment of this service, one of them names it. */
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
  // Some rows contain their metadata as JSON text, so attempt IDs are also searched for within texts.
  return { names: [...names, ...names.flatMap((name) => name.match(/pay_[0-9a-z]{22}/g) ?? [])] };
}

/** `amountMinor` is the amount of this refund. It exceeds the price if the payer also paid the provider's fees. */
export type RefundResult = { readonly amountMinor?: number | null } & (
  | { readonly kind: 'refunded'; readonly refundId: string | null }
  | { readonly kind: 'pending'; readonly refundId: string }
  /** The refund waits until the merchant acts at the provider. */
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

/** Summarises refunds. The refund nearest to success counts: failed attempts before it do not matter. @param amountMinor of the payment */
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
  // The refused refund of the rest that partial refunds had left.
  const rest = parts.find((refund) => refund.kind === 'refused' && partMinor + sizeOf(refund) >= amountMinor);
  return { whole: single ?? rest ?? null, partMinor };
}

/** A refund or dispute in a provider's list. The merchant, the payer or this service began it. */
export interface ListedReversal extends Pick<ProviderPayment, 'reference' | 'amountMinor'> {
  readonly kind: 'refund' | 'dispute';
  /** `failed`: the payer got no money back, or the money was returned to the merchant. */
  readonly status: 'pending' | 'done' | 'failed';
  readonly providerPaymentId: string | null;
}

export interface MessageTarget {
  readonly url: string;
  readonly enabled: boolean;
  /** Message types that this service needs but the target does not receive, as the provider names them. */
  readonly missingKinds: readonly string[];
}

/** A hint that something happened, not a proof. The receiver then reads the checkout's state at the provider. */
export interface WebhookNotice {
  /** Identifies the event among all events of the account. Each delivery of the event has the same key. */
  readonly eventKey: string;
  /** The type as the provider names it, for the record. */
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
  /** Scheme, host and port of the sandbox in tests and in the demo; by default those of the provider. */
  readonly baseUrl?: string | undefined;
  readonly timeoutMs?: number;
}

/** The static properties of a provider, and the factory of its adapter. */
export interface ProviderKind {
  readonly money: MoneyRules;
  /** What the payer's first call must contain (contract, "Checkout flow"). */
  readonly needs: readonly PayerNeed[];
  /** Whether the provider signs its messages with a separate secret instead of the secret key. */
  readonly needsWebhookSecret: boolean;
  /** How long to wait for a payment on a page without `expiresAtMs`. */
  readonly pageLifeMs: number;
  /** The fields of `CheckoutPage` that callers see, with their descriptions for the API document. */
  readonly pageView: z.ZodObject;
  /** The fields of a rehearsal's page, in place of the provider's IDs. */
  rehearsedPage(id: string): Readonly<Record<string, string>>;
  connect(options: AdapterOptions): PaymentProvider;
}

/** A hosted-checkout provider. Calls may throw `PaymentProviderUnavailable` (try again) or `PaymentProviderRefused`. */
export interface PaymentProvider {
  readonly money: MoneyRules;
  /** The reference of an attempt at the provider. `ordinal` counts, from 1, the pages that were made for the attempt. */
  referenceFor(attemptId: string, ordinal: number): string;
  /** Explains to the operator what is wrong with the format of the keys, without quoting a key; null if nothing is. */
  keyFault(keys: Partial<ProviderCredentials>): string | null;
  describeAccount(credentials: ProviderCredentials): Promise<AccountDescription>;
  createCheckout(credentials: ProviderCredentials, request: CheckoutRequest): Promise<CheckoutPage>;
  readCheckout(credentials: ProviderCredentials, handle: CheckoutHandle): Promise<ProviderState>;
  /** Closes an unpaid page, if the provider supports that. @returns the page's state afterwards */
  expireCheckout?(credentials: ProviderCredentials, handle: CheckoutHandle): Promise<ProviderState>;
  /** Refunds the rest of a payment, with fees that the payer paid. Idempotent: a repeated call for the same attempt never pays twice. */
  refund(credentials: ProviderCredentials, request: RefundRequest): Promise<RefundResult>;
  /** Reads the present state of a refund that was `pending`. */
  readRefund(credentials: ProviderCredentials, refundId: string): Promise<RefundResult>;
  /** The refunds of a payment, including refunds that the merchant began at the provider. */
  findRefunds(credentials: ProviderCredentials, payment: RefundedPayment): Promise<PaymentRefunds>;
  /** The attempt of a reference made by `referenceFor`; null for any other reference. */
  attemptOfReference(reference: string): string | null;
  /** Yields payments made since a moment, newest first, a page at a time. */
  listPayments(credentials: ProviderCredentials, sinceMs: number): AsyncGenerator<ListedPayment | OddRow>;
  /** Yields refunds and disputes begun since a moment, a page at a time. */
  listReversals(credentials: ProviderCredentials, sinceMs: number): AsyncGenerator<ListedReversal | OddRow>;
  /** Explains to the operator which payments `listPayments` cannot show. */
  readonly notListed: string;
  /** The webhook endpoints configured at the provider; absent if the provider's API does not list them. */
  listMessageTargets?(credentials: ProviderCredentials): Promise<MessageTarget[]>;
  /** @param rawBody the bytes as received, which the signature covers */
  verifyWebhook(credentials: ProviderCredentials, rawBody: Uint8Array, headers: Headers): WebhookVerdict;
  close(): Promise<void>;
}

export const isAttemptId = (text: string): boolean => /^pay_[0-9a-hjkmnp-tv-z]{22}$/.test(text);

/** What is wrong with the format of a secret key of any provider; null if nothing is. */
export function secretKeyFault(secretKey: string | undefined): string | null {
  if (/^[a-z]{2}_org_/.test(secretKey ?? ''))
    return 'this is the key of an organization (sk_org_…): the key of one account is needed, which begins with sk_live_ or sk_test_';
  if (secretKey?.startsWith('pk_')) return 'this is a publishable key: the secret key is needed, which begins with sk_';
  return secretKey?.startsWith('whsec_') ? 'this is the secret of a webhook: the secret key begins with sk_' : null;
}

/** Whether a key moves real money. Both providers show this in the key's first characters. */
export function isLiveKey(secretKey: string): boolean {
  return /^[a-z]{2}_(?:org_)?live_/.test(secretKey);
}

interface ExpectedPayment extends Pick<ProviderPayment, 'amountMinor' | 'currency' | 'livemode'> {
  readonly attemptId: string;
  /** All references that were ever made for the attempt. */
  readonly references: readonly string[];
}

export type PaymentMismatch = 'reference' | 'attempt' | 'amount' | 'currency' | 'livemode';

/** The first difference between a payment and the expected payment; null for none. Only then may the payment be fulfilled. */
export function paymentMismatch(payment: ProviderPayment, expected: ExpectedPayment): PaymentMismatch | null {
  if (payment.reference === null || !expected.references.includes(payment.reference)) return 'reference';
  if (payment.attemptId !== null && payment.attemptId !== expected.attemptId) return 'attempt';
  if (payment.currency !== expected.currency) return 'currency';
  if (payment.amountMinor !== expected.amountMinor) return 'amount';
  return payment.livemode === expected.livemode ? null : 'livemode';
}

/** Name of the attempt's ID in return URLs and in the providers' metadata. */
export const ATTEMPT_PARAMETER = 'paymentAttemptId';

/** Adds `paymentAttemptId` to a return URL. Query and fragment keep their exact text: a URL object would break signed URLs. */
export function appendAttempt(returnUrl: string, attemptId: string): string {
  const hash = returnUrl.indexOf('#');
  const address = hash === -1 ? returnUrl : returnUrl.slice(0, hash);
  const fragment = hash === -1 ? '' : returnUrl.slice(hash);
  const separator = !address.includes('?') ? '?' : /[?&]$/.test(address) ? '' : '&';
  return `${address}${separator}${ATTEMPT_PARAMETER}=${encodeURIComponent(attemptId)}${fragment}`;
}
