import { type Checkout, isAllBack, type PlayedRefund, type RefundStatus } from './checkouts.ts';

// Objects of provider_a. Each has exactly the fields of the provider's own samples.

export const seconds = (timeMs: number): number => Math.floor(timeMs / 1_000);
const currencyOf = (checkout: Checkout): string => checkout.paidCurrency ?? checkout.currency;
const NO_ADDRESS = { city: null, country: null, line1: null, line2: null, postal_code: null, state: null };

/** The balance transaction of a payment. Its fee is 2.9 % and 30 units of the provider. */
function viewBalanceA(checkout: Checkout) {
  const paid = checkout.paidAmount ?? 0;
  const fee = Math.floor((paid * 29) / 1_000) + 30;
  const currency = currencyOf(checkout);
  return {
    id: `txn_${checkout.chargeId}`,
    object: 'balance_transaction',
    amount: paid,
    available_on: seconds(checkout.paidAtMs ?? 0) + 172_800,
    balance_type: 'payments',
    created: seconds(checkout.paidAtMs ?? 0),
    currency,
    description: checkout.title,
    exchange_rate: null,
    fee,
    fee_details: [{ amount: fee, application: null, currency, description: 'processing fees', type: 'stripe_fee' }],
    net: paid - fee,
    reporting_category: 'charge',
    source: checkout.chargeId,
    status: 'pending',
    type: 'charge',
  };
}

const REFUND_STATUS: Readonly<Record<RefundStatus, string>> = {
  pending: 'pending',
  attention: 'requires_action',
  succeeded: 'succeeded',
  failed: 'failed',
};

export function viewRefundA(checkout: Checkout, refund: PlayedRefund) {
  return {
    id: refund.id,
    object: 'refund',
    amount: refund.amount,
    balance_transaction: refund.status === 'succeeded' ? `txn_${refund.id}` : null,
    charge: checkout.chargeId,
    created: seconds(refund.createdAtMs),
    currency: currencyOf(checkout),
    customer: null,
    customer_account: null,
    destination_details: { card: { type: 'refund' }, type: 'card' },
    metadata: {},
    payment_intent: checkout.paymentId,
    payment_method: null,
    reason: null,
    receipt_number: null,
    source_transfer_reversal: null,
    status: REFUND_STATUS[refund.status],
    transfer_reversal: null,
  };
}

/** @param expanded whether to include refunds and balance transaction, which callers may request */
export function viewChargeA(checkout: Checkout, expanded: boolean) {
  const amount = checkout.paidAmount ?? 0;
  const back = checkout.refunds.filter(({ status }) => status !== 'failed');
  const list = { object: 'list', has_more: false, url: `/v1/charges/${checkout.chargeId}/refunds` };
  return {
    id: checkout.chargeId,
    object: 'charge',
    amount,
    amount_captured: amount,
    amount_refunded: back.reduce((sum, refund) => sum + refund.amount, 0),
    application: null,
    application_fee: null,
    application_fee_amount: null,
    balance_transaction: expanded ? viewBalanceA(checkout) : `txn_${checkout.chargeId}`,
    billing_details: { address: NO_ADDRESS, email: checkout.email, name: null, phone: null, tax_id: null },
    calculated_statement_descriptor: 'SANDBOX',
    captured: true,
    created: seconds(checkout.paidAtMs ?? 0),
    currency: currencyOf(checkout),
    customer: null,
    description: null,
    disputed: checkout.dispute !== null,
    failure_balance_transaction: null,
    failure_code: null,
    failure_message: null,
    fraud_details: {},
    livemode: false,
    metadata: checkout.metadata,
    on_behalf_of: null,
    outcome: {
      advice_code: null,
      network_advice_code: null,
      network_decline_code: null,
      network_status: 'approved_by_network',
      reason: null,
      seller_message: 'Payment complete.',
      type: 'authorized',
    },
    paid: true,
    payment_intent: checkout.paymentId,
    payment_method: `pm_${checkout.chargeId}`,
    payment_method_details: { card: { brand: 'visa', last4: '4242' }, type: 'card' },
    receipt_email: null,
    receipt_number: null,
    receipt_url: null,
    refunded: isAllBack(checkout),
    refunds: { ...list, data: expanded ? checkout.refunds.map((one) => viewRefundA(checkout, one)) : [] },
    review: null,
    shipping: null,
    source: null,
    source_transfer: null,
    statement_descriptor: null,
    statement_descriptor_suffix: null,
    status: 'succeeded',
    transfer_data: null,
    transfer_group: null,
  };
}

function intentStatus({ status }: Checkout): string {
  if (status === 'paid') return 'succeeded';
  if (status === 'processing') return 'processing';
  return status === 'expired' ? 'canceled' : 'requires_payment_method';
}

