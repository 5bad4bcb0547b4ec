import { answersOne } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { operation } from '#src/http/operation.ts';
import { PAYMENT_REQUIRED, SECOND_CALL_REFUSALS } from '#src/payments/view-schemas.ts';
import { FINISH_PAYMENT } from '#src/voting-events/schemas.ts';
import { creditCheckoutBody, creditsQuery } from './schemas.ts';
import { balanceView, optionsView } from './view-schemas.ts';

export const getCredits = operation({
  operationId: 'getCredits',
  summary: 'Read the credits of a visitor',
  method: 'GET',
  path: '/',
  scope: 'vote',
  answers: answersOne(balanceView, 'The balance.'),
  query: creditsQuery,
});

export const getCreditOptions = operation({
  operationId: 'getCreditOptions',
  summary: 'Read what credits cost',
  method: 'GET',
  path: '/options',
  scope: 'vote',
  description: '404 where nothing can be bought.',
  answers: answersOne(optionsView, 'What can be bought.'),
  query: creditsQuery,
});

export const buyCredits = (embedded: boolean) =>
  operation({
    operationId: 'buyCredits',
    summary: 'Buy credits: start or finish the payment',
    method: 'POST',
    path: '/checkout',
    scope: 'vote',
    description:
      'The first call answers 402 with a checkout; the second one, with only `paymentAttemptId`, answers with the new balance.',
    answers: { ...answersOne(balanceView, 'The new balance.'), ...PAYMENT_REQUIRED },
    refusals: ['event_not_open', 'event_closed', 'already_voted', ...SECOND_CALL_REFUSALS],
    bodies: {
      BuyCreditsBody: {
        summary: 'The first call',
        schema: creditCheckoutBody({ embedded, needs: [] }),
        example: {
          positionId: EXAMPLE.position,
          visitorId: EXAMPLE.visitor,
          credits: 50,
          returnUrl: 'https://club.example/paid',
        },
      },
      FinishPaymentBody: FINISH_PAYMENT,
    },
  });
