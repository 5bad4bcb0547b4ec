import { z } from 'zod';
import { type Checkout, newId, newNumber, newPage } from './checkouts.ts';
import { viewDispute, viewListedTransaction, viewPaidTransaction, viewTransaction } from './provider-b-objects.ts';
import { answerRefundsB, pageSizeOf, refundMessageB } from './provider-b-refunds.ts';
import { type ApiAnswer, type ApiCall, type Happening, markPaid, type SandboxContext } from './sandbox-context.ts';

/** The parameters that this service sends to make a page. Any other parameter is refused. */
const initializeParameters = z.strictObject({
  email: z.string().regex(/^[^@\s]+@[^@\s]+$/),
  amount: z.int().min(1),
  currency: z.string().regex(/^[A-Z]{3}$/),
  reference: z.string().regex(/^[A-Za-z0-9.=-]{1,100}$/),
  callback_url: z
    .string()
    .regex(/^https?:\/\//)
    .optional(),
  metadata: z.looseObject({}),
});
/** Currencies that a sandbox account takes at provider_b. */
const SANDBOX_B_CURRENCIES = ['NGN', 'GHS', 'ZAR', 'KES', 'XOF', 'EGP', 'RWF', 'USD'];

const CURRENCY_OF_COUNTRY: Readonly<Record<string, string>> = {
  NG: 'NGN',
  GH: 'GHS',
  ZA: 'ZAR',
  KE: 'KES',
  CI: 'XOF',
  EG: 'EGP',
  RW: 'RWF',
};

const done = (message: string, data: unknown, more: object = {}): ApiAnswer => ({
  status: 200,
  body: { status: true, message, data, ...more },
});
const refused = (status: number, code: string, message: string): ApiAnswer => ({
  status,
  body: { status: false, message, code, type: 'validation_error', meta: {} },
});

/** provider_b's message about a happening. Failures and expiries cause no message. */
export function noticeOf(checkout: Checkout, happening: Happening): { event: string; data: unknown } | undefined {
  if (happening === 'paid' || happening === 'arrived') {
    return { event: 'charge.success', data: viewPaidTransaction(checkout) };
  }
  const ofRefund = refundMessageB(checkout, happening);
  if (ofRefund !== undefined) return ofRefund;
  if (happening === 'dispute_opened') return { event: 'charge.dispute.create', data: viewDispute(checkout) };
  return happening === 'dispute_closed' ? { event: 'charge.dispute.resolve', data: viewDispute(checkout) } : undefined;
}

async function initialize(context: SandboxContext, { account, request }: ApiCall): Promise<ApiAnswer> {
  if (context.restricted.has(account.secretKey))
    return refused(403, 'merchant_inactive', 'This business is not active');
  const parsed = initializeParameters.safeParse(request.body);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return refused(400, 'invalid_params', `${issue?.path.join('.')}: ${issue?.message}`);
  }
  const { email, amount, currency, reference, callback_url: callbackUrl, metadata } = parsed.data;
  if (!SANDBOX_B_CURRENCIES.includes(currency)) {
    return refused(403, 'unsupported_currency', 'Currency not supported by merchant');
  }
  if (context.checkouts.ofReference(account.secretKey, reference) !== undefined) {
    return refused(400, 'duplicate_reference', 'Duplicate Transaction Reference');
  }
  const nowMs = context.now();
  const checkout: Checkout = {
    provider: 'provider_b',
    secretKey: account.secretKey,
    pageId: newId(''),
    reference,
    paymentId: newNumber(),
    chargeId: '',
    amount,
    currency,
    title: titleOf(metadata),
    description: null,
    email,
    metadata,
    successUrl: callbackUrl ?? null,
    cancelUrl: callbackUrl ?? null,
    ...newPage(),
    createdAtMs: nowMs,
    expiresAtMs: Number.MAX_SAFE_INTEGER,
  };
  context.checkouts.add(checkout);
  if (context.faults.payBeforeAnswer) {
    markPaid(context, checkout);
    await context.tell(checkout, 'paid');
  }
  return done('Authorization URL created', {
    authorization_url: `${context.origin()}/pay/${checkout.pageId}`,
    access_code: checkout.pageId,
    reference,
  });
}

const titled = z.object({ custom_fields: z.array(z.object({ value: z.string() })).min(1) });

function titleOf(metadata: unknown): string {
  return titled.safeParse(metadata).data?.custom_fields[0]?.value ?? 'Payment';
}

/** Answers the part of provider_b's API that this service uses. */
export async function answerProviderB(context: SandboxContext, call: ApiCall): Promise<ApiAnswer> {
  const { method, path, query } = call.request;
  const { secretKey } = call.account;
  if (method === 'POST' && path === '/transaction/initialize') return initialize(context, call);
  const [, reference] = /^\/transaction\/verify\/([^/]+)$/.exec(path) ?? [];
  if (method === 'GET' && reference !== undefined) {
    const checkout = context.checkouts.ofReference(secretKey, decodeURIComponent(reference));
    if (checkout === undefined) return refused(404, 'transaction_not_found', 'Transaction reference not found');
    return done('Verification successful', viewTransaction(checkout));
  }
  if (method === 'GET' && path === '/transaction') {
    const opened = context.checkouts.since(secretKey, Date.parse(query.get('from') ?? '1970-01-01'));
    const since = opened.filter(({ provider }) => provider === 'provider_b');
    const perPage = pageSizeOf(query);
    const begin = (Number(query.get('page') ?? 1) - 1) * perPage;
    const meta = { total: since.length, total_volume: 0, skipped: begin, perPage, page: begin / perPage + 1 };
    const data = since.slice(begin, begin + perPage).map(viewListedTransaction);
    return done('Transactions retrieved', data, { meta: { ...meta, pageCount: Math.ceil(since.length / perPage) } });
  }
  const refunds = answerRefundsB(context, call);
  if (refunds !== undefined) return refunds;
  if (method === 'GET' && path === '/balance' && context.restricted.has(secretKey)) {
    return refused(403, 'merchant_inactive', 'This business is not active');
  }
  if (method === 'GET' && path === '/balance') {
    const own = CURRENCY_OF_COUNTRY[call.account.country];
    const held = own === undefined ? SANDBOX_B_CURRENCIES : [own, ...SANDBOX_B_CURRENCIES.filter((one) => one !== own)];
    return done(
      'Balances retrieved',
      held.map((currency) => ({ currency, balance: 0 })),
    );
  }
  return refused(404, 'unknown', 'Not found');
}
