import type { z } from 'zod';
import type { MoneyRules } from './currencies.ts';

/** What a payment business holds sealed. Never logged, never part of an error. */
export interface ProviderCredentials {
  readonly secretKey: string;
  /** Where messages are signed with a secret of their own; otherwise the secret key signs them. */
  readonly webhookSecret?: string | undefined;
  /** As `describeAccount` gave it when the business was connected: a webhook that names another account is refused. */
  readonly accountId?: string | undefined;
}

export interface AccountDescription {
  readonly accountId: string | null;
  /** The account may take payments. */
  readonly ready: boolean;
  /** ISO 3166-1 alpha-2, upper case; null where the provider does not say. */
  readonly country: string | null;
  /** Lowercase and sorted: those that both the account and our table of the provider know. */
  readonly supportedCurrencies: readonly string[];
  readonly livemode: boolean;
}

/**
 * Everything a provider's page is made of. It is stored before the call, so that a repeated call is the same to the
 * byte: provider_a refuses a known idempotency key with anything else in it.
 */
export interface CheckoutRequest {
  readonly attemptId: string;
  /** Made by `referenceFor`. */
  readonly reference: string;
  readonly amountMinor: number;
  readonly currency: string;
  readonly title: string;
  readonly description?: string | undefined;
  /** Present where the provider's kind needs it. */
  readonly email?: string | undefined;
  /** Present where the provider's kind needs it. `paymentAttemptId` is appended here, callers pass it as they got it. */
  readonly returnUrl?: string | undefined;
  /** Without one, and where a provider knows none, payers who change their mind go to `returnUrl`. */
  readonly cancelUrl?: string | undefined;
  readonly createdAtMs: number;
}

/** A page at a provider, as it is stored; what its adapter needs to find it again stands beside the address. */
export interface CheckoutPage {
  readonly provider: string;
  readonly checkoutUrl: string;
  /** When it stops taking money; absent where the provider ends none by itself. */
  readonly expiresAtMs?: number;
  readonly [own: string]: unknown;
}

export interface CheckoutHandle {
  readonly reference: string;
  /** The newest page; null before the provider has answered with one. */
  readonly page: CheckoutPage | null;
}

/** What the provider says that somebody paid. Nothing of it is compared yet: that is what `paymentMismatch` is for. */
export interface ProviderPayment {
  /** Null when the figure is none that this service can ask for in this currency: it equals no price. */
  readonly amountMinor: number | null;
  readonly currency: string;
  readonly reference: string | null;
  readonly attemptId: string | null;
  readonly providerPaymentId: string;
  /** When the payer paid, as the provider says; null where it does not. */
  readonly paidAtMs: number | null;
  /** What the provider kept, in the payment's own currency; null where it does not say, or says it in another one. */
  readonly feeMinor: number | null;
  readonly livemode: boolean;
}

/** The state of a page at its provider. Only `paid` is money; whatever we do not understand is `unpaid`. */
export type ProviderState =
  /** `refused`: the last try to pay was refused, and the payer may try another card on the same page. */
  | { readonly kind: 'unpaid'; readonly providerStatus: string; readonly refused: boolean }
  /** The payer has done their part and the money is under way: it may take days, and does not expire. */
  | { readonly kind: 'processing'; readonly providerStatus: string }
  | { readonly kind: 'paid'; readonly payment: ProviderPayment }
  /** Was paid, and the whole of it went back. */
  | { readonly kind: 'reversed'; readonly cause: 'refund' | 'dispute'; readonly payment: ProviderPayment }
  /** Refused, and its page takes no other try. */
  | { readonly kind: 'failed'; readonly providerStatus: string }
  | { readonly kind: 'expired'; readonly refused: boolean }
  /** Given up by its payer. No provider says so, since its page stays open: the service's own page in a rehearsal does. */
  | { readonly kind: 'cancelled' }
  /** The provider knows nothing of it: the call that should have made it never arrived. */
  | { readonly kind: 'missing' };

export interface RefundRequest extends RefundedPayment {
  readonly attemptId: string;
  /** When the provider refused last, where it did. One that keeps its answers gives that one no second time. */
  readonly refusedAtMs?: number | undefined;
}

