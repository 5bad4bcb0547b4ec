import { type Checkout, isAllBack, type PlayedRefund, type RefundStatus } from './checkouts.ts';
import { feeOfB } from './sandbox-context.ts';

// Objects of provider_b. Each has exactly the fields of the provider's own samples.

const STATUS: Readonly<Record<Checkout['status'], string>> = {
  open: 'abandoned',
  expired: 'abandoned',
  processing: 'pending',
  failed: 'failed',
  paid: 'success',
};
const REFUND_STATUS: Readonly<Record<RefundStatus, string>> = {
  pending: 'processing',
  attention: 'needs-attention',
  succeeded: 'processed',
  failed: 'failed',
};
const iso = (timeMs: number): string => new Date(timeMs).toISOString();
const currencyOf = (checkout: Checkout): string => checkout.paidCurrency ?? checkout.currency;

/** The status of a transaction. It stays paid while the money is on its way back. */
function statusOf(checkout: Checkout): string {
  const whole = checkout.paidAmount ?? checkout.amount;
  if ((checkout.dispute?.status === 'lost' && checkout.dispute.amount >= whole) || isAllBack(checkout, 'succeeded'))
    return 'reversed';
  return checkout.declined ? 'failed' : STATUS[checkout.status];
}

function customerOf({ email, paymentId }: Checkout) {
  return {
    id: Number(paymentId) + 2,
    first_name: null,
    last_name: null,
    email,
    customer_code: `CUS_${paymentId}`,
    phone: null,
    metadata: null,
    risk_action: 'default',
  };
}

function authorizationOf({ status, paymentId }: Checkout) {
  if (status === 'open') return {};
  return {
    authorization_code: `AUTH_${paymentId}`,
    bin: '408408',
    last4: '4081',
    exp_month: '12',
    exp_year: '2030',
    channel: 'card',
    card_type: 'visa ',
    bank: 'TEST BANK',
    country_code: 'NG',
    brand: 'visa',
    reusable: true,
    signature: `SIG_${paymentId}`,
    account_name: null,
  };
}

/** The part that all views of a transaction have. IDs are numbers that need more than 31 bits. */
function transactionPart(checkout: Checkout) {
  const paidAt = checkout.paidAtMs === null ? null : iso(checkout.paidAtMs);
  return {
    id: Number(checkout.paymentId),
    domain: 'test',
    status: statusOf(checkout),
    reference: checkout.reference,
    amount: checkout.paidAmount ?? checkout.amount,
    message: null,
    gateway_response: checkout.status === 'failed' || checkout.declined ? 'Declined' : 'Successful',
    paid_at: paidAt,
    created_at: iso(checkout.createdAtMs),
    channel: 'card',
    currency: currencyOf(checkout),
    ip_address: '127.0.0.1',
    metadata: checkout.metadata,
    log: null,
    fees: checkout.status === 'paid' ? feeOfB(checkout.amount) : null,
    fees_split: null,
    authorization: authorizationOf(checkout),
    split: {},
    order_id: null,
    paidAt,
    requested_amount: checkout.amount,
    pos_transaction_data: null,
    subaccount: {},
  };
}

/** A transaction as `verify` answers it. */
export function viewTransaction(checkout: Checkout) {
  return {
    ...transactionPart(checkout),
    receipt_number: null,
    customer: { ...customerOf(checkout), international_format_phone: null },
    plan: null,
    createdAt: iso(checkout.createdAtMs),
    source: null,
    fees_breakdown: null,
    connect: null,
    transaction_date: iso(checkout.createdAtMs),
    plan_object: {},
  };
}

/** A transaction in a list. */
export function viewListedTransaction(checkout: Checkout) {
  return {
    ...transactionPart(checkout),
    customer: customerOf(checkout),
    plan: {},
    createdAt: iso(checkout.createdAtMs),
    source: { source: 'merchant_api', type: 'api', identifier: null, entry_point: 'transaction_initialize' },
    connect: null,
  };
}

/** A transaction in a message about a payment. */
export function viewPaidTransaction(checkout: Checkout) {
  return {
    ...transactionPart(checkout),
    customer: { ...customerOf(checkout), international_format_phone: null },
    fees_breakdown: null,
    plan: {},
    source: { type: 'api', source: 'merchant_api', entry_point: 'transaction_initialize', identifier: null },
  };
}

function refundPart(checkout: Checkout, refund: PlayedRefund) {
  return {
    id: Number(refund.id),
    integration: 100_001,
    domain: 'test',
    currency: currencyOf(checkout),
    amount: refund.amount,
    status: REFUND_STATUS[refund.status],
    refunded_by: 'shop@mail.example',
    customer_note: `Refund for transaction ${checkout.reference}`,
    merchant_note: `Refund for transaction ${checkout.reference}`,
    createdAt: iso(refund.createdAtMs),
  };
}

