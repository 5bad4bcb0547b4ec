import { answersCreated, answersOne } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { operation } from '#src/http/operation.ts';
import { checkElectionBody, checkPollBody } from './schemas.ts';
import { eligibilityView, keyRequestView, registeredVoterView } from './view-schemas.ts';

export const registerVoter = operation({
  operationId: 'registerVoter',
  summary: 'Register a voter',
  method: 'POST',
  path: '/register/voter',
  scope: 'vote',
  answers: answersCreated(
    registeredVoterView,
    'The voter. With automatic approval, the first voter key that is used approves it.',
  ),
  refusals: ['registration_closed', 'roll_closed', 'voter_exists', 'plan_limit'],
  example: { name: 'Tomás Ruiz', email: 'tomas@club.example' },
});

export const requestVoterKey = operation({
  operationId: 'requestVoterKey',
  summary: 'E-mail a voter key',
  method: 'POST',
  path: '/voter-key/request',
  scope: 'vote',
  description:
    'Send `voterId` where the event requires voter IDs, else `email`. The answer is the same for everybody: an unknown voter gets no mail.',
  answers: answersOne(keyRequestView, 'The mail is on its way, if there is such a voter.'),
  refusals: ['not_an_election'],
  example: { email: 'vera@club.example' },
});

export const checkVoter = operation({
  operationId: 'checkVoter',
  untraced: true,
  summary: 'Check whether a voter may cast',
  method: 'POST',
  path: '/voter/check',
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
});
