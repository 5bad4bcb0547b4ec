import { requireFeature } from '#src/accounts/plans.ts';
import type { Deps } from '#src/deps.ts';
import { answersCreated, answersOne } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { type RequestContext, type Route, workRoute } from '#src/http/route.ts';
import { finishCheckout } from '#src/payments/finish-checkout.ts';
import type { CheckoutDeps } from '#src/payments/payment-deps.ts';
import { PAYMENT_REQUIRED, SECOND_CALL_REFUSALS } from '#src/payments/view-schemas.ts';
import { requireVoteCaller } from '#src/voting-events/access.ts';
import { FINISH_PAYMENT, finishPaymentBody } from '#src/voting-events/schemas.ts';
import { castVotes } from './cast-ballot.ts';
import { confirmVotes, withoutChoices } from './confirm-ballot.ts';
import type { LogReceipts } from './log-receipts.ts';
import { startPaidVote } from './pay-to-vote.ts';
import { castElectionBody, castPaidPollBody, castPollBody, confirmBody } from './schemas.ts';
import { castResultView, confirmationView } from './view-schemas.ts';

const EXAMPLE_VOTES = [{ positionId: EXAMPLE.position, candidateId: EXAMPLE.candidate }];

export function publicBallotRoutes(deps: Deps, payments: CheckoutDeps, receipts: LogReceipts): Route[] {
  const { rateLimiter } = payments;
  const event = (context: RequestContext) => requireVoteCaller(deps, context);
  const embedded = deps.config.databaseUrl === undefined;
  const path = '/public/voting-events/:idOrCode/ballot';
  return [
    workRoute({
      operationId: 'castBallot',
      urgency: 'cast',
      summary: 'Cast a ballot',
      method: 'POST',
      path: `${path}/cast`,
      scope: 'vote',
      description:
        'The ballot does not count yet: confirm it. Casting again before that replaces it. In a paid poll the first call answers 402 with a checkout, and the second one, with only `paymentAttemptId`, casts the ballot that was sent first.',
      answers: {
        ...answersCreated(castResultView, 'The ballot is cast, and waits to be confirmed.'),
        ...answersOne(castResultView, 'A second call that was made before: the same code.'),
        ...PAYMENT_REQUIRED,
      },
      refusals: [
        'event_not_open',
        'event_closed',
        'voter_key_invalid',
        'voter_pending',
        'voter_rejected',
        'already_voted',
        'not_in_group',
        'insufficient_credits',
        ...SECOND_CALL_REFUSALS,
      ],
      bodies: {
        CastElectionBallotBody: {
          summary: 'In an election',
          schema: castElectionBody,
          example: { voterKey: EXAMPLE.voterKey, email: 'vera@club.example', votes: EXAMPLE_VOTES },
        },
        CastPollBallotBody: {
          summary: 'In a poll; the first call where voting is paid',
          schema: castPollBody(embedded),
          example: { visitorId: EXAMPLE.visitor, votes: EXAMPLE_VOTES, returnUrl: 'https://club.example/paid' },
        },
        FinishPaymentBody: FINISH_PAYMENT,
      },
      bodyFor: ({ event: { type, payToVote, paymentProvider } }, raw) => {
        if (type === 'election') return castElectionBody;
        if ('paymentAttemptId' in raw) return finishPaymentBody;
        return payToVote !== null && paymentProvider !== null
          ? castPaidPollBody(embedded, paymentProvider)
          : castPollBody(embedded);
      },
      find: event,
      requirePlan: ({ event: { payToVote }, ownerPlan }, raw) => {
        if (payToVote !== null && !('paymentAttemptId' in raw)) requireFeature(deps.plans[ownerPlan], 'paid_features');
      },
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
      urgency: 'confirm',
      summary: 'Confirm a cast ballot',
      method: 'POST',
      path: `${path}/confirm`,
      scope: 'vote',
      description:
        'From here on the ballot counts. Confirming again gives the same answer. A ballot cast before the close may be confirmed for 15 minutes after it.',
      answers: answersOne(confirmationView, 'The ballot counts.'),
      refusals: [
        'event_not_open',
        'event_closed',
        'already_voted',
        'voter_rejected',
        'voter_pending',
        'voter_key_invalid',
      ],
      example: { confirmationCode: EXAMPLE.confirmationCode },
      body: confirmBody,
      find: event,
      replayed: ({ event: row }, answer) => withoutChoices(row, answer, deps.clock.now()),
      work: ({ target, body }, claim) =>
        confirmVotes({ ...deps, rateLimiter, receipts }, target, body.confirmationCode, claim),
    }),
  ];
}
