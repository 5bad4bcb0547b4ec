import assert from 'node:assert';
import { z } from 'zod';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { PROVIDER_B_MONEY } from './currencies.ts';
import {
  type AccountDescription,
  type AdapterOptions,
  ATTEMPT_PARAMETER,
  appendAttempt,
  type CheckoutHandle,
  type CheckoutPage,
  type CheckoutRequest,
  isLiveKey,
  type ListedPayment,
  type ListedReversal,
  type OddRow,
  type PaymentProvider,
  type ProviderCredentials,
  type ProviderKind,
  type ProviderState,
  type RefundedPayment,
  type RefundRequest,
  type RefundResult,
  secretKeyFault,
  summariseRefunds,
} from './provider.ts';
import { createProviderBHttp, TransactionNotFound } from './provider-b-http.ts';
import {
  attemptOfReference,
  grossOf,
  identityOf,
  isRefundOf,
  LATEST_PAYMENT_MS,
  LONGEST_PAGE_MS,
  readAnswer,
  readPayments,
  readRefundObject,
  readReversals,
  readTransaction,
} from './provider-b-state.ts';
import { verifyWebhookB } from './provider-b-webhook.ts';
import { PaymentProviderRefused, PaymentProviderUnavailable } from './provider-fault.ts';

const NAME = 'provider_b';
const DEFAULT_BASE_URL = 'https://api.paystack.co';
const LISTED_AT_ONCE = 100;
const REFERENCE = /^[A-Za-z0-9.=-]{1,100}$/;

const openedSchema = z.object({
  authorization_url: z.url({ protocol: /^https?$/ }),
  access_code: z.string().min(1),
  reference: z.string(),
});
const balancesSchema = z.array(z.object({ currency: z.string() }));

/** Each currency that the provider takes in one country only, and the country. Dollars are missing: it takes them in several. */
const COUNTRY_OF_CURRENCY: ReadonlyMap<string, string> = new Map([
  ['egp', 'EG'],
  ['ghs', 'GH'],
  ['kes', 'KE'],
  ['ngn', 'NG'],
  ['rwf', 'RW'],
  ['xof', 'CI'],
  ['zar', 'ZA'],
]);

function initializeBody(request: CheckoutRequest): Record<string, unknown> {
  const { attemptId, reference, currency, amountMinor, title, email, returnUrl } = request;
  assert(email != null && email !== '', 'a checkout of provider_b needs an e-mail address');
  assert(REFERENCE.test(reference), 'a reference of provider_b is made of letters, digits, "-", "." and "="');
  return {
    email,
    amount: PROVIDER_B_MONEY.toProviderAmount(currency, amountMinor),
    currency: currency.toUpperCase(),
    reference,
    // Without `callback_url`, the provider uses the URL that the merchant configured there (contract, "Checkout flow" 3).
    ...(returnUrl == null ? {} : { callback_url: appendAttempt(returnUrl, attemptId) }),
    metadata: {
      [ATTEMPT_PARAMETER]: attemptId,
      custom_fields: [{ display_name: 'Payment for', variable_name: 'payment_for', value: title }],
    },
  };
}

/** The result of a refused refund. @throws any other fault, also a refusal that blocks the whole account */
function refundRefusal(fault: unknown): RefundResult {
  if (!(fault instanceof PaymentProviderRefused) || fault.status === 401 || fault.status === 403) throw fault;
  return { kind: 'refused', code: fault.code };
}

