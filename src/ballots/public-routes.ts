import { requireFeature } from '#src/accounts/plans.ts';
import type { Deps } from '#src/deps.ts';
import { type RequestContext, type Route, workRoute } from '#src/http/route.ts';
import { finishCheckout } from '#src/payments/finish-checkout.ts';
import type { CheckoutDeps } from '#src/payments/payment-deps.ts';
import { requireVoteCaller, type VoteCaller } from '#src/voting-events/access.ts';
import { finishPaymentBody } from '#src/voting-events/schemas.ts';
import { castVotes } from './cast-ballot.ts';
import { confirmVotes } from './confirm-ballot.ts';
import type { LogReceipts } from './log-receipts.ts';
import { startPaidVote } from './pay-to-vote.ts';
import { castElectionBody, castPaidPollBody, castPollBody, confirmBody } from './schemas.ts';

export function publicBallotRoutes(deps: Deps, payments: CheckoutDeps, receipts: LogReceipts): Route[] {
  const { rateLimiter } = payments;
  const event = (context: RequestContext) => requireVoteCaller(deps, context);
  const embedded = deps.config.databaseUrl === undefined;
  const casting = async (context: RequestContext): Promise<VoteCaller> => {
    const target = await event(context);
    if (target.event.payToVote !== null) {
      requireFeature(deps.plans[target.ownerPlan], 'paid_features');
    }
    return target;
  };
  const path = '/public/voting-events/:idOrCode/ballot';
  return [
    workRoute({
      operationId: 'castBallot',
      summary: 'Cast a ballot',
      method: 'POST',
      path: `${path}/cast`,
      scope: 'vote',
      bodyFor: ({ event: { type, payToVote, paymentProvider } }, raw) => {
        if (type === 'election') return castElectionBody;
        if ('paymentAttemptId' in raw) return finishPaymentBody;
        return payToVote !== null && paymentProvider !== null
          ? castPaidPollBody(embedded, paymentProvider)
          : castPollBody(embedded);
      },
      find: casting,
      work: ({ target, body }, claim) => {
        if ('paymentAttemptId' in body) {
          const order = { votingEventId: target.event.id, purpose: 'vote', attemptId: body.paymentAttemptId } as const;
          return finishCheckout(payments, order, claim);
        }
        const price = target.event.payToVote;
        if (price === null || !('visitorId' in body)) throw new Error('an unpaid ballot is cast by its statement');
        return startPaidVote({ ...deps, ...payments }, target, price, body, claim);
      },
      statement: {
        when: ({ target, body }) => !('paymentAttemptId' in body) && target.event.payToVote === null,
        write: ({ target, body }, claim) => {
          if ('paymentAttemptId' in body) throw new Error('a second call of a checkout is no ballot');
          return castVotes(deps, target, body, claim);
        },
      },
    }),
    workRoute({
      operationId: 'confirmBallot',
      summary: 'Confirm a cast ballot',
      method: 'POST',
      path: `${path}/confirm`,
      scope: 'vote',
      body: confirmBody,
      find: event,
      work: ({ target, body }, claim) =>
        confirmVotes({ ...deps, rateLimiter, receipts }, target, body.confirmationCode, claim),
    }),
  ];
}
