import type { Secrets } from '#src/platform/secrets.ts';
import { amountInMainUnit } from './providers/currencies.ts';
import type { CheckoutPage } from './providers/provider.ts';
import type { AttemptStatus, PaymentAttempt, PaymentBusiness } from './types.ts';
import type { AttemptView, BusinessView, PaymentRequiredView } from './view-schemas.ts';

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

/** An attempt as lists and files show it: a reader of them all has no use for a ballot's code. */
export const viewListedAttempt = (attempt: PaymentAttempt): AttemptView => ({
  ...attemptWithoutCode(attempt),
  confirmationCode: null,
});

function providerPart(page: CheckoutPage) {
  if (page.provider === 'provider_a') {
    return { provider_a: { checkoutUrl: page.checkoutUrl, checkoutSessionId: page.checkoutSessionId } };
  }
  return { provider_b: { checkoutUrl: page.checkoutUrl, accessCode: page.accessCode, reference: page.reference } };
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
