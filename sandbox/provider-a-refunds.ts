import { z } from 'zod';
import { type Checkout, liveRefund, newId, type PlayedRefund, type RefundStatus } from './checkouts.ts';
import { type ApiAnswer, type ApiCall, beginRefund, type SandboxContext } from './sandbox-context.ts';

const refundParameters = z.strictObject({
  payment_intent: z.string(),
  amount: z
    .string()
    .regex(/^\d{1,12}$/)
    .transform(Number),
  metadata: z.record(z.string(), z.string()).optional(),
});

const STATUS: Readonly<Record<RefundStatus, string>> = {
  pending: 'pending',
  attention: 'requires_action',
  succeeded: 'succeeded',
  failed: 'failed',
};

const failure = (status: number, code: string, message: string): ApiAnswer => ({
  status,
  body: { error: { type: 'invalid_request_error', code, message } },
});

const seconds = (timeMs: number): number => Math.floor(timeMs / 1_000);

/** A refund as provider_a shows it. */
export function viewRefundA(checkout: Checkout, refund: PlayedRefund) {
  return {
    id: refund.id,
    object: 'refund',
    status: STATUS[refund.status],
    amount: refund.amount,
    currency: checkout.paidCurrency ?? checkout.currency,
    charge: checkout.chargeId,
    payment_intent: checkout.paymentId,
    metadata: checkout.metadata,
    created: seconds(refund.createdAtMs),
  };
}

/** A dispute that was lost, as provider_a shows it. */
export function viewDisputeA(checkout: Checkout) {
  return {
    id: `dp_${checkout.chargeId}`,
    object: 'dispute',
    currency: checkout.paidCurrency ?? checkout.currency,
    status: 'lost',
    amount: checkout.paidAmount,
    charge: checkout.chargeId,
    payment_intent: checkout.paymentId,
    created: seconds(checkout.disputedAtMs ?? 0),
    metadata: {},
  };
}

/** A page of a list, newest first, as every list of provider_a comes. */
function listed(
  query: URLSearchParams,
  objects: readonly { readonly id: string; readonly created: number }[],
): ApiAnswer {
  const since = Number(query.get('created[gte]') ?? 0);
  const limit = Number(query.get('limit') ?? 10);
  const found = objects
    .filter(({ created }) => created >= since)
    .toSorted((left, right) => right.created - left.created);
  const rest = found.slice(found.findIndex(({ id }) => id === query.get('starting_after')) + 1);
  return { status: 200, body: { object: 'list', data: rest.slice(0, limit), has_more: rest.length > limit } };
}

function refund(context: SandboxContext, { account, request }: ApiCall): ApiAnswer {
  const parsed = refundParameters.safeParse(request.body);
  if (!parsed.success) return failure(400, 'parameter_invalid', 'payment_intent and amount');
  const checkout = context.checkouts.ofPayment(account.secretKey, parsed.data.payment_intent);
  if (checkout?.status !== 'paid') return failure(404, 'resource_missing', 'No such payment_intent');
  if (liveRefund(checkout) !== undefined || checkout.disputedAtMs !== null) {
    return failure(400, 'charge_already_refunded', 'Charge has already been refunded.');
  }
  if (context.faults.refuseRefunds) return failure(400, 'insufficient_funds', 'The balance is too small.');
  if (parsed.data.amount > (checkout.paidAmount ?? 0)) return failure(400, 'amount_too_large', 'More than was paid.');
  return { status: 200, body: viewRefundA(checkout, beginRefund(context, checkout, newId('re_'), parsed.data.amount)) };
}

/** Refunds and disputes; undefined for what is neither. */
export function answerRefundsA(context: SandboxContext, call: ApiCall): ApiAnswer | undefined {
  const { method, path, query } = call.request;
  const { secretKey } = call.account;
  const [, , id] = /^\/v1\/(refunds|disputes)(?:\/([^/]+))?$/.exec(path) ?? [];
  if (!/^\/v1\/(refunds|disputes)(\/|$)/.test(path)) return undefined;
  if (method === 'POST') return refund(context, call);
  const intent = query.get('payment_intent');
  const own = context.checkouts
    .since(secretKey, 0)
    .filter(({ paymentId, provider }) => provider === 'provider_a' && (intent === null || intent === paymentId));
  if (path.startsWith('/v1/disputes')) {
    return listed(query, own.filter(({ disputedAtMs }) => disputedAtMs !== null).map(viewDisputeA));
  }
  const refunds = own.flatMap((checkout) => checkout.refunds.toReversed().map((one) => viewRefundA(checkout, one)));
  if (id === undefined) return listed(query, refunds);
  const found = refunds.find((one) => one.id === id);
  return found === undefined ? failure(404, 'resource_missing', 'No such refund') : { status: 200, body: found };
}
