import type { Deps } from '#src/deps.ts';
import { created, ok } from '#src/http/answer.ts';
import { answersCreated, answersOne } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { changeRoute, type RequestContext, type Route, workRoute } from '#src/http/route.ts';
import { requireVoteCaller } from '#src/voting-events/access.ts';
import { checkVoter } from './check-voter.ts';
import { registerVoter } from './register-voter.ts';
import { requestVoterKey } from './request-voter-key.ts';
import { checkElectionBody, checkPollBody, registerVoterBody, requestVoterKeyBody } from './schemas.ts';
import { eligibilityView, keyRequestView, registeredVoterView } from './view-schemas.ts';
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
      answers: answersCreated(
        registeredVoterView,
        'The voter. With automatic approval, the first voter key that is used approves it.',
      ),
      refusals: ['registration_closed', 'roll_closed', 'voter_exists', 'plan_limit'],
      example: { name: 'Tomás Ruiz', email: 'tomas@club.example' },
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
      description:
        'Send `voterId` where the event requires voter IDs, else `email`. The answer is the same for everybody: an unknown voter gets no mail.',
      answers: answersOne(keyRequestView, 'The mail is on its way, if there is such a voter.'),
      refusals: ['not_an_election'],
      example: { email: 'vera@club.example' },
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
      description: 'Never an error for somebody who may not vote: `eligible` is false, and `reason` tells why.',
      answers: answersOne(eligibilityView, 'Whether a cast would be accepted now.'),
      bodies: {
        CheckElectionVoterBody: {
          summary: 'In an election',
          schema: checkElectionBody,
          example: { voterKey: EXAMPLE.voterKey, email: 'vera@club.example' },
        },
        CheckPollVisitorBody: { summary: 'In a poll', schema: checkPollBody, example: { visitorId: EXAMPLE.visitor } },
      },
      bodyFor: ({ event: { type } }) => (type === 'poll' ? checkPollBody : checkElectionBody),
      find: event,
      work: async ({ target, body }) => ok(await checkVoter(deps, target, body)),
    }),
  ];
}
