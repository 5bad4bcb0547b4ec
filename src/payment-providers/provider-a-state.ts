import { z } from 'zod';
import { PROVIDER_A_MONEY } from './currencies.ts';
import {
  ATTEMPT_PARAMETER,
  type CheckoutPage,
  type ProviderPayment,
  type ProviderState,
  type RefundResult,
} from './provider.ts';
import { answerReader } from './provider-fault.ts';

// The schemas list only the fields that this service uses, loosely typed: the provider adds fields and values without notice.
/** The balance transaction of a charge, which contains the fee. The provider may create it some time after the charge. */
export const balanceSchema = z.union([z.string(), z.object({ fee: z.int(), currency: z.string() })]).nullish();

const chargeSchema = z.object({
  id: z.string(),
  balance_transaction: balanceSchema,
  created: z.int().nullish(),
  refunded: z.boolean(),
  refunds: z.object({ data: z.array(z.object({ status: z.string().nullish() })) }).nullish(),
  disputed: z.boolean().nullish(),
});
const intentSchema = z.object({
  id: z.string(),
  status: z.string(),
  amount_received: z.int().nullish(),
  last_payment_error: z.unknown().optional(),
  latest_charge: z.union([z.string(), chargeSchema]).nullish(),
});
const sessionSchema = z.object({
  id: z.string(),
  status: z.string().nullish(),
  payment_status: z.string(),
  amount_total: z.int().nullish(),
  currency: z.string().nullish(),
  client_reference_id: z.string().nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
  livemode: z.boolean(),
  payment_intent: z.union([z.string(), intentSchema]).nullish(),
});
const openedSchema = z.object({ id: z.string().min(1), url: z.url({ protocol: /^https?$/ }), expires_at: z.int() });
const refundSchema = z.object({
  id: z.string(),
  status: z.string().nullish(),
  amount: z.int().nullish(),
  currency: z.string().nullish(),
});

type Session = z.infer<typeof sessionSchema>;

export const readAnswer = answerReader('provider_a');

export function readOpenedSession(answer: unknown): CheckoutPage {
  const session = readAnswer(openedSchema, answer);
  return {
    provider: 'provider_a',
    checkoutUrl: session.url,
    checkoutSessionId: session.id,
    expiresAtMs: session.expires_at * 1_000,
  };
}

/** The fee of a charge; null if the fee is unknown, or not in the payment's currency. */
export function feeOf(balance: z.infer<typeof balanceSchema>, currency: string): number | null {
  const found = expanded(balance);
  return found?.currency.toLowerCase() === currency ? PROVIDER_A_MONEY.fromProviderAmount(currency, found.fee) : null;
}

/** An object that the provider includes in another object on request. Otherwise it sends the ID or nothing: then null. */
const expanded = <Part extends object>(part: Part | string | null | undefined): Part | null =>
  typeof part === 'object' ? part : null;

const intentOf = (session: Session) => expanded(session.payment_intent);

function paymentOf(session: Session): ProviderPayment {
  const intent = intentOf(session);
  const charge = expanded(intent?.latest_charge);
  const paidAtSeconds = charge?.created ?? null;
  const currency = (session.currency ?? '').toLowerCase();
  return {
    // The received amount, if there is one: the total is only the requested amount.
    amountMinor: PROVIDER_A_MONEY.fromProviderAmount(currency, intent?.amount_received ?? session.amount_total),
    currency,
    reference: session.client_reference_id ?? null,
    attemptId: session.metadata?.[ATTEMPT_PARAMETER] ?? null,
    providerPaymentId: intent?.id ?? (typeof session.payment_intent === 'string' ? session.payment_intent : session.id),
    feeMinor: feeOf(charge?.balance_transaction ?? null, currency),
    paidAtMs: paidAtSeconds === null ? null : paidAtSeconds * 1_000,
    livemode: session.livemode,
  };
}

/** The state of a page that is completed but unpaid: a delayed payment method is still under way, or it has failed. */
function unpaidCompletion(session: Session): ProviderState {
  const intent = intentOf(session);
  const bounced = intent?.status === 'requires_payment_method' || intent?.status === 'canceled';
  return { kind: bounced ? 'failed' : 'processing' };
}

/** Whether the payer has all the money back. `refunded` is not enough: it is set at the request, while refunds may still be pending. */
function wentBack({ refunded, refunds }: z.infer<typeof chargeSchema>): boolean {
  const under = refunds?.data.some(({ status }) => status === 'pending' || status === 'requires_action') === true;
  return refunded && !under;
}

interface SessionReading {
  readonly state: ProviderState;
  /** The payment intent if its charge is disputed. Only the list of its disputes shows whether the money went back. */
  readonly disputedIntentId: string | null;
}

/** Reads a checkout session. Its payment decides before the page: an expired page may be paid. @throws PaymentProviderUnavailable */
export function readSession(answer: unknown): SessionReading {
  const session = readAnswer(sessionSchema, answer);
  const intent = intentOf(session);
  const charge = expanded(intent?.latest_charge);
  if (session.payment_status === 'paid') {
    const payment = paymentOf(session);
    if (charge && wentBack(charge))
      return {
        state: { kind: 'reversed', cause: 'refund', payment, backMinor: payment.amountMinor },
        disputedIntentId: null,
      };
    return { state: { kind: 'paid', payment }, disputedIntentId: charge?.disputed ? (intent?.id ?? null) : null };
  }
  return { state: unpaidState(session), disputedIntentId: null };
}

function unpaidState(session: Session): ProviderState {
  const refused = (intentOf(session)?.last_payment_error ?? null) !== null;
  if (session.status === 'expired') return { kind: 'expired', refused };
  // The caller has handled `paid`. Any other status except `unpaid` is unknown, and does not count as a payment.
  if (session.status === 'complete' && session.payment_status === 'unpaid') return unpaidCompletion(session);
  return { kind: 'unpaid', refused };
}

export function readRefundObject(answer: unknown): RefundResult {
  const { id: refundId, status, amount, currency } = readAnswer(refundSchema, answer);
  const amountMinor = PROVIDER_A_MONEY.fromProviderAmount(currency, amount);
  if (status === 'succeeded') return { kind: 'refunded', refundId, amountMinor };
  if (status === 'failed' || status === 'canceled') return { kind: 'refused', code: status, refundId, amountMinor };
  return { kind: status === 'requires_action' ? 'attention' : 'pending', refundId, amountMinor };
}
