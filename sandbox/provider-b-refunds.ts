import { z } from 'zod';
import { amountBack, type Checkout, isAllBack, newNumber } from './checkouts.ts';
import { viewDispute, viewNewRefund, viewRefund, viewRefundNotice } from './provider-b-objects.ts';
import { type ApiAnswer, type ApiCall, beginRefund, type Happening, type SandboxContext } from './sandbox-context.ts';

const refundParameters = z.strictObject({
  transaction: z.string(),
  amount: z.int().min(1).optional(),
  merchant_note: z.string().optional(),
});

/** Most objects of a page of a list, even if more are requested. */
const MOST_LISTED = 50;
export const pageSizeOf = (query: URLSearchParams): number =>
  Math.min(Number(query.get('perPage') ?? MOST_LISTED), MOST_LISTED);

const EVENTS: ReadonlyMap<Happening, string> = new Map([
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

/** provider_b's message about the newest refund of a payment. */
export function refundMessageB(checkout: Checkout, happening: Happening): { event: string; data: unknown } | undefined {
  const event = EVENTS.get(happening);
  const refund = checkout.refunds.at(-1);
  return event === undefined || refund === undefined ? undefined : { event, data: viewRefundNotice(checkout, refund) };
}

function refund(context: SandboxContext, { account, request }: ApiCall): ApiAnswer {
  const parsed = refundParameters.safeParse(request.body);
  if (!parsed.success) return refused(400, 'invalid_params', 'transaction and amount are required');
  const checkout = context.checkouts.ofReference(account.secretKey, parsed.data.transaction);
  if (checkout?.status !== 'paid') return refused(404, 'transaction_not_found', 'Transaction not found');
  if (isAllBack(checkout) || checkout.dispute?.status === 'lost') {
    return refused(400, 'transaction_reversed', 'Transaction has been fully reversed');
  }
  if (context.faults.refuseRefunds) return refused(400, 'insufficient_balance', 'The balance is too small.');
  const paid = checkout.paidAmount ?? checkout.amount;
  // By default the whole payment.
  const { amount = paid } = parsed.data;
  if (amount > paid - amountBack(checkout)) return refused(400, 'invalid_amount', 'Amount is more than is left');
  const begun = beginRefund(context, checkout, newNumber(), amount);
  return done('Refund has been queued for processing', viewNewRefund(checkout, begun));
}

/** Answers calls about refunds and disputes; undefined for any other. Lists accept `from`, `page` and `perPage`, but no transaction. */
export function answerRefundsB(context: SandboxContext, call: ApiCall): ApiAnswer | undefined {
  const { method, path, query } = call.request;
  if (method === 'POST' && path === '/refund') return refund(context, call);
  const [, kind, id] = /^\/(refund|dispute)(?:\/([^/]+))?$/.exec(path) ?? [];
  if (method !== 'GET' || kind === undefined) return undefined;
  const own = context.checkouts.since(call.account.secretKey, 0).filter(({ provider }) => provider === 'provider_b');
  const objects =
    kind === 'dispute'
      ? own.filter(({ dispute }) => dispute !== null).map(viewDispute)
      : own.flatMap((checkout) => checkout.refunds.toReversed().map((one) => viewRefund(checkout, one)));
  if (id !== undefined) {
    const found = objects.find((one) => String(one.id) === id);
    return found === undefined ? refused(404, 'not_found', `No such ${kind}`) : done('Retrieved', found);
  }
  const fromMs = Date.parse(query.get('from') ?? '1970-01-01');
  const perPage = pageSizeOf(query);
  const begin = (Number(query.get('page') ?? 1) - 1) * perPage;
  const since = objects.filter((one) => Date.parse('createdAt' in one ? one.createdAt : one.created_at) >= fromMs);
  return done('Retrieved', since.slice(begin, begin + perPage));
}