/** A payment as a provider lists it: money that came, or is under way. */
export interface ListedPayment {
  readonly providerPaymentId: string;
  /** The attempt that it names, whether this service knows it or not; null for what was sold elsewhere. */
  readonly attemptId: string | null;
  /** In the currency's smallest unit; null when the figure is none that this service can ask for. */
  readonly amountMinor: number | null;
  readonly currency: string;
  /** In the provider's words. */
  readonly providerStatus: string;
  readonly paid: boolean;
  /** As in `ProviderPayment`. */
  readonly feeMinor: number | null;
  /** When it was paid, or begun, Unix milliseconds. */
  readonly atMs: number;
}

/** A row of a provider's list that cannot be read. The list is of everything that the merchant sells: most are not ours. */
export interface OddRow {
  /** Every text and number in the row: a payment of ours is named by one of them. */
  readonly names: readonly string[];
}

const MOST_NAMES = 1_000;

/** What an unreadable row names. */
export function oddRow(row: unknown): OddRow {
  const names: string[] = [];
  const collect = (value: unknown): void => {
    if (names.length >= MOST_NAMES) return;
    if (typeof value === 'string' || typeof value === 'number') names.push(String(value));
    else if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) collect(inner);
  };
  collect(row);
  // Some hold their metadata as text.
  return { names: [...names, ...names.flatMap((name) => name.match(/pay_[0-9a-z]{22}/g) ?? [])] };
}

/** `amountMinor` is what the refund itself names: more than was paid for where the payer bore the provider's fees too. */
export type RefundResult = { readonly amountMinor?: number | null } & (
  | { readonly kind: 'refunded'; readonly refundId: string | null }
  | { readonly kind: 'pending'; readonly refundId: string }
  /** Waits for the merchant, who has to do something at the provider. */
  | { readonly kind: 'attention'; readonly refundId: string }
  | { readonly kind: 'refused'; readonly code: string | null; readonly refundId?: string }
);

export interface RefundedPayment {
  readonly reference: string;
  readonly providerPaymentId: string;
  readonly amountMinor: number;
  readonly currency: string;
  /** No refund of it is older. */
  readonly sinceMs: number;
}

const REFUND_WEIGHT: Readonly<Record<RefundResult['kind'], number>> = {
  refunded: 0,
  pending: 1,
  attention: 2,
  refused: 3,
};

export interface PaymentRefunds {
  /** How the return of the whole payment stands, in one refund or in parts that add up to it; null where there is none. */
  readonly whole: RefundResult | null;
  /** What refunds of parts have given back while they are less than the whole, in the currency's smallest unit. */
  readonly partMinor: number;
}

const byHope = (refunds: readonly RefundResult[]): RefundResult[] =>
  refunds.toSorted((left, right) => REFUND_WEIGHT[left.kind] - REFUND_WEIGHT[right.kind]);

/**
 * What a list of a payment's refunds comes to. The one that gives most hope counts: a payment is given back once, however often
 * that failed before.
 * @param amountMinor what was paid
 */
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
  // The rest of what parts had given back was refused.
  const rest = parts.find((refund) => refund.kind === 'refused' && partMinor + sizeOf(refund) >= amountMinor);
  return { whole: single ?? rest ?? null, partMinor };
}

/** Money on its way back, as a provider lists it: a refund or a dispute, begun by the merchant, the payer or this service. */
export interface ListedReversal {
  readonly kind: 'refund' | 'dispute';
  /** `failed`: nothing went back, or what went back came again. */
  readonly status: 'pending' | 'done' | 'failed';
  readonly providerPaymentId: string | null;
  readonly reference: string | null;
  /** In the currency's smallest unit; null when the figure is none that this service can ask for. */
  readonly amountMinor: number | null;
}

export interface MessageTarget {
  readonly url: string;
  readonly enabled: boolean;
  /** What is missing of the kinds of messages that this service hears, in the provider's words. */
  readonly missingKinds: readonly string[];
}

/** A hint that something happened. It is no proof: its receiver reads the checkout. */
export interface WebhookNotice {
  /** The same for every delivery of one event, and different between events of one account. */
  readonly eventKey: string;
  /** In the provider's words, for the record. */
  readonly eventType: string;
  readonly topic: 'payment' | 'refund' | 'dispute' | 'account' | 'other';
  readonly attemptId: string | null;
  readonly reference: string | null;
  readonly checkoutSessionId: string | null;
  readonly providerPaymentId: string | null;
}

export type WebhookVerdict =
  | { readonly kind: 'genuine'; readonly notice: WebhookNotice }
  | { readonly kind: 'forged'; readonly reason: 'signature' | 'timestamp' | 'account' | 'livemode' }
  /** Signed by the provider, and not what its documentation describes. */
  | { readonly kind: 'unreadable' };

