import { Hono } from 'hono';
import { requireFeature } from '#src/accounts/plans.ts';
import { loadPublicPaper } from '#src/ballot-paper/load-paper.ts';
import type { BallotPaper } from '#src/ballot-paper/paper.ts';
import type { Deps } from '#src/deps.ts';
import { ok } from '#src/http/answer.ts';
import { claimFirst } from '#src/http/answer-once.ts';
import { bodyFor } from '#src/http/body.ts';
import type { Env } from '#src/http/env.ts';
import { replayIfAnswered } from '#src/http/replay.ts';
import { requirePlan } from '#src/http/require-plan.ts';
import { answer } from '#src/http/send.ts';
import { amountInMainUnit } from '#src/payment-providers/currencies.ts';
import { providerKind } from '#src/payment-providers/registered.ts';
import { finishCheckout } from '#src/payments/finish-checkout.ts';
import type { CheckoutDeps } from '#src/payments/payment-deps.ts';
import { notFound } from '#src/platform/errors.ts';
import type { VoteCaller } from '#src/voting-events/access.ts';
import { finishPaymentBody } from '#src/voting-events/schemas.ts';
import { takesLoopback } from '#src/voting-events/voting-page.ts';
import { startCreditPurchase } from './buy-credits.ts';
import { findQuadraticPosition, purchaseIssues } from './offer.ts';
import * as operations from './operations.ts';
import { listBalances } from './repository.ts';
import { creditCheckoutBody } from './schemas.ts';
import { viewBalance, viewOptions } from './views.ts';

/** Quadratic credits of a visitor (contract, "Public voting endpoints"; completions 4.10). */
export function publicCreditRouter(deps: Deps, payments: CheckoutDeps): Hono<Env> {
  const embedded = deps.config.databaseUrl === undefined;
  const event = loadPublicPaper(deps);
  const paidFeature = requirePlan(({ ownerPlan }: VoteCaller, raw) => {
    if (!('paymentAttemptId' in raw)) requireFeature(deps.plans[ownerPlan], 'paid_features');
  });
  const purchaseBody = bodyFor(
    ({ event: row }: VoteCaller & { readonly paper: BallotPaper }, raw) =>
      'paymentAttemptId' in raw
        ? finishPaymentBody
        : creditCheckoutBody({
            embedded: takesLoopback(embedded, row),
            needs: row.paymentProvider === null ? [] : providerKind(row.paymentProvider).needs,
          }),
    async ({ paper }, sent, isFaulty) =>
      'positionId' in sent && !isFaulty('credits') && !isFaulty('tierId') ? purchaseIssues(paper, sent) : [],
  );
  const router = new Hono<Env>();
  router.on(...operations.getCredits, event, async (c) => {
    const { event: row, paper } = c.get('target');
    const { positionId, visitorId } = c.get('query');
    const found = findQuadraticPosition(paper, positionId);
    if (found === undefined) throw notFound();
    const balances = await listBalances(deps.db, row.id, visitorId);
    return answer(c, ok(viewBalance(positionId, visitorId, found.baseCredits, balances.get(positionId))));
  });
  router.on(...operations.getCreditOptions, event, async (c) => {
    const { event: row, paper } = c.get('target');
    const { positionId, visitorId } = c.get('query');
    const offer = findQuadraticPosition(paper, positionId)?.position.quadraticTopUp;
    if (offer == null || row.paymentProvider === null) throw notFound();
    return answer(c, ok(viewOptions(positionId, visitorId, row.paymentProvider, offer, amountInMainUnit)));
  });
  router.on(...operations.buyCredits(embedded), event, paidFeature, replayIfAnswered(), purchaseBody, (c) =>
    claimFirst(c, async (claim) => {
      const [target, body] = [c.get('target'), c.get('body')];
      if (!('paymentAttemptId' in body)) return startCreditPurchase(payments, target.paper, body, claim);
      const { paymentAttemptId: attemptId } = body;
      const order = { votingEventId: target.event.id, purpose: 'quadratic_credits', attemptId } as const;
      return finishCheckout(payments, order, claim);
    }),
  );
  return router;
}
