import { z } from 'zod';
import { DAY_MS } from '#src/platform/clock.ts';
import { PROVIDER_B_MONEY } from './currencies.ts';
import {
  ATTEMPT_PARAMETER,
  isAttemptId,
  type ListedPayment,
  type ListedReversal,
  type OddRow,
  oddRow,
  type ProviderPayment,
  type ProviderState,
  type RefundedPayment,
  type RefundResult,
} from './provider.ts';
import { parseKeepingIds } from './provider-b-http.ts';
import { answerReader } from './provider-fault.ts';

const idSchema = z.union([z.string().min(1), z.int()]).transform(String);
/** Amounts are numbers; in refunds they may also be texts of digits. */
const amountSchema = z.union([
  z.int(),
  z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number),
]);
const transactionSchema = z.object({
  id: idSchema,
  status: z.string(),
  reference: z.string(),
  amount: amountSchema,
  requested_amount: amountSchema.nullish(),
  // Fees are only shown to the organizer, so an invalid value does not make the payment unreadable.
  fees: amountSchema.nullish().catch(null),
  currency: z.string(),
  domain: z.string(),
  paid_at: z.string().nullish(),
  created_at: z.string().nullish(),
  metadata: z.unknown().optional(),
});
const refundSchema = z.object({
  id: idSchema,
  status: z.string(),
  amount: amountSchema.nullish(),
  currency: z.string().nullish(),
});
type Transaction = z.infer<typeof transactionSchema>;

export const readAnswer = answerReader('provider_b');

/** The attempt ID in a transaction's metadata: an object, or an object as JSON text. `""`, `0` and null mean no metadata. */
export function attemptIdOf(metadata: unknown): string | null {
  const record = typeof metadata === 'string' ? parsedOrNull(metadata) : metadata;
  if (typeof record !== 'object' || record === null) return null;
  const attemptId: unknown = Reflect.get(record, ATTEMPT_PARAMETER);
  return typeof attemptId === 'string' && attemptId !== '' ? attemptId : null;
}

function parsedOrNull(text: string): unknown {
  try {
    return parseKeepingIds(text);
  } catch {
    // Metadata that is not JSON: another program made this transaction.
    return null;
  }
}

/** The amount without the fees that the payer paid on top. If the surplus exceeds the fees, it stays, and the amount matches no price. */
function paidAmount({ amount, requested_amount: requested, fees }: Transaction): number {
  const surplus = amount - (requested ?? amount);
  return surplus > 0 && surplus <= (fees ?? 0) ? amount - surplus : amount;
}

/** Unix ms of a time in text; null if the text is no time. */
function timeOf(text: string | null | undefined): number | null {
  const timeMs = Date.parse(text ?? '');
  return Number.isNaN(timeMs) ? null : timeMs;
}

function paymentOf(transaction: Transaction): ProviderPayment {
  const currency = transaction.currency.toLowerCase();
  return {
    amountMinor: PROVIDER_B_MONEY.fromProviderAmount(currency, paidAmount(transaction)),
    currency,
    reference: transaction.reference,
    attemptId: attemptIdOf(transaction.metadata),
    providerPaymentId: transaction.id,
    paidAtMs: timeOf(transaction.paid_at),
    feeMinor: PROVIDER_B_MONEY.fromProviderAmount(currency, transaction.fees),
    livemode: transaction.domain === 'live',
  };
}

const UNDER_WAY: ReadonlySet<string> = new Set(['pending', 'processing', 'queued']);

/** How long to wait for a payment on a page. The provider's pages do not expire. */
export const LONGEST_PAGE_MS = DAY_MS;
/** Lists of payments start this much earlier than requested: the provider goes by the page's opening, and payment may come later. */
export const LATEST_PAYMENT_MS = 30 * DAY_MS;

/** The total that a payer paid, in the provider's unit, including any provider's fees that the payer paid. */
export const grossOf = (answer: unknown): number => readAnswer(transactionSchema, answer).amount;

/** The ID of a listed object; its JSON text if it has none. */
export const identityOf = (listed: unknown): unknown =>
  z.object({ id: idSchema }).safeParse(listed).data?.id ?? JSON.stringify(listed);

