import { z } from 'zod';
import { type Checkout, expireWhenOver, liveRefund, newId, newPage } from './checkouts.ts';
import { answerRefundsA, viewDisputeA, viewRefundA } from './provider-a-refunds.ts';
import { type ApiAnswer, type ApiCall, markPaid, type SandboxContext } from './sandbox-context.ts';
import { sandboxAccountId } from './sandbox-keys.ts';

const wholeNumber = z
  .string()
  .regex(/^\d{1,12}$/)
  .transform(Number);
const address = z.string().regex(/^https?:\/\//);

/** What this service may send to make a page: exactly that, and nothing else. */
const sessionParameters = z.strictObject({
  mode: z.literal('payment'),
  line_items: z.tuple([
    z.strictObject({
      quantity: z.literal('1'),
      price_data: z.strictObject({
        currency: z.string().regex(/^[a-z]{3}$/),
        unit_amount: wholeNumber,
        product_data: z.strictObject({ name: z.string().min(1), description: z.string().min(1).optional() }),
      }),
    }),
  ]),
  client_reference_id: z.string().min(1).max(200),
  metadata: z.record(z.string(), z.string()),
  payment_intent_data: z.strictObject({ metadata: z.record(z.string(), z.string()) }),
  adaptive_pricing: z.strictObject({ enabled: z.literal('false') }),
  submit_type: z.literal('pay'),
  expires_at: wholeNumber,
  success_url: address,
  cancel_url: address.optional(),
  customer_email: z.string().min(3).optional(),
});
const SHORTEST_PAGE_MS = 30 * 60_000;
const LONGEST_PAGE_MS = 24 * 3_600_000;
/** Clocks differ by a little, and requests take a little. */
const SLACK_MS = 60_000;

/** Currencies that an account of the sandbox takes at provider_a, and how many decimals each is counted with there. */
export const SANDBOX_A_CURRENCIES =
  'aed aud bhd brl cad chf czk dkk eur gbp ghs hkd huf idr ils inr isk jod jpy kes krw kwd mxn myr ngn nok nzd omr php pln ron sek sgd thb tnd try twd ugx usd vnd xof zar'.split(
    ' ',
  );

function failure(status: number, code: string, message: string): ApiAnswer {
  return { status, body: { error: { type: 'invalid_request_error', code, message } } };
}

const seconds = (timeMs: number): number => Math.floor(timeMs / 1_000);

/** What was settled: 2.9 % and 30 of the provider's unit are kept. */
function balanceOf(checkout: Checkout) {
  const paid = checkout.paidAmount ?? 0;
  return {
    object: 'balance_transaction',
    amount: paid,
    currency: checkout.paidCurrency ?? checkout.currency,
    fee: Math.floor((paid * 29) / 1_000) + 30,
  };
}

function intentOf(checkout: Checkout, expanded: boolean) {
  if ((checkout.status === 'open' || checkout.status === 'expired') && !checkout.declined) return null;
  if (!expanded) return checkout.paymentId;
  const paid = checkout.status === 'paid';
  return {
    id: checkout.paymentId,
    object: 'payment_intent',
    status: paid ? 'succeeded' : checkout.status === 'expired' ? 'canceled' : 'requires_payment_method',
    last_payment_error: paid ? null : { type: 'card_error', code: 'card_declined' },
    amount: checkout.amount,
    amount_received: paid ? checkout.paidAmount : 0,
    currency: checkout.paidCurrency ?? checkout.currency,
    metadata: checkout.metadata,
    latest_charge: paid
      ? {
          id: checkout.chargeId,
          object: 'charge',
          created: seconds(checkout.paidAtMs ?? 0),
          refunded: liveRefund(checkout) !== undefined,
          disputed: checkout.disputedAtMs !== null,
          balance_transaction: balanceOf(checkout),
          refunds: { object: 'list', data: checkout.refunds.map((one) => viewRefundA(checkout, one)), has_more: false },
        }
      : null,
  };
}

/** A Checkout Session as provider_a shows it. */
export function viewSession(context: SandboxContext, checkout: Checkout, expanded = false) {
  const { status } = checkout;
  return {
    id: checkout.pageId,
    object: 'checkout.session',
    mode: 'payment',
    status: status === 'open' ? 'open' : status === 'expired' ? 'expired' : 'complete',
    payment_status: status === 'paid' ? 'paid' : 'unpaid',
    amount_subtotal: checkout.amount,
    amount_total: checkout.paidAmount ?? checkout.amount,
    currency: checkout.paidCurrency ?? checkout.currency,
    client_reference_id: checkout.reference,
    metadata: checkout.metadata,
    livemode: false,
    payment_intent: intentOf(checkout, expanded),
    customer_email: checkout.email,
    success_url: checkout.successUrl,
    cancel_url: checkout.cancelUrl,
    created: seconds(checkout.createdAtMs),
    expires_at: seconds(checkout.expiresAtMs),
    url: status === 'open' ? `${context.origin()}/pay/${checkout.pageId}` : null,
  };
}

function viewCharge(checkout: Checkout) {
  return {
    id: checkout.chargeId,
    object: 'charge',
    status: 'succeeded',
    created: seconds(checkout.paidAtMs ?? 0),
    payment_intent: checkout.paymentId,
    metadata: checkout.metadata,
    amount: checkout.paidAmount,
    currency: checkout.paidCurrency ?? checkout.currency,
    refunded: liveRefund(checkout) !== undefined,
    balance_transaction: balanceOf(checkout),
  };
}

/** The object and kind of provider_a's message about a happening. */
export function eventOf(
  context: SandboxContext,
  checkout: Checkout,
  happening: string,
): { type: string; object: unknown } {
  switch (happening) {
    case 'paid':
      return { type: 'checkout.session.completed', object: viewSession(context, checkout) };
    case 'declined':
      return { type: 'payment_intent.payment_failed', object: intentOf(checkout, true) };
    case 'failed':
      return { type: 'checkout.session.async_payment_failed', object: viewSession(context, checkout) };
    case 'expired':
      return { type: 'checkout.session.expired', object: viewSession(context, checkout) };
    case 'refunded':
      return { type: 'charge.refunded', object: viewCharge(checkout) };
    case 'refund_pending':
    case 'refund_attention':
    case 'refund_failed': {
      const [refund] = checkout.refunds.slice(-1).map((one) => viewRefundA(checkout, one));
      return { type: happening === 'refund_failed' ? 'refund.failed' : 'refund.updated', object: refund };
    }
    default:
      return { type: 'charge.dispute.closed', object: viewDisputeA(checkout) };
  }
}

async function createSession(context: SandboxContext, { account, request }: ApiCall): Promise<ApiAnswer> {
  if (context.restricted.has(account.secretKey))
    return failure(400, 'account_invalid', 'This account cannot take payments.');
  const parsed = sessionParameters.safeParse(request.body);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return failure(400, 'parameter_invalid', `${issue?.path.join('.')}: ${issue?.message}`);
  }
  const { line_items: lines, expires_at: expiresAt, ...parameters } = parsed.data;
  const { currency, unit_amount: amount, product_data: product } = lines[0].price_data;
  const nowMs = context.now();
  const lifeMs = expiresAt * 1_000 - nowMs;
  if (lifeMs < SHORTEST_PAGE_MS - SLACK_MS || lifeMs > LONGEST_PAGE_MS + SLACK_MS) {
    return failure(400, 'parameter_invalid', 'expires_at must be between 30 minutes and 24 hours from now');
  }
  const checkout: Checkout = {
    provider: 'provider_a',
    secretKey: account.secretKey,
    pageId: newId('cs_test_'),
    reference: parameters.client_reference_id,
    paymentId: newId('pi_'),
    chargeId: newId('ch_'),
    amount,
    currency,
    title: product.name,
    description: product.description ?? null,
    email: parameters.customer_email ?? null,
    metadata: parameters.metadata,
    successUrl: parameters.success_url,
    cancelUrl: parameters.cancel_url ?? null,
    ...newPage(),
    createdAtMs: nowMs,
    expiresAtMs: expiresAt * 1_000,
  };
  context.checkouts.add(checkout);
  const answer = { status: 200, body: viewSession(context, checkout) };
  if (context.faults.payBeforeAnswer) {
    markPaid(context, checkout);
    await context.tell(checkout, 'paid');
  }
  return answer;
}

