import { Hono } from 'hono';
import { requireFeature } from '#src/accounts/plans.ts';
import type { Deps } from '#src/deps.ts';
import { claimFirst, claimWithin } from '#src/http/answer-once.ts';
import { body, bodyFor } from '#src/http/body.ts';
import type { Env } from '#src/http/env.ts';
import { replayIfAnswered } from '#src/http/replay.ts';
import { requirePlan } from '#src/http/require-plan.ts';
import { providerKind } from '#src/payment-providers/registered.ts';
import { finishCheckout } from '#src/payments/finish-checkout.ts';
import type { CheckoutDeps } from '#src/payments/payment-deps.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { loadPublicEvent, type VoteCaller } from '#src/voting-events/access.ts';
import { isFinalAt } from '#src/voting-events/lifecycle.ts';
import { finishPaymentBody } from '#src/voting-events/schemas.ts';
import { takesLoopback } from '#src/voting-events/voting-page.ts';
import { castBallot } from './cast-ballot.ts';
import { confirmVotes, withoutChoices } from './confirm-ballot.ts';
import type { LogReceipts } from './log-receipts.ts';
import * as operations from './operations.ts';
import { startPaidVote } from './pay-to-vote.ts';
import { judgeCastParts } from './prepare-ballot.ts';
import { castElectionBody, castPaidPollBody, castPollBody, confirmBody } from './schemas.ts';

/** Casting and confirming ballots (contract, "Cast body"). */
export function ballotRouter(deps: Deps, payments: CheckoutDeps, receipts: LogReceipts): Hono<Env> {
  const embedded = deps.config.databaseUrl === undefined;
  const event = loadPublicEvent(deps);
  const paidFeature = requirePlan(({ event: { payToVote }, ownerPlan }: VoteCaller, raw) => {
    if (payToVote !== null && !('paymentAttemptId' in raw)) requireFeature(deps.plans[ownerPlan], 'paid_features');
  });
  const castBody = bodyFor(
    ({ event: row }: VoteCaller, raw) => {
      const { type, payToVote, paymentProvider } = row;
      const loopback = takesLoopback(embedded, row);
      if (type === 'election') return castElectionBody;
      if ('paymentAttemptId' in raw) return finishPaymentBody;
      return payToVote !== null && paymentProvider !== null
        ? castPaidPollBody(loopback, providerKind(paymentProvider).needs)
        : castPollBody(loopback);
    },
    async ({ event: row }, sent, isFaulty) =>
      'paymentAttemptId' in sent ? [] : judgeCastParts(deps, row, sent, isFaulty),
  );
  // A secret event's answers die with its key: a repeat behind that is answered as a new request.
  const keyOf = async ({ event: row }: VoteCaller): Promise<Secrets | undefined | 'never'> => {
    if (row.type === 'poll' || row.ballotKey === null) return undefined;
    return isFinalAt(row, deps.clock.now()) ? 'never' : ((await deps.ballotKeys.find(row)) ?? 'never');
  };
  const keepSecret = ({ event: row }: VoteCaller, answer: string) => withoutChoices(row, answer, deps.clock.now());
  const router = new Hono<Env>();

  router.on(
    ...operations.castBallot(embedded),
    event,
    paidFeature,
    replayIfAnswered(undefined, keyOf),
    castBody,
    (c) => {
      const [target, ballot] = [c.get('target'), c.get('body')];
      if ('paymentAttemptId' in ballot) {
        const order = { votingEventId: target.event.id, purpose: 'vote', attemptId: ballot.paymentAttemptId } as const;
        return claimFirst(c, (claim) => finishCheckout(payments, order, claim));
      }
      const price = target.event.payToVote;
      if (price === null) return claimWithin(c, (claim) => castBallot(deps, target, ballot, claim));
      if (!('visitorId' in ballot)) throw new Error('only ballots of polls are paid for');
      return claimFirst(c, (claim) => startPaidVote({ ...deps, ...payments }, target, price, ballot, claim));
    },
  );

  router.on(...operations.confirmBallot, event, replayIfAnswered(keepSecret, keyOf), body(confirmBody), (c) => {
    const { rateLimiter } = payments;
    return claimFirst(c, (claim) =>
      confirmVotes({ ...deps, rateLimiter, receipts }, c.get('target'), c.get('body').confirmationCode, claim),
    );
  });
  return router;
}
