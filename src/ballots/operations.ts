import { answersCreated, answersOne } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { operation } from '#src/http/operation.ts';
import { PAYMENT_REQUIRED, SECOND_CALL_REFUSALS } from '#src/payments/view-schemas.ts';
import { FINISH_PAYMENT } from '#src/voting-events/schemas.ts';
import { castElectionBody, castPollBody } from './schemas.ts';
import { castResultView, confirmationView } from './view-schemas.ts';

const EXAMPLE_VOTES = [{ positionId: EXAMPLE.position, candidateId: EXAMPLE.candidate }];

export const castBallot = (embedded: boolean) =>
  operation({
    operationId: 'castBallot',
    untraced: true,
    urgency: 'cast',
    summary: 'Cast a ballot',
    method: 'POST',
    path: '/cast',
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
      'ballot_key_unavailable',
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
  });

export const confirmBallot = operation({
  operationId: 'confirmBallot',
  untraced: true,
  urgency: 'confirm',
  summary: 'Confirm a cast ballot',
  method: 'POST',
  path: '/confirm',
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
    'ballot_key_unavailable',
  ],
  example: { confirmationCode: EXAMPLE.confirmationCode },
});
