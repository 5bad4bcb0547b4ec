import assert from 'node:assert';
import ProviderClient from 'stripe';
import { z } from 'zod';
import { HOUR_MS, MINUTE_MS } from '#src/platform/clock.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { PROVIDER_A_MONEY } from './currencies.ts';
import {
  type AccountDescription,
  type AdapterOptions,
  ATTEMPT_PARAMETER,
  appendAttempt,
  type CheckoutHandle,
  type CheckoutPage,
  type CheckoutRequest,
  isAttemptId,
  isLiveKey,
  type PaymentProvider,
  type PaymentRefunds,
  type ProviderCredentials,
  type ProviderKind,
  type ProviderState,
  type RefundedPayment,
  type RefundRequest,
  type RefundResult,
  secretKeyFault,
  summariseRefunds,
} from './provider.ts';
import { listAll, listPaymentsA, listReversalsA } from './provider-a-lists.ts';
import { readAnswer, readOpenedSession, readRefundObject, readSession } from './provider-a-state.ts';
import { readMessageTargets, verifyWebhookA } from './provider-a-webhook.ts';
import { failureOf, type PayerField, PaymentProviderRefused, PaymentProviderUnavailable } from './provider-fault.ts';

const NAME = 'provider_a';
const DEFAULT_BASE_URL = 'https://api.stripe.com';
/** How long a page lives (contract, "Limits"). */
const PAGE_VALIDITY_MS = HOUR_MS;
const LISTED_AT_ONCE = 100;
/** HTTP statuses by which the provider refuses a single refund, without blocking the business's account. */
const REFUND_REFUSALS = new Set([400, 402, 404]);

/** The provider's parameters that carry a payer's input, and the field of this input. */
const PAYER_FIELDS: ReadonlyMap<string, PayerField> = new Map([
  ['customer_email', 'email'],
  ['success_url', 'returnUrl'],
  ['cancel_url', 'cancelUrl'],
]);

interface ProviderAOptions extends AdapterOptions {
  readonly maxNetworkRetries?: number;
}

type ClientConfig = NonNullable<ConstructorParameters<typeof ProviderClient>[1]>;

/** @throws RangeError for a URL that the library cannot use. */
function addressConfig(baseUrl: string): Pick<ClientConfig, 'host' | 'port' | 'protocol'> {
  const { protocol, hostname, port, pathname } = new URL(baseUrl);
  const scheme = protocol.slice(0, -1);
  if ((scheme !== 'http' && scheme !== 'https') || pathname !== '/') {
    throw new RangeError('the address of provider_a is a scheme, a host and a port');
  }
  return {
    protocol: scheme,
    // The brackets of an IPv6 address belong to the URL, not to the host.
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (scheme === 'http' ? 80 : 443) : Number(port),
  };
}

/** Replaces an error of the library: it contains headers, parameters and the provider's message, which must not reach a log. */
function translate(fault: unknown): Error {
  if (!(fault instanceof ProviderClient.errors.StripeError)) {
    // The library itself failed to read an answer, for example `null`.
    return new PaymentProviderUnavailable(NAME, 'unreadable', null, fault);
  }
  if (fault.statusCode !== undefined) {
    const field = PAYER_FIELDS.get(fault.param ?? '') ?? null;
    return failureOf(NAME, fault.statusCode, fault.code ?? fault.rawType, field);
  }
  if (fault instanceof ProviderClient.errors.StripeConnectionError) {
    return new PaymentProviderUnavailable(NAME, /timeout/.test(fault.message) ? 'timeout' : 'network');
  }
  return new PaymentProviderUnavailable(NAME, 'unreadable');
}

async function ask<T>(call: Promise<T>): Promise<unknown> {
  try {
    return await call;
  } catch (fault) {
    throw translate(fault);
  }
}

/** Retries within this time request the same end of the page. The page then lives at least 35 minutes; the provider requires 30. */
const RETRIED_ALIKE_MS = 25 * MINUTE_MS;

function sessionParameters(request: CheckoutRequest, retry: number): ProviderClient.Checkout.SessionCreateParams {
  const { attemptId, currency, title, description, email, returnUrl, cancelUrl } = request;
  assert(returnUrl != null, 'a checkout of provider_a needs a returnUrl');
  const metadata = { [ATTEMPT_PARAMETER]: attemptId };
  const successUrl = appendAttempt(returnUrl, attemptId);
  return {
    mode: 'payment',
    line_items: [
      {
        quantity: 1,
        price_data: {
          currency,
          unit_amount: PROVIDER_A_MONEY.toProviderAmount(currency, request.amountMinor),
          // The provider refuses an empty description, but accepts a request without one.
          product_data: { name: title, ...(description ? { description } : {}) },
        },
      },
    ],
    client_reference_id: request.reference,
    metadata,
    payment_intent_data: { metadata },
    // Otherwise the payer may pay in another currency, and the amount would not match the price.
    adaptive_pricing: { enabled: false },
    submit_type: 'pay',
    expires_at: Math.floor((request.createdAtMs + retry * RETRIED_ALIKE_MS + PAGE_VALIDITY_MS) / 1_000),
    success_url: successUrl,
    cancel_url: cancelUrl ?? successUrl,
    ...(email ? { customer_email: email } : {}),
  };
}

