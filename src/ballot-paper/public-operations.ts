import { answersCreated, answersOne } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { operation } from '#src/http/operation.ts';
import { FINISH_PAYMENT } from '#src/voting-events/schemas.ts';
import { contextView } from '#src/voting-events/view-schemas.ts';
import type { RegistrationCheckout } from './pay-to-register.ts';
import { ballotQuery, registerCandidateBody } from './schemas.ts';
import { ballotView, registeredCandidateView } from './view-schemas.ts';

export const getContext = operation({
  operationId: 'getContext',
  summary: 'Read the settings a voting page is built from',
  method: 'GET',
  path: '/',
  scope: 'vote',
  description: 'A draft is not found yet.',
  answers: answersOne(contextView, 'The settings of the event.'),
});

export const getBallot = operation({
  operationId: 'getBallot',
  summary: 'Read the ballot',
  method: 'GET',
  path: '/ballot',
  scope: 'vote',
  description:
    'Positions in their order, and approved candidates only. Where the event shuffles candidates, the same `seed` gives the same order: send one for each voter.',
  answers: answersOne(ballotView, 'The ballot.'),
  query: ballotQuery,
});

export const registerCandidate = (embedded: boolean, payment: RegistrationCheckout['document']) =>
  operation({
    operationId: 'registerCandidate',
    summary: 'Register a candidate',
    method: 'POST',
    path: '/register/candidate',
    scope: 'vote',
    description:
      'Where the event asks for payment, the first call answers 402 with a checkout, and the second one, with only `paymentAttemptId`, registers the candidate.',
    answers: {
      ...answersCreated(registeredCandidateView, 'The candidate, who waits for the approval of the organizers.'),
      ...answersOne(registeredCandidateView, 'A second call that was made before: the same candidate.'),
      ...payment.answers,
    },
    refusals: ['registration_closed', 'event_closed', 'plan_limit', 'event_has_ballots', ...payment.refusals],
    bodies: {
      RegisterCandidateBody: {
        summary: 'A candidate; the first call where registration is paid',
        schema: registerCandidateBody(embedded),
        example: {
          name: 'Amir Haddad',
          positionIds: [EXAMPLE.position],
          email: 'amir@club.example',
          returnUrl: 'https://club.example/paid',
        },
      },
      FinishPaymentBody: FINISH_PAYMENT,
    },
  });
