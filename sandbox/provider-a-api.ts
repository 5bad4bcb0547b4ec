import { z } from 'zod';
import { type Checkout, expireWhenOver, newId, newPage } from './checkouts.ts';
import { viewAccountA, viewDisputeA, viewEndpointA } from './provider-a-account.ts';
import { viewChargeA, viewIntentA, viewRefundA, viewSessionA } from './provider-a-objects.ts';
import { answerRefundsA, listOf } from './provider-a-refunds.ts';
import { type ApiAnswer, type ApiCall, type Happening, markPaid, type SandboxContext } from './sandbox-context.ts';
import { sandboxAccountId } from './sandbox-keys.ts';

const wholeNumber = z
  .string()
  .regex(/^\d{1,12}$/)
  .transform(Number);
const address = z.string().regex(/^https?:\/\//);

/** The parameters that this service sends to make a page. Any other parameter is refused. */
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
/** Tolerance for a difference of clocks, and for the time of a request. */
const SLACK_MS = 60_000;

/** Currencies that a sandbox account takes at provider_a. */
const SANDBOX_A_CURRENCIES =
  'aed aud bhd brl cad chf czk dkk eur gbp ghs hkd huf idr ils inr isk jod jpy kes krw kwd mxn myr ngn nok nzd omr php pln ron sek sgd thb tnd try twd ugx usd vnd xof zar'.split(
    ' ',
  );

function failure(status: number, code: string, message: string): ApiAnswer {
  return { status, body: { error: { type: 'invalid_request_error', code, message } } };
}

/** A Checkout Session in the form of provider_a. */
const viewSession = (context: SandboxContext, checkout: Checkout, expanded = false) =>
  viewSessionA(context.origin(), checkout, expanded);

/** The object and type of provider_a's message about a happening. */
export function eventOf(
  context: SandboxContext,
  checkout: Checkout,
  happening: Happening,
): { type: string; object: unknown } {
  const newestRefund = () => checkout.refunds.slice(-1).map((one) => viewRefundA(checkout, one))[0];
  switch (happening) {
    case 'paid':
    case 'processing':
      return { type: 'checkout.session.completed', object: viewSession(context, checkout) };
    case 'declined':
      return { type: 'payment_intent.payment_failed', object: { ...viewIntentA(checkout), latest_charge: null } };
    case 'arrived':
      return { type: 'checkout.session.async_payment_succeeded', object: viewSession(context, checkout) };
    case 'failed':
      return { type: 'checkout.session.async_payment_failed', object: viewSession(context, checkout) };
    case 'expired':
      return { type: 'checkout.session.expired', object: viewSession(context, checkout) };
    case 'refunded':
      return { type: 'charge.refunded', object: viewChargeA(checkout, false) };
    case 'refund_pending':
    case 'refund_attention':
      return { type: 'refund.updated', object: newestRefund() };
    case 'refund_failed':
      return { type: 'refund.failed', object: newestRefund() };
    case 'dispute_opened':
      return { type: 'charge.dispute.created', object: viewDisputeA(checkout) };
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
    body: listOf(
      '/v1/charges',
      rest.slice(0, limit).map((one) => viewChargeA(one, true)),
      rest.length > limit,
    ),
  };
}

/** Answers the part of provider_a's API that this service uses. */
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
    const ready = !context.restricted.has(secretKey);
    return { status: 200, body: viewAccountA(sandboxAccountId(secretKey), country, ready) };
  }
  if (path === '/v1/webhook_endpoints') {
    const url = context.target({ secretKey, provider: 'provider_a' });
    const kinds = context.faults.messageKinds ?? ['*'];
    const data = url === undefined ? [] : [viewEndpointA(url, kinds)];
    return { status: 200, body: listOf('/v1/webhook_endpoints', data, false) };
  }
  if (path.startsWith('/v1/country_specs/')) {
    const spec = {
      id: country,
      object: 'country_spec',
      default_currency: 'usd',
      supported_bank_account_currencies: {},
      supported_payment_currencies: SANDBOX_A_CURRENCIES,
      supported_payment_methods: ['card'],
      supported_transfer_countries: [country],
      verification_fields: {},
    };
    return { status: 200, body: spec };
  }
  return failure(404, 'resource_missing', 'Unrecognized request URL');
}
