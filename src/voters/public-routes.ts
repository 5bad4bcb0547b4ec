import type { Deps } from '#src/deps.ts';
import { created, ok } from '#src/http/answer.ts';
import { changeRoute, type RequestContext, type Route, workRoute } from '#src/http/route.ts';
import { requireVoteCaller } from '#src/voting-events/access.ts';
import { checkVoter } from './check-voter.ts';
import { registerVoter } from './register-voter.ts';
import { requestVoterKey } from './request-voter-key.ts';
import { checkElectionBody, checkPollBody, registerVoterBody, requestVoterKeyBody } from './schemas.ts';
import { viewRegisteredVoter } from './views.ts';

export function publicVoterRoutes(deps: Deps): Route[] {
  const event = (context: RequestContext) => requireVoteCaller(deps, context);
  const path = '/public/voting-events/:idOrCode';
  return [
    workRoute({
      operationId: 'registerVoter',
      summary: 'Register a voter',
      method: 'POST',
      path: `${path}/register/voter`,
      scope: 'vote',
      body: registerVoterBody,
      find: event,
      work: async ({ target, body }, claim) => {
        const voter = await registerVoter(deps, target, body, async (tx, row) =>
          claim?.store(tx, created(viewRegisteredVoter(row))),
        );
        return created(viewRegisteredVoter(voter));
      },
    }),
    changeRoute({
      operationId: 'requestVoterKey',
      summary: 'E-mail a voter key',
      method: 'POST',
      path: `${path}/voter-key/request`,
      scope: 'vote',
      body: requestVoterKeyBody,
      find: event,
      change: async ({ target, body }, tx) => ok(await requestVoterKey(tx, deps.secrets, target, body)),
    }),
    workRoute({
      operationId: 'checkVoter',
      summary: 'Check whether a voter may cast',
      method: 'POST',
      path: `${path}/voter/check`,
      scope: 'vote',
      role: 'viewer',
      bodyFor: ({ event: { type } }) => (type === 'poll' ? checkPollBody : checkElectionBody),
      find: event,
      work: async ({ target, body }) => ok(await checkVoter({ ...deps, pool: deps.db.$client }, target, body)),
    }),
  ];
}
