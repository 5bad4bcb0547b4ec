import { z } from 'zod';
import { type Checkout, liveRefund, newNumber, type PlayedRefund, type RefundStatus } from './checkouts.ts';
import { type ApiAnswer, type ApiCall, beginRefund, type SandboxContext } from './sandbox-context.ts';

const refundParameters = z.strictObject({
  transaction: z.string(),
  amount: z.int().min(1),
  merchant_note: z.string().optional(),
});

const STATUS: Readonly<Record<RefundStatus, string>> = {
  pending: 'processing',
  attention: 'needs-attention',
  succeeded: 'processed',
  failed: 'failed',
};

const EVENTS: ReadonlyMap<string, string> = new Map([
  ['refunded', 'refund.processed'],
  ['refund_pending', 'refund.processing'],
  ['refund_attention', 'refund.needs-attention'],
  ['refund_failed', 'refund.failed'],
]);

const done = (message: string, data: unknown): ApiAnswer => ({ status: 200, body: { status: true, message, data } });
const refused = (status: number, code: string, message: string): ApiAnswer => ({
  status,
  body: { status: false, message, code, type: 'validation_error', meta: {} },
});

function viewRefund(checkout: Checkout, refund: PlayedRefund) {
  return {
    id: Number(refund.id),
    transaction: { id: Number(checkout.paymentId), reference: checkout.reference },
    amount: refund.amount,
    currency: checkout.currency,
    status: STATUS[refund.status],
    createdAt: new Date(refund.createdAtMs).toISOString(),
    domain: 'test',
  };
}

/**
 * provider_b's message about the newest refund of a payment, as its documentation shows it: neither the transaction's metadata
 * nor its ID, and the refund's only as a reference.
 */
export function refundMessageB(checkout: Checkout, happening: string): { event: string; data: unknown } | undefined {
  const event = EVENTS.get(happening);
  const refund = checkout.refunds.at(-1);
  if (event === undefined || refund === undefined) return undefined;
  const data = {
    status: STATUS[refund.status],
    transaction_reference: checkout.reference,
    refund_reference: refund.id,
    amount: String(refund.amount),
    currency: checkout.currency,
    processor: 'sandbox',
    customer: { first_name: null, last_name: null, email: checkout.email },
    integration: 1,
    domain: 'test',
  };
  return { event, data };
}

function refund(context: SandboxContext, { account, request }: ApiCall): ApiAnswer {
  const parsed = refundParameters.safeParse(request.body);
  if (!parsed.success) return refused(400, 'invalid_params', 'transaction and amount are required');
  const checkout = context.checkouts.ofReference(account.secretKey, parsed.data.transaction);
  if (checkout?.status !== 'paid') return refused(404, 'transaction_not_found', 'Transaction not found');
  if (liveRefund(checkout) !== undefined || checkout.disputedAtMs !== null) {
    return refused(400, 'transaction_reversed', 'Transaction has been fully reversed');
  }
  if (context.faults.refuseRefunds) return refused(400, 'insufficient_balance', 'The balance is too small.');
  const begun = beginRefund(context, checkout, newNumber(), parsed.data.amount);
  return done('Refund has been queued for processing', viewRefund(checkout, begun));
}

function viewDispute(checkout: Checkout) {
  return {
    id: Number(checkout.paymentId) + 1,
    status: 'resolved',
    resolution: 'merchant-accepted',
    refund_amount: checkout.paidAmount,
    currency: checkout.currency,
    domain: 'test',
    transaction: { id: Number(checkout.paymentId), reference: checkout.reference, status: 'reversed' },
    createdAt: new Date(checkout.disputedAtMs ?? 0).toISOString(),
  };
}

/** Refunds and disputes; undefined for what is neither. Lists know `from`, `page` and `perPage`, and no transaction. */
export function answerRefundsB(context: SandboxContext, call: ApiCall): ApiAnswer | undefined {
  const { method, path, query } = call.request;
  if (method === 'POST' && path === '/refund') return refund(context, call);
  const [, kind, id] = /^\/(refund|dispute)(?:\/([^/]+))?$/.exec(path) ?? [];
  if (method !== 'GET' || kind === undefined) return undefined;
  const own = context.checkouts.since(call.account.secretKey, 0).filter(({ provider }) => provider === 'provider_b');
  const objects =
    kind === 'dispute'
      ? own.filter(({ disputedAtMs }) => disputedAtMs !== null).map(viewDispute)
      : own.flatMap((checkout) => checkout.refunds.toReversed().map((one) => viewRefund(checkout, one)));
  if (id !== undefined) {
    const found = objects.find((one) => String(one.id) === id);
    return found === undefined ? refused(404, 'not_found', `No such ${kind}`) : done('Retrieved', found);
  }
  const fromMs = Date.parse(query.get('from') ?? '1970-01-01');
  const perPage = Number(query.get('perPage') ?? 50);
  const begin = (Number(query.get('page') ?? 1) - 1) * perPage;
  const since = objects.filter(({ createdAt }) => Date.parse(createdAt) >= fromMs);
  return done('Retrieved', since.slice(begin, begin + perPage));
}