/** What a payer has to send before a page can be made. */
export type PayerNeed = 'email' | 'returnUrl';

export interface AdapterOptions {
  readonly now: () => number;
  /** Scheme, host and port, where it is not the provider's own: the sandbox's in tests and in the demo. */
  readonly baseUrl?: string | undefined;
  readonly timeoutMs?: number;
}

/** What differs between providers before one is asked, and the way to its adapter. */
export interface ProviderKind {
  readonly money: MoneyRules;
  /** Required of a first call (contract, "Checkout flow"). */
  readonly needs: readonly PayerNeed[];
  /** Messages are signed with a secret of their own. */
  readonly needsWebhookSecret: boolean;
  /** How long a page is waited for that does not say itself when it ends. */
  readonly pageLifeMs: number;
  /** What callers are shown of a page: fields of `CheckoutPage`, with their descriptions for the API document. */
  readonly pageView: z.ZodObject;
  /** What stands in a rehearsal's page in place of what the provider would have called it. */
  rehearsedPage(id: string): Readonly<Record<string, string>>;
  connect(options: AdapterOptions): PaymentProvider;
}

/**
 * One hosted-checkout provider. Every call may throw `PaymentProviderUnavailable` (try again) or
 * `PaymentProviderRefused` (the same call will be refused again).
 */
export interface PaymentProvider {
  readonly name: string;
  readonly money: MoneyRules;
  /** The reference of an attempt at the provider; `ordinal` counts the pages made for it, from 1. */
  referenceFor(attemptId: string, ordinal: number): string;
  /** What is wrong with the form of keys, in words for the operator that repeat none of them; null when nothing is. */
  keyFault(keys: Partial<ProviderCredentials>): string | null;
  describeAccount(credentials: ProviderCredentials): Promise<AccountDescription>;
  createCheckout(credentials: ProviderCredentials, request: CheckoutRequest): Promise<CheckoutPage>;
  readCheckout(credentials: ProviderCredentials, handle: CheckoutHandle): Promise<ProviderState>;
  /** Closes an unpaid page, where the provider can, and answers the state it is in then. */
  expireCheckout?(credentials: ProviderCredentials, handle: CheckoutHandle): Promise<ProviderState>;
  /** Gives back what is left of a payment, with the fees that the payer bore. Asking again for the same attempt never pays twice. */
  refund(credentials: ProviderCredentials, request: RefundRequest): Promise<RefundResult>;
  /** How a refund that was `pending` went on. */
  readRefund(credentials: ProviderCredentials, refundId: string): Promise<RefundResult>;
  /** How the refunds of a payment stand, those of its merchant included. */
  findRefunds(credentials: ProviderCredentials, payment: RefundedPayment): Promise<PaymentRefunds>;
  /** The attempt that a reference was made for by `referenceFor`; null for any other. */
  attemptOfReference(reference: string): string | null;
  /** Payments since a moment, newest first, a page at a time. */
  listPayments(credentials: ProviderCredentials, sinceMs: number): AsyncGenerator<ListedPayment | OddRow>;
  /** Refunds and disputes that were begun since a moment, a page at a time. */
  listReversals(credentials: ProviderCredentials, sinceMs: number): AsyncGenerator<ListedReversal | OddRow>;
  /** What `listPayments` cannot show, in words for the operator. */
  readonly notListed: string;
  /** Where messages go, as far as the provider can be asked. */
  listMessageTargets?(credentials: ProviderCredentials): Promise<MessageTarget[]>;
  /** @param rawBody the bytes as they came: the signature is over them. */
  verifyWebhook(credentials: ProviderCredentials, rawBody: Uint8Array, headers: Headers): WebhookVerdict;
  close(): Promise<void>;
}

type UnavailableReason = 'network' | 'timeout' | 'rate_limited' | 'busy' | 'server_error' | 'unreadable';

/** The provider could not be asked, or gave no answer that can be used. Nothing is known; asking again may help. */
export class PaymentProviderUnavailable extends Error {
  readonly provider: string;
  readonly reason: UnavailableReason;
  readonly status: number | null;

  constructor(provider: string, reason: UnavailableReason, status: number | null = null, cause?: unknown) {
    super(`${provider} is unavailable: ${reason}${status === null ? '' : ` (${status})`}`, { cause });
    this.name = 'PaymentProviderUnavailable';
    this.provider = provider;
    this.reason = reason;
    this.status = status;
  }
}

