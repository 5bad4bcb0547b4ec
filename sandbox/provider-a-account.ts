import type { Checkout } from './checkouts.ts';
import { seconds } from './provider-a-objects.ts';

// Objects of provider_a besides payments: disputes, accounts, webhook endpoints, and the messages.

const DISPUTE_STATUS = { open: 'needs_response', won: 'won', lost: 'lost' } as const;

const EVIDENCE =
  'access_activity_log billing_address cancellation_policy cancellation_policy_disclosure cancellation_rebuttal customer_communication customer_email_address customer_name customer_purchase_ip customer_signature duplicate_charge_documentation duplicate_charge_explanation duplicate_charge_id product_description receipt refund_policy refund_policy_disclosure refund_refusal_explanation service_date service_documentation shipping_address shipping_carrier shipping_date shipping_documentation shipping_tracking_number uncategorized_file uncategorized_text'.split(
    ' ',
  );

export function viewDisputeA(checkout: Checkout) {
  const { dispute } = checkout;
  const created = seconds(dispute?.openedAtMs ?? 0);
  const due = { due_by: created + 604_800, has_evidence: false, past_due: false, submission_count: 0 };
  return {
    id: `dp_${checkout.chargeId}`,
    object: 'dispute',
    amount: dispute?.amount ?? checkout.paidAmount,
    balance_transactions: [],
    charge: checkout.chargeId,
    created,
    currency: checkout.paidCurrency ?? checkout.currency,
    enhanced_eligibility_types: [],
    evidence: { ...Object.fromEntries(EVIDENCE.map((name) => [name, null])), enhanced_evidence: {} },
    evidence_details: { ...due, enhanced_eligibility: {} },
    is_charge_refundable: false,
    livemode: false,
    metadata: {},
    payment_intent: checkout.paymentId,
    payment_method_details: {
      card: { brand: 'visa', case_type: 'chargeback', network: 'visa', network_reason_code: '10.4' },
      type: 'card',
    },
    reason: 'fraudulent',
    status: DISPUTE_STATUS[dispute?.status ?? 'open'],
  };
}

const REQUIREMENTS = {
  alternatives: [],
  current_deadline: null,
  currently_due: [],
  disabled_reason: null,
  errors: [],
  eventually_due: [],
  past_due: [],
  pending_verification: [],
};

export function viewAccountA(id: string, country: string, ready: boolean) {
  return {
    id,
    object: 'account',
    business_profile: { mcc: null, name: null, support_address: null, support_email: null, url: null },
    business_type: null,
    capabilities: { card_payments: ready ? 'active' : 'inactive', transfers: 'active' },
    charges_enabled: ready,
    controller: { type: 'account' },
    country,
    created: 1_700_000_000,
    default_currency: 'usd',
    details_submitted: true,
    email: 'shop@mail.example',
    external_accounts: { data: [], has_more: false, object: 'list', url: `/v1/accounts/${id}/external_accounts` },
    future_requirements: REQUIREMENTS,
    metadata: {},
    payouts_enabled: true,
    requirements: ready ? REQUIREMENTS : { ...REQUIREMENTS, disabled_reason: 'rejected.other' },
    settings: { dashboard: { display_name: null, timezone: 'Etc/UTC' }, payments: { statement_descriptor: null } },
    tos_acceptance: { date: null, ip: null, user_agent: null },
    type: 'standard',
  };
}

export function viewEndpointA(url: string, kinds: readonly string[]) {
  return {
    id: 'we_1',
    object: 'webhook_endpoint',
    api_version: null,
    application: null,
    created: 1_700_000_000,
    description: null,
    enabled_events: kinds,
    livemode: false,
    metadata: {},
    status: 'enabled',
    url,
  };
}

/** A message about an object. It names no account, because only messages about other accounts do. */
export function viewEventA(id: string, createdMs: number, type: string, object: unknown) {
  return {
    id,
    object: 'event',
    api_version: null,
    created: seconds(createdMs),
    data: { object },
    livemode: false,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type,
  };
}
