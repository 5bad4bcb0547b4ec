import { amountInMainUnit } from '#src/payment-providers/currencies.ts';
import type { CheckoutPage } from '#src/payment-providers/provider.ts';
import { isProviderName, providerKind } from '#src/payment-providers/registered.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { Refund } from './refund-repository.ts';
import type { AttemptStatus, PaymentAttempt, PaymentBusiness, RefundStatus } from './types.ts';
import type { AttemptView, BusinessView, OrganizerAttemptView, PaymentRequiredView } from './view-schemas.ts';

/** A payment business (contract, "Payment business"). */
export function viewBusiness(business: PaymentBusiness): BusinessView {
  return {
    id: business.id,
    provider: business.provider,
    displayName: business.displayName,
    country: business.country,
    ready: business.ready,
    supportedCurrencies: business.supportedCurrencies,
  };
}

export function confirmationCodePlace(attemptId: string) {
  return { table: 'payment_attempts', column: 'confirmation_code', row: attemptId };
}

export function answerPlace(attemptId: string) {
  return { table: 'payment_attempts', column: 'answer', row: attemptId };
}

function attemptWithoutCode(attempt: PaymentAttempt): Omit<AttemptView, 'confirmationCode'> {
  return {
    id: attempt.id,
    votingEventId: attempt.votingEventId,
    purpose: attempt.purpose,
    status: attempt.status,
    provider: attempt.provider,
    livemode: attempt.livemode,
    amountMinor: attempt.amountMinor,
    currency: attempt.currency,
    createdAt: attempt.createdAt,
    updatedAt: attempt.updatedAt,
    refundedAt: attempt.refundedAt,
    reversedAt: attempt.reversedAt,
  };
}

/** A payment attempt (contract, "Payment attempt"). */
export function viewAttempt(secrets: Secrets, attempt: PaymentAttempt): AttemptView {
  const { confirmationCode: code } = attempt;
  return {
    ...attemptWithoutCode(attempt),
    confirmationCode: code === null ? null : secrets.open(code, confirmationCodePlace(attempt.id)).toString('utf8'),
  };
}

/** What belongs to an attempt beside its own row. */
export interface AttemptBackground {
  readonly livemode: boolean;
  /** Every payment of the attempt that goes back. */
  readonly refunds: readonly Refund[];
}

function statusOfOwed(status: RefundStatus | undefined) {
  if (status === 'failed') return 'failed';
  return status === 'attention' ? 'needs_attention' : 'pending';
}

/** A part that its merchant gave back; none once all of it went. `refundedAt` stays null, and so does the end of the refund. */
function partOf({ partRefundedMinor, partRefundedAt, reversedAt }: PaymentAttempt): OrganizerAttemptView['refund'] {
  if (partRefundedAt === null || reversedAt !== null) return null;
  return {
    status: 'partially_refunded',
    amountMinor: partRefundedMinor,
    requestedAt: partRefundedAt,
    finishedAt: null,
  };
}

/** The refund of what the attempt itself was paid with; where it bought nothing, of any payment for it. */
export function refundOf(attempt: PaymentAttempt, { refunds }: AttemptBackground): OrganizerAttemptView['refund'] {
  const { status, refundedAt, providerPaymentId, amountMinor } = attempt;
  const isLive = status === 'fulfilled' || status === 'succeeded';
  const own = refunds.find((refund) => refund.providerPaymentId === providerPaymentId);
  const row = own ?? (isLive ? undefined : refunds.at(-1));
  if (row === undefined && refundedAt === null) return partOf(attempt);
  return {
    status: refundedAt === null ? statusOfOwed(row?.status) : 'refunded',
    amountMinor: row?.amountMinor ?? amountMinor,
    requestedAt: row?.createdAt ?? refundedAt ?? attempt.updatedAt,
    finishedAt: refundedAt,
  };
}

function organizerPart(attempt: PaymentAttempt, background: AttemptBackground) {
  const { providerPaymentId: paymentId, providerReference: reference, paidAt, feeMinor } = attempt;
  const { livemode } = background;
  const details = paymentId === null ? null : { reference, paymentId, paidAt, feeMinor, livemode };
  return { providerDetails: details, refund: refundOf(attempt, background) };
}

/** An attempt for its organizer (completions 7.4). */
export const viewOrganizerAttempt = (
  secrets: Secrets,
  attempt: PaymentAttempt,
  background: AttemptBackground,
): OrganizerAttemptView => ({ ...viewAttempt(secrets, attempt), ...organizerPart(attempt, background) });

/** An attempt as lists and files show it: those who read them all have no use for a ballot's code. */
export const viewListedAttempt = (attempt: PaymentAttempt, background: AttemptBackground): OrganizerAttemptView => ({
  ...attemptWithoutCode(attempt),
  confirmationCode: null,
  ...organizerPart(attempt, background),
});

function providerPart(page: CheckoutPage) {
  if (!isProviderName(page.provider)) throw new Error('a page is of no provider that is known');
  return { [page.provider]: providerKind(page.provider).pageView.parse(page) };
}

/** The payment-required body (contract, section of that name). A repeated one also says where the payment stands. */
export function viewPaymentRequired(
  attempt: PaymentAttempt,
  page: CheckoutPage,
  status?: AttemptStatus,
): PaymentRequiredView {
  const { credits, pricingModel } = attempt.terms;
  return {
    paymentRequired: true,
    paymentAttemptId: attempt.id,
    amount: amountInMainUnit(attempt.amountMinor, attempt.currency),
    currency: attempt.currency,
    provider: attempt.provider,
    ...providerPart(page),
    ...(credits === null ? {} : { credits }),
    ...(pricingModel === null ? {} : { pricingModel }),
    next: `Send the payer to checkoutUrl. Once the payment has succeeded, call this address again with only { "paymentAttemptId": "${attempt.id}" }.`,
    ...(status === undefined ? {} : { status }),
  };
}
