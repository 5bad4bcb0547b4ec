import { requireFeature } from '#src/accounts/plans.ts';
import type { BallotPaper } from '#src/ballot-paper/paper.ts';
import type { Deps } from '#src/deps.ts';
import { ok } from '#src/http/answer.ts';
import { answersOne } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { type RequestContext, type Route, readRoute, workRoute } from '#src/http/route.ts';
import { finishCheckout } from '#src/payments/finish-checkout.ts';
import type { CheckoutDeps } from '#src/payments/payment-deps.ts';
import { amountInMainUnit } from '#src/payments/providers/currencies.ts';
import { PAYMENT_REQUIRED, SECOND_CALL_REFUSALS } from '#src/payments/view-schemas.ts';
import { notFound } from '#src/platform/errors.ts';
import { requireVoteCaller, type VoteCaller } from '#src/voting-events/access.ts';
import { FINISH_PAYMENT, finishPaymentBody } from '#src/voting-events/schemas.ts';
import { startCreditPurchase } from './buy-credits.ts';
import { findQuadraticPosition } from './offer.ts';
import { listBalances } from './repository.ts';
import { creditCheckoutBody, creditsQuery } from './schemas.ts';
import { balanceView, optionsView } from './view-schemas.ts';
import { viewBalance, viewOptions } from './views.ts';

/** Quadratic credits of a visitor (contract, "Public voting endpoints"; completions 4.10). */
export function publicCreditRoutes(deps: Deps, payments: CheckoutDeps): Route[] {
  const embedded = deps.config.databaseUrl === undefined;
  const withPaper = async (context: RequestContext): Promise<VoteCaller & { paper: BallotPaper }> => {
    const caller = await requireVoteCaller(deps, context);
    const paper = await deps.papers.take(caller.event);
    if (paper === undefined) throw notFound();
    return { ...caller, paper };
  };
  const path = '/public/voting-events/:idOrCode/quadratic-credits';
  return [
    readRoute({
      operationId: 'getCredits',
      summary: 'Read the credits of a visitor',
      method: 'GET',
      path,
      scope: 'vote',
      answers: answersOne(balanceView, 'The balance.'),
      query: creditsQuery,
      find: withPaper,
      read: async ({ target: { event, paper }, query: { positionId, visitorId } }) => {
        const found = findQuadraticPosition(paper, positionId);
        if (found === undefined) throw notFound();
        const balances = await listBalances(deps.db, event.id, visitorId);
        return ok(viewBalance(positionId, visitorId, found.baseCredits, balances.get(positionId)));
      },
    }),
    readRoute({
      operationId: 'getCreditOptions',
      summary: 'Read what credits cost',
      method: 'GET',
      path: `${path}/options`,
      scope: 'vote',
      description: '404 where nothing can be bought.',
      answers: answersOne(optionsView, 'What can be bought.'),
      query: creditsQuery,
      find: withPaper,
      read: async ({ target: { event, paper }, query: { positionId, visitorId } }) => {
        const offer = findQuadraticPosition(paper, positionId)?.position.quadraticTopUp;
        if (offer == null || event.paymentProvider === null) throw notFound();
        return ok(viewOptions(positionId, visitorId, event.paymentProvider, offer, amountInMainUnit));
      },
    }),
    workRoute({
      operationId: 'buyCredits',
      summary: 'Buy credits: start or finish the payment',
      method: 'POST',
      path: `${path}/checkout`,
      scope: 'vote',
      description:
        'The first call answers 402 with a checkout; the second one, with only `paymentAttemptId`, answers with the new balance.',
      answers: { ...answersOne(balanceView, 'The new balance.'), ...PAYMENT_REQUIRED },
      refusals: ['event_not_open', 'event_closed', 'already_voted', ...SECOND_CALL_REFUSALS],
      bodies: {
        BuyCreditsBody: {
          summary: 'The first call',
          schema: creditCheckoutBody({ embedded, provider: null }),
          example: {
            positionId: EXAMPLE.position,
            visitorId: EXAMPLE.visitor,
            credits: 50,
            returnUrl: 'https://club.example/paid',
          },
        },
        FinishPaymentBody: FINISH_PAYMENT,
      },
      find: withPaper,
      requirePlan: ({ ownerPlan }, raw) => {
        if (!('paymentAttemptId' in raw)) requireFeature(deps.plans[ownerPlan], 'paid_features');
      },
      bodyFor: ({ event }, raw) =>
        'paymentAttemptId' in raw
          ? finishPaymentBody
          : creditCheckoutBody({ embedded, provider: event.paymentProvider }),
      work: ({ target, body }, claim) => {
        if (!('paymentAttemptId' in body)) return startCreditPurchase(payments, target.paper, body, claim);
        const order = {
          votingEventId: target.event.id,
          purpose: 'quadratic_credits',
          attemptId: body.paymentAttemptId,
        } as const;
        return finishCheckout(payments, order, claim);
      },
    }),
  ];
}