function findSession(context: SandboxContext, call: ApiCall, id: string): Checkout | undefined {
  const checkout = context.checkouts.ofPage(id);
  if (checkout?.provider !== 'provider_a' || checkout.secretKey !== call.account.secretKey) return undefined;
  expireWhenOver(checkout, context.now());
  return checkout;
}

function listCharges(context: SandboxContext, { account, request }: ApiCall): ApiAnswer {
  const limit = Number(request.query.get('limit') ?? 10);
  const sinceMs = Number(request.query.get('created[gte]') ?? 0) * 1_000;
  const paid = context.checkouts
    .since(account.secretKey, 0)
    .filter((one) => one.provider === 'provider_a' && one.status === 'paid' && (one.paidAtMs ?? 0) >= sinceMs);
  const after = paid.findIndex(({ chargeId }) => chargeId === request.query.get('starting_after'));
  const rest = paid.slice(after + 1);
  return {
    status: 200,
    body: { object: 'list', data: rest.slice(0, limit).map(viewCharge), has_more: rest.length > limit },
  };
}

/** The part of provider_a's API that this service uses. */
export async function answerProviderA(context: SandboxContext, call: ApiCall): Promise<ApiAnswer> {
  const { method, path } = call.request;
  if (method === 'POST' && path === '/v1/checkout/sessions') return createSession(context, call);
  const [, sessionId, action] = /^\/v1\/checkout\/sessions\/([^/]+)(\/expire)?$/.exec(path) ?? [];
  if (sessionId !== undefined) {
    const checkout = findSession(context, call, sessionId);
    if (checkout === undefined) return failure(404, 'resource_missing', 'No such checkout.session');
    if (action === undefined && method === 'GET') return { status: 200, body: viewSession(context, checkout, true) };
    if (checkout.status !== 'open') return failure(400, 'checkout_session_not_open', 'This session is not open.');
    checkout.status = 'expired';
    context.checkouts.save();
    void context.tell(checkout, 'expired');
    return { status: 200, body: viewSession(context, checkout, true) };
  }
  if (method === 'GET' && path === '/v1/charges') return listCharges(context, call);
  const refunds = answerRefundsA(context, call);
  if (refunds !== undefined) return refunds;
  const { country, secretKey } = call.account;
  if (path === '/v1/account') {
    const account = {
      id: sandboxAccountId(secretKey),
      object: 'account',
      country,
      charges_enabled: !context.restricted.has(secretKey),
    };
    return { status: 200, body: account };
  }
  if (path === '/v1/webhook_endpoints') {
    const url = context.target({ secretKey, provider: 'provider_a' });
    const kinds = context.faults.messageKinds ?? ['*'];
    const data = url === undefined ? [] : [{ id: 'we_1', url, status: 'enabled', enabled_events: kinds }];
    return { status: 200, body: { object: 'list', data, has_more: false } };
  }
  if (path.startsWith('/v1/country_specs/')) {
    return { status: 200, body: { id: country, supported_payment_currencies: SANDBOX_A_CURRENCIES } };
  }
  return failure(404, 'resource_missing', 'Unrecognized request URL');
}