/** Reads a page's state. After a failure, the payer may use another card until `LONGEST_PAGE_MS`. @throws PaymentProviderUnavailable */
export function readTransaction(answer: unknown, nowMs: number): ProviderState {
  const transaction = readAnswer(transactionSchema, answer);
  const { status } = transaction;
  if (status === 'success') return { kind: 'paid', payment: paymentOf(transaction) };
  if (status === 'reversed') {
    const payment = paymentOf(transaction);
    const backMinor = PROVIDER_B_MONEY.fromProviderAmount(payment.currency, transaction.amount);
    return { kind: 'reversed', cause: 'refund', payment, backMinor };
  }
  const openedAtMs = timeOf(transaction.created_at);
  const isOver = openedAtMs !== null && nowMs >= openedAtMs + LONGEST_PAGE_MS;
  if (status === 'failed' && isOver) return { kind: 'failed' };
  if (UNDER_WAY.has(status)) return { kind: 'processing' };
  // Every page is `abandoned` until its payer pays, and `ongoing` while the payer pays.
  return { kind: 'unpaid', refused: status === 'failed' };
}

/** Reads the payments in a list of transactions, and skips unpaid transactions. */
export function readPayments(rows: readonly unknown[]): (ListedPayment | OddRow)[] {
  return rows.flatMap((row): (ListedPayment | OddRow)[] => {
    const { data: transaction } = transactionSchema.safeParse(row);
    if (transaction === undefined) return [oddRow(row)];
    const { status } = transaction;
    const paid = status === 'success' || status === 'reversed';
    if (!paid && !UNDER_WAY.has(status)) return [];
    const { amountMinor, currency, reference, attemptId, providerPaymentId, paidAtMs, feeMinor } =
      paymentOf(transaction);
    return [
      {
        ...{ providerPaymentId, amountMinor, currency, paid, feeMinor, providerStatus: status },
        attemptId: attemptId ?? attemptOfReference(reference ?? ''),
        atMs: paidAtMs ?? timeOf(transaction.created_at) ?? 0,
      },
    ];
  });
}

/** The attempt of a reference: `pay_…` for `pay-….1`; null for a reference of another shop. */
export function attemptOfReference(reference: string): string | null {
  const attemptId = /^pay-([0-9a-z]{22})\.\d+$/.exec(reference)?.[1];
  return attemptId !== undefined && isAttemptId(`pay_${attemptId}`) ? `pay_${attemptId}` : null;
}

export function readRefundObject(answer: unknown): RefundResult {
  const { id: refundId, status, amount, currency } = readAnswer(refundSchema, answer);
  const amountMinor = PROVIDER_B_MONEY.fromProviderAmount(currency, amount);
  if (status === 'processed') return { kind: 'refunded', refundId, amountMinor };
  if (status === 'failed') return { kind: 'refused', code: status, refundId, amountMinor };
  return { kind: status === 'needs-attention' ? 'attention' : 'pending', refundId, amountMinor };
}

const reversalSchema = z.object({
  status: z.string(),
  resolution: z.string().nullish(),
  amount: amountSchema.nullish(),
  refund_amount: amountSchema.nullish(),
  currency: z.string().nullish(),
  transaction: z
    .union([
      idSchema.transform((id) => ({ id, reference: null })),
      z.object({ id: idSchema.nullish(), reference: z.string().nullish() }),
    ])
    .nullish(),
});

/** Whether a refund belongs to this payment. A refund names its transaction by ID, or by an object with ID and reference. */
export function isRefundOf(refund: unknown, payment: RefundedPayment): boolean {
  const transaction = reversalSchema.pick({ transaction: true }).safeParse(refund).data?.transaction;
  return transaction?.id === payment.providerPaymentId || transaction?.reference === payment.reference;
}

function reversalStatus(
  kind: ListedReversal['kind'],
  status: string,
  resolution: string | null,
): ListedReversal['status'] {
  if (kind === 'refund') return status === 'processed' ? 'done' : status === 'failed' ? 'failed' : 'pending';
  if (status !== 'resolved') return 'pending';
  // `declined`: the merchant contested the dispute, and the payment stays.
  return resolution === 'declined' ? 'failed' : 'done';
}

export function readReversals(kind: ListedReversal['kind'], rows: readonly unknown[]): (ListedReversal | OddRow)[] {
  return rows.map((row) => {
    const { data: one } = reversalSchema.safeParse(row);
    if (one === undefined) return oddRow(row);
    return {
      kind,
      status: reversalStatus(kind, one.status, one.resolution ?? null),
      providerPaymentId: one.transaction?.id ?? null,
      reference: one.transaction?.reference ?? null,
      amountMinor: PROVIDER_B_MONEY.fromProviderAmount(one.currency, one.amount ?? one.refund_amount),
    };
  });
}