/** The idempotency key of a refund. The provider replays its answer to a key, even a refusal: a retry after a refusal needs another. */
function refundKey({ providerPaymentId, refusedAtMs }: RefundRequest): string {
  return refusedAtMs === undefined ? `refund-${providerPaymentId}` : `refund-${providerPaymentId}-${refusedAtMs}`;
}

const pageSchema = z.object({ checkoutSessionId: z.string() });
const sessionIdOf = (page: CheckoutPage): string => pageSchema.parse(page).checkoutSessionId;

const accountSchema = z.object({ id: z.string(), country: z.string(), charges_enabled: z.boolean() });
const countrySchema = z.object({ supported_payment_currencies: z.array(z.string()) });
const disputeSchema = z.object({ status: z.string(), amount: z.int(), currency: z.string() });

/** The adapter of provider_a: hosted Checkout through the provider's library. */
export function createProviderA(options: ProviderAOptions): PaymentProvider {
  // Each call passes its business's secret key. The client's own key is invalid: a call that passes no key must fail.
  const client = new ProviderClient('none', {
    ...addressConfig(options.baseUrl ?? DEFAULT_BASE_URL),
    timeout: options.timeoutMs ?? TIME_LIMITS.providerMs,
    maxNetworkRetries: options.maxNetworkRetries ?? 2,
    telemetry: false,
  });

  async function describeAccount({ secretKey }: ProviderCredentials): Promise<AccountDescription> {
    const account = readAnswer(accountSchema, await ask(client.accounts.retrieveCurrent({}, { apiKey: secretKey })));
    const country = readAnswer(
      countrySchema,
      await ask(client.countrySpecs.retrieve(account.country, {}, { apiKey: secretKey })),
    );
    const taken = new Set(country.supported_payment_currencies);
    return {
      accountId: account.id,
      ready: account.charges_enabled,
      country: account.country.toUpperCase(),
      supportedCurrencies: PROVIDER_A_MONEY.currencies.filter((currency) => taken.has(currency)),
      livemode: isLiveKey(secretKey),
    };
  }

  /** Lists the lost disputes of a payment, as refunds. An open dispute or an inquiry has not returned money. */
  async function listLost(secretKey: string, intentId: string): Promise<RefundResult[]> {
    const list = (page: ProviderClient.DisputeListParams) =>
      ask(client.disputes.list({ payment_intent: intentId, ...page }, { apiKey: secretKey }));
    const disputes = (await Array.fromAsync(listAll(list))).map((row) => readAnswer(disputeSchema, row));
    return disputes
      .filter(({ status }) => status === 'lost')
      .map(({ amount, currency }) => ({
        kind: 'refunded',
        refundId: null,
        amountMinor: PROVIDER_A_MONEY.fromProviderAmount(currency, amount),
      }));
  }

  /** A disputed payment stays `paid` until lost disputes cover all of it. */
  async function afterDisputes(secretKey: string, intentId: string, state: ProviderState): Promise<ProviderState> {
    if (state.kind !== 'paid') return state;
    const { payment } = state;
    const { whole } = summariseRefunds(await listLost(secretKey, intentId), payment.amountMinor ?? 0);
    return whole === null ? state : { kind: 'reversed', cause: 'dispute', payment, backMinor: payment.amountMinor };
  }

  async function readCheckout({ secretKey }: ProviderCredentials, handle: CheckoutHandle): Promise<ProviderState> {
    // A page is found only by its session ID. Without a stored session, no payer was sent to a page.
    if (handle.page === null) return { kind: 'missing' };
    const call = client.checkout.sessions.retrieve(
      sessionIdOf(handle.page),
      { expand: ['payment_intent.latest_charge.refunds', 'payment_intent.latest_charge.balance_transaction'] },
      { apiKey: secretKey },
    );
    const answer = await ask(call).catch((fault: unknown) => {
      if (fault instanceof PaymentProviderRefused && fault.status === 404) return undefined;
      throw fault;
    });
    if (answer === undefined) return { kind: 'missing' };
    const { state, disputedIntentId } = readSession(answer);
    return disputedIntentId === null ? state : afterDisputes(secretKey, disputedIntentId, state);
  }

  async function expireCheckout(credentials: ProviderCredentials, handle: CheckoutHandle): Promise<ProviderState> {
    if (handle.page === null) return { kind: 'missing' };
    const call = client.checkout.sessions.expire(
      sessionIdOf(handle.page),
      { expand: ['payment_intent.latest_charge'] },
      { apiKey: credentials.secretKey },
    );
    try {
      return readSession(await ask(call)).state;
    } catch (fault) {
      // The provider refuses to close a page that is no longer open: return its present state.
      if (fault instanceof PaymentProviderRefused && [400, 404].includes(fault.status))
        return readCheckout(credentials, handle);
      throw fault;
    }
  }

  async function findRefunds(
    { secretKey }: ProviderCredentials,
    { providerPaymentId, amountMinor }: RefundedPayment,
  ): Promise<PaymentRefunds> {
    const list = (page: ProviderClient.RefundListParams) =>
      ask(client.refunds.list({ payment_intent: providerPaymentId, ...page }, { apiKey: secretKey }));
    const own = await Array.fromAsync(listAll(list));
    return summariseRefunds(
      [...own.map(readRefundObject), ...(await listLost(secretKey, providerPaymentId))],
      amountMinor,
    );
  }

  async function refund({ secretKey }: ProviderCredentials, request: RefundRequest): Promise<RefundResult> {
    // Without an amount, the provider refunds all that the merchant has not yet refunded.
    const call = client.refunds.create(
      { payment_intent: request.providerPaymentId, metadata: { [ATTEMPT_PARAMETER]: request.attemptId } },
      { apiKey: secretKey, idempotencyKey: refundKey(request) },
    );
    try {
      return readRefundObject(await ask(call));
    } catch (fault) {
      if (!(fault instanceof PaymentProviderRefused) || !REFUND_REFUSALS.has(fault.status)) throw fault;
      if (fault.code === 'charge_already_refunded') {
        return (await findRefunds({ secretKey }, request)).whole ?? { kind: 'refunded', refundId: null };
      }
      return { kind: 'refused', code: fault.code };
    }
  }

  return {
    money: PROVIDER_A_MONEY,
    referenceFor: (attemptId) => attemptId,
    keyFault({ secretKey, webhookSecret }) {
      const isSecret = webhookSecret === undefined || webhookSecret.startsWith('whsec_');
      return secretKeyFault(secretKey) ?? (isSecret ? null : 'the secret of a webhook begins with whsec_');
    },
    attemptOfReference: (reference) => (isAttemptId(reference) ? reference : null),
    listPayments: ({ secretKey }, sinceMs) => listPaymentsA(client, ask, secretKey, sinceMs),
    listReversals: ({ secretKey }, sinceMs) => listReversalsA(client, ask, secretKey, sinceMs),
    notListed: 'payments by delayed methods (such as bank debits) that were begun before the moment',
    describeAccount,
    async createCheckout({ secretKey }, request) {
      const { attemptId, createdAtMs } = request;
      // How many times 25 minutes have passed: each time, the page's end moves, and a changed request needs a new idempotency key.
      const retry = Math.max(0, Math.floor((options.now() - createdAtMs) / RETRIED_ALIKE_MS));
      const idempotencyKey = retry === 0 ? attemptId : `${attemptId}-${retry}`;
      const call = client.checkout.sessions.create(sessionParameters(request, retry), {
        apiKey: secretKey,
        idempotencyKey,
      });
      return readOpenedSession(await ask(call));
    },
    readCheckout,
    expireCheckout,
    refund,
    findRefunds,
    listMessageTargets: async ({ secretKey }) =>
      readMessageTargets(await ask(client.webhookEndpoints.list({ limit: LISTED_AT_ONCE }, { apiKey: secretKey }))),
    readRefund: async ({ secretKey }, refundId) =>
      readRefundObject(await ask(client.refunds.retrieve(refundId, {}, { apiKey: secretKey }))),
    verifyWebhook: (credentials, rawBody, headers) => verifyWebhookA(credentials, rawBody, headers, options.now()),
    // Nothing to close: the library owns the sockets, and an idle socket does not keep the process alive.
    close: async () => undefined,
  };
}

export const PROVIDER_A: ProviderKind = {
  money: PROVIDER_A_MONEY,
  needs: ['returnUrl'],
  needsWebhookSecret: true,
  pageLifeMs: PAGE_VALIDITY_MS,
  pageView: z.object({
    checkoutUrl: z.string().meta({ description: 'The hosted page; valid for one hour.' }),
    checkoutSessionId: z.string(),
  }),
  rehearsedPage: (id) => ({ checkoutSessionId: id }),
  connect: createProviderA,
};