/** A refund in the answer to the call that began it. */
export function viewNewRefund(checkout: Checkout, refund: PlayedRefund) {
  const paidAt = iso(checkout.paidAtMs ?? 0);
  return {
    ...refundPart(checkout, refund),
    transaction: {
      id: Number(checkout.paymentId),
      domain: 'test',
      reference: checkout.reference,
      amount: checkout.paidAmount ?? checkout.amount,
      paid_at: paidAt,
      channel: 'card',
      currency: currencyOf(checkout),
      authorization: { exp_month: null, exp_year: null, account_name: null },
      customer: { international_format_phone: null },
      plan: {},
      subaccount: { currency: null },
      split: {},
      order_id: null,
      paidAt,
      pos_transaction_data: null,
      source: null,
      fees_breakdown: null,
    },
    deducted_amount: 0,
    fully_deducted: false,
    channel: null,
    expected_at: iso(refund.createdAtMs),
    updatedAt: iso(refund.createdAtMs),
  };
}

/** A refund as it is read or listed. It names its transaction by ID. */
export function viewRefund(checkout: Checkout, refund: PlayedRefund) {
  const customer = { ...customerOf(checkout), first_name: '', last_name: '', phone: '', metadata: '' };
  return {
    ...refundPart(checkout, refund),
    transaction: Number(checkout.paymentId),
    dispute: null,
    settlement: null,
    refunded_at: refund.status === 'succeeded' ? iso(refund.createdAtMs) : null,
    deducted_amount: refund.amount,
    fully_deducted: 1,
    bank_reference: null,
    transaction_reference: checkout.reference,
    reason: 'REFUND',
    customer: { ...customer, international_format_phone: '' },
    refund_type: refund.amount < (checkout.paidAmount ?? checkout.amount) ? 'partial' : 'full',
    transaction_amount: checkout.paidAmount ?? checkout.amount,
    initiated_by: 'shop@mail.example',
    refund_channel: 'migs',
    session_id: null,
    collect_account_number: false,
  };
}

/**
 * The newest refund of a payment, in a message: it lacks the transaction's metadata and ID, and has the refund's ID only as a
 * reference.
 */
export function viewRefundNotice(checkout: Checkout, refund: PlayedRefund) {
  const notice = {
    status: REFUND_STATUS[refund.status],
    transaction_reference: checkout.reference,
    refund_reference: refund.status === 'pending' ? null : refund.id,
    amount: refund.status === 'failed' ? refund.amount : String(refund.amount),
    currency: currencyOf(checkout),
    customer: { first_name: null, last_name: null, email: checkout.email },
    integration: 100_001,
    domain: 'test',
  };
  if (refund.status !== 'attention') return { ...notice, processor: 'instant-transfer' };
  const note = `Refund for transaction ${checkout.reference}`;
  return { ...notice, amount: refund.amount, id: refund.id, customer_note: note, merchant_note: note };
}

const DISPUTE_STATUS = { open: 'awaiting-merchant-feedback', won: 'resolved', lost: 'resolved' } as const;
const RESOLUTION = { open: null, won: 'declined', lost: 'merchant-accepted' } as const;

/** A dispute, in a list or a message. */
export function viewDispute(checkout: Checkout) {
  const { status = 'open', openedAtMs = 0, closedAtMs = null } = checkout.dispute ?? {};
  const openedAt = iso(openedAtMs);
  return {
    id: Number(checkout.paymentId) + 1,
    refund_amount: checkout.dispute?.amount ?? checkout.paidAmount ?? checkout.amount,
    currency: currencyOf(checkout),
    status: DISPUTE_STATUS[status],
    resolution: RESOLUTION[status],
    domain: 'test',
    transaction: {
      ...transactionPart(checkout),
      authorization: {},
      customer: { international_format_phone: null },
      plan: {},
    },
    transaction_reference: null,
    category: 'chargeback',
    customer: { ...customerOf(checkout), international_format_phone: null },
    bin: '408408',
    last4: '4081',
    dueAt: iso(openedAtMs + 86_400_000),
    resolvedAt: closedAtMs === null ? null : iso(closedAtMs),
    evidence: null,
    attachments: null,
    note: null,
    history: [{ status: 'pending', by: 'payer@mail.example', createdAt: openedAt }],
    messages: [{ sender: 'payer@mail.example', body: 'Not mine', createdAt: openedAt }],
    created_at: openedAt,
    updated_at: iso(closedAtMs ?? openedAtMs),
  };
}
