import type { Deps } from '#src/deps.ts';
import type { RateLimiter } from '#src/http/rate-limit.ts';
import { type RequestContext, type Route, workRoute } from '#src/http/route.ts';
import { notFound } from '#src/platform/errors.ts';
import { requireVoteCaller } from '#src/voting-events/access.ts';
import { finishPaymentBody } from '#src/voting-events/schemas.ts';
import { castVotes } from './cast-ballot.ts';
import { confirmVotes } from './confirm-ballot.ts';
import { castElectionBody, castPollBody, confirmBody } from './schemas.ts';

export function publicBallotRoutes(deps: Deps, rateLimiter: RateLimiter): Route[] {
  const event = (context: RequestContext) => requireVoteCaller(deps, context);
  const pollBody = castPollBody(deps.config.databaseUrl === undefined);
  const path = '/public/voting-events/:idOrCode/ballot';
  return [
    workRoute({
      operationId: 'castBallot',
      summary: 'Cast a ballot',
      method: 'POST',
      path: `${path}/cast`,
      scope: 'vote',
      bodyFor: ({ event: { type } }, raw) => {
        if (type === 'election') return castElectionBody;
        return 'paymentAttemptId' in raw ? finishPaymentBody : pollBody;
      },
      find: event,
      work: ({ target, body }, claim) => {
        // No poll can ask for payment before a payment business is linked, so no attempt can be known.
        if ('paymentAttemptId' in body) throw notFound();
        return castVotes(deps, target, body, claim);
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
      work: ({ target, body }, claim) => confirmVotes({ ...deps, rateLimiter }, target, body.confirmationCode, claim),
    }),
  ];
}