/** The adapter of provider_b, by its HTTP API with JSON. */
export function createProviderB(options: AdapterOptions): PaymentProvider {
  const http = createProviderBHttp(options.baseUrl ?? DEFAULT_BASE_URL, options.timeoutMs ?? TIME_LIMITS.providerMs);

  /** The API has no call that describes an account. Its balances show that the key works, and which currencies it takes. */
  async function describeAccount({ secretKey }: ProviderCredentials): Promise<AccountDescription> {
    const answer = await http.call({ method: 'GET', path: '/balance', secretKey });
    const held = readAnswer(balancesSchema, answer).map(({ currency }) => currency.toLowerCase());
    const country = held.flatMap((currency) => COUNTRY_OF_CURRENCY.get(currency) ?? [])[0];
    return {
      accountId: null,
      ready: held.length > 0,
      country: country ?? null,
      supportedCurrencies: PROVIDER_B_MONEY.currencies.filter((currency) => held.includes(currency)),
      livemode: isLiveKey(secretKey),
    };
  }

  async function createCheckout({ secretKey }: ProviderCredentials, request: CheckoutRequest): Promise<CheckoutPage> {
    const body = initializeBody(request);
    const answer = await http.call({ method: 'POST', path: '/transaction/initialize', secretKey, body });
    const opened = readAnswer(openedSchema, answer);
    // The service finds a page by its reference, so it could not find a page with another reference.
    if (opened.reference !== request.reference) throw new PaymentProviderUnavailable(NAME, 'unreadable');
    return {
      provider: NAME,
      checkoutUrl: opened.authorization_url,
      accessCode: opened.access_code,
      reference: opened.reference,
    };
  }

  async function readCheckout(credentials: ProviderCredentials, handle: CheckoutHandle): Promise<ProviderState> {
    try {
      return readTransaction(await verify(credentials, handle.reference), options.now());
    } catch (fault) {
      if (fault instanceof TransactionNotFound) return { kind: 'missing' };
      throw fault;
    }
  }

  /** Reads pages until one has nothing new, because pages may be short. Some calls name the size `perPage`, others `per_page`. */
  async function* listPages(
    secretKey: string,
    path: string,
    parameters: Record<string, string>,
  ): AsyncGenerator<unknown[]> {
    const size = String(LISTED_AT_ONCE);
    const seen = new Set<unknown>();
    for (let page = 1; ; page += 1) {
      const query = new URLSearchParams({ ...parameters, perPage: size, per_page: size, page: String(page) });
      const answer = await http.call({ method: 'GET', path: `${path}?${query}`, secretKey });
      const listed = readAnswer(z.array(z.unknown()), answer);
      const fresh = listed.filter((one) => !seen.has(identityOf(one)));
      if (fresh.length === 0) return;
      for (const one of fresh) seen.add(identityOf(one));
      yield fresh;
    }
  }

  /** Reads every refund and dispute since `sinceMs`, because the provider cannot filter its lists by transaction. */
  async function listOwn({ secretKey }: ProviderCredentials, payment: RefundedPayment): Promise<RefundResult[]> {
    const own: RefundResult[] = [];
    const since = { from: new Date(payment.sinceMs).toISOString() };
    for await (const refunds of listPages(secretKey, '/refund', since)) {
      own.push(...refunds.filter((refund) => isRefundOf(refund, payment)).map(readRefundObject));
    }
    for await (const disputes of listPages(secretKey, '/dispute', since)) {
      for (const lost of readReversals(
        'dispute',
        disputes.filter((dispute) => isRefundOf(dispute, payment)),
      )) {
        if ('names' in lost) throw new PaymentProviderUnavailable(NAME, 'unreadable');
        if (lost.status === 'done') own.push({ kind: 'refunded', refundId: null, amountMinor: lost.amountMinor });
      }
    }
    return own;
  }

  const verify = ({ secretKey }: ProviderCredentials, reference: string): Promise<unknown> =>
    http.call({ method: 'GET', path: `/transaction/verify/${encodeURIComponent(reference)}`, secretKey });

  /** @param amount in the provider's unit; by default the whole payment, with the fees that the payer paid */
  async function askRefund({ secretKey }: ProviderCredentials, request: RefundRequest, amount?: number) {
    const note = { merchant_note: `Refund of ${request.attemptId}` };
    const body = { transaction: request.reference, ...note, ...(amount === undefined ? {} : { amount }) };
    return readRefundObject(await http.call({ method: 'POST', path: '/refund', secretKey, body }));
  }

  /** A retry needs no idempotency key, because the provider never refunds more than was paid. After a refusal, existing refunds count. */
  async function refund(credentials: ProviderCredentials, request: RefundRequest): Promise<RefundResult> {
    const refused = await askRefund(credentials, request).catch(refundRefusal);
    if (refused.kind !== 'refused') return refused;
    const state = await readCheckout(credentials, { reference: request.reference, page: null });
    if (state.kind === 'reversed') return { kind: 'refunded', refundId: null, amountMinor: state.backMinor };
    const { whole, partMinor } = summariseRefunds(await listOwn(credentials, request), request.amountMinor);
    if (whole !== null && whole.kind !== 'refused') return whole;
    if (partMinor === 0) return refused;
    const gross = grossOf(await verify(credentials, request.reference));
    // Ask again whether the refund is owed, because the search above may have taken minutes.
    if (!(await request.isStillOwed())) return refused;
    const rest = gross - PROVIDER_B_MONEY.toProviderPart(request.currency, partMinor);
    return askRefund(credentials, request, rest).catch(refundRefusal);
  }

  async function* listPayments(
    { secretKey }: ProviderCredentials,
    sinceMs: number,
  ): AsyncGenerator<ListedPayment | OddRow> {
    // The provider lists a payment by the time its page was opened. Pages never expire, so an older page may have been paid since.
    const from = new Date(Math.max(0, sinceMs - LATEST_PAYMENT_MS)).toISOString();
    for await (const listed of listPages(secretKey, '/transaction', { from })) {
      yield* readPayments(listed).filter((one) => 'names' in one || one.atMs >= sinceMs);
    }
  }

  async function* listReversals(
    { secretKey }: ProviderCredentials,
    sinceMs: number,
  ): AsyncGenerator<ListedReversal | OddRow> {
    const from = new Date(sinceMs).toISOString();
    for (const kind of ['refund', 'dispute'] as const) {
      for await (const listed of listPages(secretKey, `/${kind}`, { from })) yield* readReversals(kind, listed);
    }
  }

  return {
    money: PROVIDER_B_MONEY,
    referenceFor: (attemptId, ordinal) => `${attemptId.replaceAll('_', '-')}.${ordinal}`,
    keyFault: ({ secretKey }) => secretKeyFault(secretKey),
    attemptOfReference,
    listPayments,
    listReversals,
    notListed: 'payments since the moment on pages that were opened more than 30 days before it',
    describeAccount,
    createCheckout,
    readCheckout,
    refund,
    findRefunds: async (credentials, payment) =>
      summariseRefunds(await listOwn(credentials, payment), payment.amountMinor),
    async readRefund({ secretKey }, refundId) {
      const path = `/refund/${encodeURIComponent(refundId)}`;
      return readRefundObject(await http.call({ method: 'GET', path, secretKey }));
    },
    // No `listMessageTargets`: the provider's API does not show where its messages go.
    verifyWebhook: verifyWebhookB,
    close: () => http.close(),
  };
}

export const PROVIDER_B: ProviderKind = {
  money: PROVIDER_B_MONEY,
  needs: ['email'],
  needsWebhookSecret: false,
  pageLifeMs: LONGEST_PAGE_MS,
  pageView: z.object({
    checkoutUrl: z.string().meta({ description: 'The hosted page.' }),
    accessCode: z.string(),
    reference: z.string(),
  }),
  rehearsedPage: (id) => ({ accessCode: id, reference: id }),
  connect: createProviderB,
};
