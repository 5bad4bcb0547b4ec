import { isDeepStrictEqual } from 'node:util';
import {
  checkPaidCandidate,
  type RegistrationCheckout,
  registerPaidCandidate,
  withdrawPaidCandidate,
} from '#src/ballot-definition/register-candidate.ts';
import { voidBallot } from '#src/ballot-log/void-ballot.ts';
import {
  checkPaidVote,
  dropPaidVote,
  findPaidVote,
  fulfilPaidVote,
  reversePaidVote,
} from '#src/ballots/pay-to-vote.ts';
import {
  fulfilCreditPurchase,
  requirePurchase,
  returnSpentCredits,
  reverseCreditPurchase,
} from '#src/credits/buy-credits.ts';
import { finishCheckout } from '#src/payments/finish-checkout.ts';
import { PAYMENT_REQUIRED, SECOND_CALL_REFUSALS } from '#src/payments/payment.ts';
import type { CheckoutDeps, PaymentDeps } from '#src/payments/payment-deps.ts';
import { giveBack } from '#src/payments/refund-payment.ts';
import { startCheckout } from '#src/payments/start-checkout.ts';
import type { Deps } from './deps.ts';
import type { Fulfilments } from './payments/payment-deps.ts';

/** How each kind of payment is fulfilled, checked and reversed: the functions of the folder that delivers the purchase. */
function fulfilments(deps: Deps): Fulfilments {
  return {
    vote: {
      firstStatus: 201,
      fulfil: (tx, attempt, paidAtMs) => fulfilPaidVote(tx, deps, attempt, paidAtMs),
      check: (tx, attempt) => checkPaidVote(tx, deps, attempt),
      reverse: (tx, attempt, code) =>
        reversePaidVote(tx, attempt, code, async (votingEventId, codeTag, visitorId) => {
          await voidBallot(tx, votingEventId, codeTag);
          await returnSpentCredits(tx, votingEventId, visitorId, codeTag);
        }),
      drop: dropPaidVote,
    },
    candidate_registration: {
      firstStatus: 201,
      fulfil: async (tx, attempt) => ({ data: await registerPaidCandidate(tx, deps, attempt) }),
      check: (tx, attempt) => checkPaidCandidate(tx, attempt),
      // After a refund or dispute at the provider, the organizer decides whether the candidate stays; a webhook reports it.
      reverse: async (tx, attempt, _code, by) =>
        by === 'organizer' ? withdrawPaidCandidate(tx, deps, attempt) : undefined,
      drop: async () => undefined,
    },
    quadratic_credits: {
      firstStatus: 200,
      fulfil: (tx, attempt) => fulfilCreditPurchase(tx, deps, attempt),
      check: async (tx, attempt) => void (await requirePurchase(tx, deps, attempt)),
      reverse: (tx, attempt) =>
        reverseCreditPurchase(tx, attempt, async (votingEventId, codeTag, visitorId) => {
          await voidBallot(tx, votingEventId, codeTag);
          const paid = await findPaidVote(tx, deps.secrets, { votingEventId, visitorId, codeTag });
          const paymentId = paid?.providerPaymentId;
          if (paid !== undefined && paymentId != null)
            await giveBack(tx, paid, paymentId, paid.providerReference ?? '');
        }),
      drop: async () => undefined,
    },
  };
}

export function paymentDeps(deps: Deps): PaymentDeps {
  return { ...deps, fulfilments: fulfilments(deps) };
}

export function registrationCheckout(payments: CheckoutDeps): RegistrationCheckout {
  const purpose = 'candidate_registration';
  return {
    document: { answers: PAYMENT_REQUIRED, refusals: SECOND_CALL_REFUSALS },
    start({ caller, price, registration, returnUrl, cancelUrl }, claim) {
      const terms = {
        title: caller.event.title,
        description: 'Registration as a candidate',
        email: registration.email ?? null,
        returnUrl: returnUrl ?? null,
        cancelUrl: cancelUrl ?? null,
        credits: null,
        pricingModel: null,
      };
      const request = { ...registration };
      return startCheckout(
        payments,
        {
          ...{ event: caller.event, purpose, ...price, request, terms, visitorId: null },
          isOffered: async (_tx, { payToRegisterCandidate }) => isDeepStrictEqual(payToRegisterCandidate, price),
        },
        claim,
      );
    },
    finish(caller, attemptId, claim) {
      return finishCheckout(payments, { votingEventId: caller.event.id, purpose, attemptId }, claim);
    },
  };
}