export function viewIntentA(checkout: Checkout) {
  const paid = checkout.status === 'paid';
  const refused = !paid && (checkout.declined || checkout.status === 'failed');
  const card = { type: 'card_error', code: 'card_declined', decline_code: 'generic_decline', message: 'Declined.' };
  return {
    id: checkout.paymentId,
    object: 'payment_intent',
    amount: checkout.amount,
    amount_capturable: 0,
    amount_details: { tip: {} },
    amount_received: paid ? checkout.paidAmount : 0,
    application: null,
    application_fee_amount: null,
    automatic_payment_methods: null,
    canceled_at: null,
    cancellation_reason: null,
    capture_method: 'automatic_async',
    client_secret: null,
    confirmation_method: 'automatic',
    created: seconds(checkout.createdAtMs),
    currency: currencyOf(checkout),
    customer: null,
    customer_account: null,
    description: null,
    excluded_payment_method_types: null,
    last_payment_error: refused ? card : null,
    latest_charge: paid ? viewChargeA(checkout, true) : null,
    livemode: false,
    managed_payments: { enabled: false },
    metadata: checkout.metadata,
    next_action: null,
    on_behalf_of: null,
    payment_method: null,
    payment_method_configuration_details: null,
    payment_method_options: {},
    payment_method_types: ['card'],
    processing: null,
    receipt_email: null,
    review: null,
    setup_future_usage: null,
    shipping: null,
    source: null,
    statement_descriptor: null,
    statement_descriptor_suffix: null,
    status: intentStatus(checkout),
    transfer_data: null,
    transfer_group: null,
  };
}

function sessionStatus({ status, provider }: Checkout): string {
  if (provider === 'provider_a' && status === 'open') return 'open';
  return status === 'expired' ? 'expired' : 'complete';
}

/** The payment intent in a session; null until the payer has tried to pay. */
function intentOf(checkout: Checkout, expanded: boolean) {
  if ((checkout.status === 'open' || checkout.status === 'expired') && !checkout.declined) return null;
  return expanded ? viewIntentA(checkout) : checkout.paymentId;
}

function customerOf({ email }: Checkout) {
  return {
    address: NO_ADDRESS,
    business_name: null,
    email,
    individual_name: null,
    name: null,
    phone: null,
    tax_exempt: 'none',
    tax_ids: null,
  };
}

export function viewSessionA(origin: string, checkout: Checkout, expanded = false) {
  const { status } = checkout;
  return {
    id: checkout.pageId,
    object: 'checkout.session',
    adaptive_pricing: { enabled: false },
    after_expiration: null,
    allow_promotion_codes: null,
    amount_subtotal: checkout.amount,
    amount_total: checkout.paidAmount ?? checkout.amount,
    automatic_tax: { enabled: false, liability: null, provider: null, status: null },
    billing_address_collection: null,
    cancel_url: checkout.cancelUrl,
    client_reference_id: checkout.reference,
    client_secret: null,
    collected_information: null,
    consent: null,
    consent_collection: null,
    created: seconds(checkout.createdAtMs),
    currency: currencyOf(checkout),
    currency_conversion: null,
    custom_fields: [],
    custom_text: { after_submit: null, shipping_address: null, submit: null, terms_of_service_acceptance: null },
    customer: null,
    customer_account: null,
    customer_creation: 'if_required',
    customer_details: status === 'open' && checkout.email === null ? null : customerOf(checkout),
    customer_email: checkout.email,
    discounts: [],
    expires_at: seconds(checkout.expiresAtMs),
    integration_identifier: null,
    invoice: null,
    invoice_creation: {
      enabled: false,
      invoice_data: {
        account_tax_ids: null,
        custom_fields: null,
        description: null,
        footer: null,
        issuer: null,
        metadata: {},
        rendering_options: null,
      },
    },
    livemode: false,
    locale: null,
    managed_payments: { enabled: false },
    metadata: checkout.metadata,
    mode: 'payment',
    origin_context: null,
    payment_intent: intentOf(checkout, expanded),
    payment_link: null,
    payment_method_collection: 'if_required',
    payment_method_configuration_details: null,
    payment_method_options: {},
    payment_method_types: ['card'],
    payment_status: status === 'paid' ? 'paid' : 'unpaid',
    permissions: null,
    phone_number_collection: { enabled: false },
    recovered_from: null,
    saved_payment_method_options: null,
    setup_intent: null,
    shipping_address_collection: null,
    shipping_cost: null,
    shipping_options: [],
    status: sessionStatus(checkout),
    submit_type: 'pay',
    subscription: null,
    success_url: checkout.successUrl,
    total_details: { amount_discount: 0, amount_shipping: 0, amount_tax: 0 },
    ui_mode: 'hosted_page',
    url: status === 'open' ? `${origin}/pay/${checkout.pageId}` : null,
    wallet_options: null,
  };
}
