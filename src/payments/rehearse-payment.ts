import { amountInMainUnit } from '#src/payment-providers/currencies.ts';
import type { CheckoutPage } from '#src/payment-providers/provider.ts';
import { providerKind } from '#src/payment-providers/registered.ts';
import { appendAttempt } from '#src/payment-providers/return-url.ts';
import { notFound } from '#src/platform/errors.ts';
import { findAttemptById, isOpen } from './attempt-repository.ts';
import type { PaymentAttempt } from './payment.ts';
import type { PaymentDeps } from './payment-deps.ts';
import { settlePayment } from './settle-payment.ts';

// Payments of a rehearsal (completions 10.5): a page of the service itself stands for the provider's, and takes no money.

export const OUTCOMES = ['pay', 'fail', 'cancel'] as const;
type Outcome = (typeof OUTCOMES)[number];

export function rehearsalPage(
  { config }: { readonly config: { readonly baseUrl: string } },
  { id, provider }: PaymentAttempt,
): CheckoutPage {
  const checkoutUrl = `${config.baseUrl}/rehearsal-payments/${id}`;
  return { provider, checkoutUrl, ...providerKind(provider).rehearsedPage(`rehearsal_${id}`) };
}

export interface RehearsedPayment {
  readonly title: string;
  /** With its currency: `5.00 USD`. */
  readonly price: string;
  readonly isOpen: boolean;
  /** Where the payer goes on. */
  readonly returnUrl: string | null;
  readonly cancelUrl: string | null;
}

/** @throws ApiError 404 for everything but an attempt of a rehearsal that is under way */
async function requireAttempt(deps: Pick<PaymentDeps, 'db'>, id: string): Promise<PaymentAttempt> {
  const attempt = await findAttemptById(deps.db, id);
  if (attempt?.rehearsal !== true) throw notFound();
  return attempt;
}

/** @throws ApiError 404 for everything but an attempt of a rehearsal that is under way */
export async function readRehearsedPayment(deps: Pick<PaymentDeps, 'db'>, id: string): Promise<RehearsedPayment> {
  const { terms, amountMinor, currency, status } = await requireAttempt(deps, id);
  const back = terms.returnUrl === null ? null : appendAttempt(terms.returnUrl, id);
  return {
    title: terms.title,
    price: `${amountInMainUnit(amountMinor, currency)} ${currency.toUpperCase()}`,
    isOpen: isOpen(status),
    returnUrl: back,
    cancelUrl: terms.cancelUrl ?? back,
  };
}

/**
 * Settles an attempt of a rehearsal as its provider's word would. One that has ended stays as it is.
 * @throws ApiError 404 for everything but an attempt of a rehearsal that is under way
 */
export async function rehearsePayment(deps: PaymentDeps, id: string, outcome: Outcome): Promise<void> {
  const attempt = await requireAttempt(deps, id);
  if (!isOpen(attempt.status)) return;
  if (outcome === 'fail') await settlePayment(deps, attempt, { kind: 'failed', providerStatus: 'declined' });
  else if (outcome === 'cancel') await settlePayment(deps, attempt, { kind: 'cancelled' });
  else
    await settlePayment(deps, attempt, {
      kind: 'paid',
      payment: {
        amountMinor: attempt.amountMinor,
        currency: attempt.currency,
        reference: null,
        attemptId: id,
        providerPaymentId: `rehearsal_${id}`,
        paidAtMs: null,
        feeMinor: null,
        livemode: false,
      },
    });
}
