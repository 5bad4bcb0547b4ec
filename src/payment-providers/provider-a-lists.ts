import type ProviderClient from 'stripe';
import { z } from 'zod';
import { PROVIDER_A_MONEY } from './currencies.ts';
import { ATTEMPT_PARAMETER, type ListedPayment, type ListedReversal, type OddRow, oddRow } from './provider.ts';
import { balanceSchema, feeOf, readAnswer } from './provider-a-state.ts';

const LISTED_AT_ONCE = 100;

const chargeSchema = z.object({
  id: z.string(),
  status: z.string(),
  amount: z.int(),
  currency: z.string(),
  created: z.int(),
  balance_transaction: balanceSchema,
  refunded: z.boolean(),
  payment_intent: z.string().nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
});
const reversalSchema = z.object({
  id: z.string(),
  status: z.string().nullish(),
  amount: z.int(),
  currency: z.string(),
  payment_intent: z.string().nullish(),
  charge: z.string().nullish(),
});

type ListParameters = { limit: number; starting_after?: string };

const pageSchema = z.object({ has_more: z.boolean(), data: z.array(z.unknown()) });
const namedSchema = z.object({ id: z.string() });

/** Yields every object of a list created since a moment, newest first, reading page by page. */
const listSince = (
  sinceMs: number,
  ask: (parameters: ListParameters & { created: { gte: number } }) => Promise<unknown>,
): AsyncGenerator<unknown> =>
  listAll((parameters) => ask({ created: { gte: Math.floor(sinceMs / 1_000) }, ...parameters }));

/** Yields every object of a list unparsed, newest first, reading page by page. */
export async function* listAll(ask: (parameters: ListParameters) => Promise<unknown>): AsyncGenerator<unknown> {
  let after: string | undefined;
  do {
    const more = after === undefined ? {} : { starting_after: after };
    const { data, has_more: goesOn } = readAnswer(pageSchema, await ask({ limit: LISTED_AT_ONCE, ...more }));
    yield* data;
    after = goesOn ? readAnswer(namedSchema, data.at(-1)).id : undefined;
  } while (after !== undefined);
}

type Ask = <T>(call: Promise<T>) => Promise<unknown>;

export async function* listPaymentsA(
  client: ProviderClient,
  ask: Ask,
  apiKey: string,
  sinceMs: number,
): AsyncGenerator<ListedPayment | OddRow> {
  for await (const row of listSince(sinceMs, (list) =>
    ask(client.charges.list({ ...list, expand: ['data.balance_transaction'] }, { apiKey })),
  )) {
    const { data: charge } = chargeSchema.safeParse(row);
    if (charge === undefined) {
      yield oddRow(row);
      continue;
    }
    const currency = charge.currency.toLowerCase();
    yield {
      providerPaymentId: charge.payment_intent ?? charge.id,
      attemptId: charge.metadata?.[ATTEMPT_PARAMETER] ?? null,
      amountMinor: PROVIDER_A_MONEY.fromProviderAmount(currency, charge.amount),
      currency,
      providerStatus: charge.refunded ? 'refunded' : charge.status,
      paid: charge.status === 'succeeded',
      feeMinor: feeOf(charge.balance_transaction, currency),
      atMs: charge.created * 1_000,
    };
  }
}

const REFUND_ENDS: ReadonlyMap<string, ListedReversal['status']> = new Map([
  ['succeeded', 'done'],
  ['failed', 'failed'],
  ['canceled', 'failed'],
]);
/** `failed`: the payment stays with the merchant, who won the dispute, or the dispute was only an inquiry and took no money. */
const DISPUTE_ENDS: ReadonlyMap<string, ListedReversal['status']> = new Map([
  ['lost', 'done'],
  ['won', 'failed'],
  ['warning_closed', 'failed'],
]);

export async function* listReversalsA(
  client: ProviderClient,
  ask: Ask,
  apiKey: string,
  sinceMs: number,
): AsyncGenerator<ListedReversal | OddRow> {
  const view = (
    kind: ListedReversal['kind'],
    ends: ReadonlyMap<string, ListedReversal['status']>,
    row: unknown,
  ): ListedReversal | OddRow => {
    const { data: one } = reversalSchema.safeParse(row);
    if (one === undefined) return oddRow(row);
    return {
      kind,
      status: ends.get(one.status ?? '') ?? 'pending',
      providerPaymentId: one.payment_intent ?? one.charge ?? null,
      reference: null,
      amountMinor: PROVIDER_A_MONEY.fromProviderAmount(one.currency, one.amount),
    };
  };
  for await (const refund of listSince(sinceMs, (list) => ask(client.refunds.list(list, { apiKey })))) {
    yield view('refund', REFUND_ENDS, refund);
  }
  for await (const dispute of listSince(sinceMs, (list) => ask(client.disputes.list(list, { apiKey })))) {
    yield view('dispute', DISPUTE_ENDS, dispute);
  }
}
