import { z } from 'zod';
import { amountBack, isAllBack, newId } from './checkouts.ts';
import { viewDisputeA } from './provider-a-account.ts';
import { viewRefundA } from './provider-a-objects.ts';
import { type ApiAnswer, type ApiCall, beginRefund, type SandboxContext } from './sandbox-context.ts';

const refundParameters = z.strictObject({
  payment_intent: z.string(),
  amount: z
    .string()
    .regex(/^\d{1,12}$/)
    .transform(Number)
    .optional(),
  metadata: z.record(z.string(), z.string()).optional(),
});

const failure = (status: number, code: string, message: string): ApiAnswer => ({
  status,
  body: { error: { type: 'invalid_request_error', code, message } },
});

/** A list in the form of provider_a. */
export const listOf = (url: string, data: readonly unknown[], more: boolean) => ({
  object: 'list',
  data,
  has_more: more,
  url,
});

/** A page of a list, newest first. */
function listed(
  url: string,
  query: URLSearchParams,
  objects: readonly { readonly id: string; readonly created: number }[],
): ApiAnswer {
  const since = Number(query.get('created[gte]') ?? 0);
  const limit = Number(query.get('limit') ?? 10);
  const found = objects
    .filter(({ created }) => created >= since)
    .toSorted((left, right) => right.created - left.created);
  const rest = found.slice(found.findIndex(({ id }) => id === query.get('starting_after')) + 1);
  return { status: 200, body: listOf(url, rest.slice(0, limit), rest.length > limit) };
}

function refund(context: SandboxContext, { account, request }: ApiCall): ApiAnswer {
  const parsed = refundParameters.safeParse(request.body);
  if (!parsed.success) return failure(400, 'parameter_invalid', 'payment_intent and amount');
  const checkout = context.checkouts.ofPayment(account.secretKey, parsed.data.payment_intent);
  if (checkout?.status !== 'paid') return failure(404, 'resource_missing', 'No such payment_intent');
  if (checkout.dispute?.status === 'open') return failure(400, 'charge_disputed', 'The charge is disputed.');
  if (isAllBack(checkout) || checkout.dispute?.status === 'lost') {
    return failure(400, 'charge_already_refunded', 'Charge has already been refunded.');
  }
  if (context.faults.refuseRefunds) return failure(400, 'insufficient_funds', 'The balance is too small.');
  const left = (checkout.paidAmount ?? 0) - amountBack(checkout);
  const { amount = left } = parsed.data;
  if (amount > left) return failure(400, 'amount_too_large', 'More than is left of the payment.');
  return { status: 200, body: viewRefundA(checkout, beginRefund(context, checkout, newId('re_'), amount)) };
}

/** Answers calls about refunds and disputes; undefined for any other call. */
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
    return listed(path, query, own.filter(({ dispute }) => dispute !== null).map(viewDisputeA));
  }
  const refunds = own.flatMap((checkout) => checkout.refunds.toReversed().map((one) => viewRefundA(checkout, one)));
  if (id === undefined) return listed(path, query, refunds);
  const found = refunds.find((one) => one.id === id);
  return found === undefined ? failure(404, 'resource_missing', 'No such refund') : { status: 200, body: found };
}
