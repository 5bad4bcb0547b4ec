import { Hono } from 'hono';
import { requireFeature } from '#src/accounts/plans.ts';
import { type BallotDefinition, loadPublicBallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import type { Deps } from '#src/deps.ts';
import { ok } from '#src/http/answer.ts';
import { claimFirst, takeIdempotencyKey } from '#src/http/answer-once.ts';
import { answersOne } from '#src/http/answer-shapes.ts';
import { bodyFor } from '#src/http/body.ts';
import type { Env } from '#src/http/env.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { requirePlan } from '#src/http/middleware.ts';
import { operation } from '#src/http/operation.ts';
import { answer } from '#src/http/send.ts';
import { providerKind } from '#src/payment-providers/registered.ts';
import { finishCheckout } from '#src/payments/finish-checkout.ts';
import { PAYMENT_REQUIRED, SECOND_CALL_REFUSALS } from '#src/payments/payment.ts';
import type { CheckoutDeps } from '#src/payments/payment-deps.ts';
import { notFound, orNotFound } from '#src/platform/errors.ts';
import type { VoteCaller } from '#src/voting-events/access.ts';
import { FINISH_PAYMENT, finishPaymentBody } from '#src/voting-events/event-body.ts';
import { takesLoopback } from '#src/voting-events/event-mail.ts';
import { startCreditPurchase } from './buy-credits.ts';
import { findQuadraticPosition, purchaseIssues } from './offer.ts';
import {
  balanceView,
  creditCheckoutBody,
  creditsQuery,
  listBalances,
  optionsView,
  viewBalance,
  viewOptions,
} from './quadratic-credits.ts';

/** Quadratic credits of a visitor (contract, "Public voting endpoints"; completions 4.10). */
export function publicCreditRouter(deps: Deps, payments: CheckoutDeps): Hono<Env> {
  const embedded = deps.config.databaseUrl === undefined;
  const event = loadPublicBallotDefinition(deps);
  const paidFeature = requirePlan(({ ownerPlan }: VoteCaller, raw) => {
    if (!('paymentAttemptId' in raw)) requireFeature(deps.plans[ownerPlan], 'paid_features');
  });
  const purchaseBody = bodyFor(
    ({ event: row }: VoteCaller & { readonly definition: BallotDefinition }, raw) =>
      'paymentAttemptId' in raw
        ? finishPaymentBody
        : creditCheckoutBody({
            embedded: takesLoopback(embedded, row),
            needs: row.paymentProvider === null ? [] : providerKind(row.paymentProvider).needs,
          }),
    async ({ definition }, sent, isFaulty) =>
      'positionId' in sent && !isFaulty('credits') && !isFaulty('tierId') ? purchaseIssues(definition, sent) : [],
  );
  const router = new Hono<Env>();
  router.on(
    ...operation('getCredits', 'GET /', {
      summary: 'Read the credits of a visitor',
      scope: 'vote',
      answers: answersOne(balanceView, 'The balance.'),
      query: creditsQuery,
    }),
    event,
    async (c) => {
      const { event: row, definition } = c.get('target');
      const { positionId, visitorId } = c.get('query');
      const found = orNotFound(findQuadraticPosition(definition, positionId));
      const balances = await listBalances(deps.db, row.id, visitorId);
      return answer(c, ok(viewBalance(positionId, visitorId, found.baseCredits, balances.get(positionId))));
    },
  );
  router.on(
    ...operation('getCreditOptions', 'GET /options', {
      summary: 'Read what credits cost',
      scope: 'vote',
      description: '404 where nothing can be bought.',
      answers: answersOne(optionsView, 'What can be bought.'),
      query: creditsQuery,
    }),
    event,
    async (c) => {
      const { event: row, definition } = c.get('target');
      const { positionId, visitorId } = c.get('query');
      const offer = findQuadraticPosition(definition, positionId)?.position.quadraticTopUp;
      if (offer == null || row.paymentProvider === null) throw notFound();
      return answer(c, ok(viewOptions(positionId, visitorId, row.paymentProvider, offer)));
    },
  );
  router.on(
    ...operation('buyCredits', 'POST /checkout', {
      summary: 'Buy credits: start or finish the payment',
      scope: 'vote',
      description:
        'The first call answers 402 with a checkout; the second one, with only `paymentAttemptId`, answers with the new balance.',
      answers: { ...answersOne(balanceView, 'The new balance.'), ...PAYMENT_REQUIRED },
      refusals: ['event_not_open', 'event_closed', 'already_voted', ...SECOND_CALL_REFUSALS],
      bodies: {
        BuyCreditsInput: {
          summary: 'The first call',
          schema: creditCheckoutBody({ embedded, needs: [] }),
          example: {
            positionId: EXAMPLE.position,
            visitorId: EXAMPLE.visitor,
            credits: 50,
            returnUrl: 'https://club.example/paid',
          },
        },
        FinishPaymentInput: FINISH_PAYMENT,
      },
    }),
    event,
    paidFeature,
    takeIdempotencyKey(),
    purchaseBody,
    (c) =>
      claimFirst(c, async (claim) => {
        const [target, body] = [c.get('target'), c.get('body')];
        if (!('paymentAttemptId' in body))
          return startCreditPurchase({ ...deps, ...payments }, target.definition, body, claim);
        const { paymentAttemptId: attemptId } = body;
        const order = { votingEventId: target.event.id, purpose: 'quadratic_credits', attemptId } as const;
        return finishCheckout(payments, order, claim);
      }),
  );
  return router;
}
