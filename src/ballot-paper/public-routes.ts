import type { Deps } from '#src/deps.ts';
import { created, ok } from '#src/http/answer.ts';
import { changeRoute, type RequestContext, type Route, readRoute } from '#src/http/route.ts';
import { notFound } from '#src/platform/errors.ts';
import { requireVoteCaller, type VoteCaller } from '#src/voting-events/access.ts';
import { finishPaymentBody } from '#src/voting-events/schemas.ts';
import { viewContext } from '#src/voting-events/views.ts';
import type { BallotPaper } from './paper.ts';
import { registerCandidate } from './register-candidate.ts';
import { ballotQuery, registerCandidateBody } from './schemas.ts';
import { viewBallot, viewRegisteredCandidate } from './views.ts';

export function publicBallotPaperRoutes(deps: Deps): Route[] {
  const event = (context: RequestContext) => requireVoteCaller(deps, context);
  const withPaper = async (context: RequestContext): Promise<VoteCaller & { paper: BallotPaper }> => {
    const caller = await requireVoteCaller(deps, context);
    const paper = await deps.papers.take(caller.event);
    if (paper === undefined) throw notFound();
    return { ...caller, paper };
  };
  const path = '/public/voting-events/:idOrCode';
  const registerBody = registerCandidateBody(deps.config.databaseUrl === undefined);
  return [
    readRoute({
      operationId: 'getContext',
      summary: 'Read the settings a voting page is built from',
      method: 'GET',
      path,
      scope: 'vote',
      find: withPaper,
      read: async ({ target }) => {
        const { event: row, paper } = target;
        const votingMethods = [...new Set(paper.positions.map((position) => position.votingMethod))];
        const quadraticCredits = paper.positions.some((position) => position.quadraticTopUp !== null);
        return ok(viewContext(row, deps.clock.now(), { votingMethods, provider: null, quadraticCredits }));
      },
    }),
    readRoute({
      operationId: 'getBallot',
      summary: 'Read the ballot',
      method: 'GET',
      path: `${path}/ballot`,
      scope: 'vote',
      query: ballotQuery,
      find: withPaper,
      read: async ({ target, query }) => ok(viewBallot(target.paper, query.seed)),
    }),
    changeRoute({
      operationId: 'registerCandidate',
      summary: 'Register a candidate',
      method: 'POST',
      path: `${path}/register/candidate`,
      scope: 'vote',
      bodyFor: (_target, raw) => ('paymentAttemptId' in raw ? finishPaymentBody : registerBody),
      find: event,
      change: async ({ target, body }, tx) => {
        // No event can ask for payment before a payment business is linked, so no attempt can be known.
        if ('paymentAttemptId' in body) throw notFound();
        return created(viewRegisteredCandidate(await registerCandidate(tx, deps, target, body)));
      },
    }),
  ];
}