/** What of a first call a payer can mend after a provider has refused it. */
export type PayerField = 'email' | 'returnUrl' | 'cancelUrl';

/** The provider understood and said no. Its words are left out: they may repeat a key or what a payer typed. */
export class PaymentProviderRefused extends Error {
  readonly provider: string;
  readonly status: number;
  /** The provider's error code, such as `duplicate_reference`. */
  readonly code: string | null;
  /** What the refusal is about, where the payer can mend it. */
  readonly field: PayerField | null;
  /** The account takes no payment at all: its keys are refused, or the provider has restricted it. */
  readonly blocksAccount: boolean;

  constructor(provider: string, status: number, code: string | null, field: PayerField | null = null) {
    super(`${provider} refused: ${status}${code === null ? '' : ` ${code}`}`);
    this.name = 'PaymentProviderRefused';
    this.provider = provider;
    this.status = status;
    this.code = code;
    this.field = field;
    this.blocksAccount = field === null && isAboutAccount(status, code);
  }
}

/** By the codes that both providers use; a refused key, or a forbidden call, is about nothing else unless its code says so. */
function isAboutAccount(status: number, code: string | null): boolean {
  if (code !== null && /amount|currency|parameter/.test(code)) return false;
  return (
    status === 401 || status === 403 || (code !== null && /^(?:account|merchant|api_key|platform_api_key)_/.test(code))
  );
}

/** The failure that an HTTP status stands for, when it is none of success. */
export function failureOf(
  provider: string,
  status: number,
  code: unknown,
  field: PayerField | null = null,
): PaymentProviderUnavailable | PaymentProviderRefused {
  if (status === 429) return new PaymentProviderUnavailable(provider, 'rate_limited', status);
  // 409 is another call with the same idempotency key that still runs.
  if (status === 408 || status === 409 || status === 425) {
    return new PaymentProviderUnavailable(provider, 'busy', status);
  }
  if (status >= 400 && status < 500) return new PaymentProviderRefused(provider, status, safeCode(code), field);
  return new PaymentProviderUnavailable(provider, status >= 500 ? 'server_error' : 'unreadable', status);
}

/** A provider's error code, when it looks like one and not like a key: nothing else of an answer may reach a message. */
function safeCode(code: unknown): string | null {
  return typeof code === 'string' && /^(?!\w{2}_(?:org_)?(?:live|test)_|whsec_)[a-z][a-z0-9_]{1,63}$/i.test(code)
    ? code
    : null;
}

export const isAttemptId = (text: string): boolean => /^pay_[0-9a-hjkmnp-tv-z]{22}$/.test(text);

/** What is wrong with the form of a secret key, whatever the provider; null when nothing is. */
export function secretKeyFault(secretKey: string | undefined): string | null {
  if (/^[a-z]{2}_org_/.test(secretKey ?? ''))
    return 'this is the key of an organization (sk_org_…): the key of one account is needed, which begins with sk_live_ or sk_test_';
  if (secretKey?.startsWith('pk_')) return 'this is a publishable key: the secret key is needed, which begins with sk_';
  return secretKey?.startsWith('whsec_') ? 'this is the secret of a webhook: the secret key begins with sk_' : null;
}

/** Whether a key moves real money: both providers say so in its first characters. */
export function isLiveKey(secretKey: string): boolean {
  return /^[a-z]{2}_(?:org_)?live_/.test(secretKey);
}

interface ExpectedPayment {
  readonly attemptId: string;
  /** Every reference that was ever made for the attempt. */
  readonly references: readonly string[];
  readonly amountMinor: number;
  readonly currency: string;
  readonly livemode: boolean;
}

export type PaymentMismatch = 'reference' | 'attempt' | 'amount' | 'currency' | 'livemode';

/** The first thing in which a payment differs from what was asked for, or null: only then may it be fulfilled. */
export function paymentMismatch(payment: ProviderPayment, expected: ExpectedPayment): PaymentMismatch | null {
  if (payment.reference === null || !expected.references.includes(payment.reference)) return 'reference';
  if (payment.attemptId !== null && payment.attemptId !== expected.attemptId) return 'attempt';
  if (payment.currency !== expected.currency) return 'currency';
  if (payment.amountMinor !== expected.amountMinor) return 'amount';
  return payment.livemode === expected.livemode ? null : 'livemode';
}
