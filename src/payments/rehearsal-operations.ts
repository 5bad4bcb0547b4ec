import { answersText } from '#src/http/answer-shapes.ts';
import { operation } from '#src/http/operation.ts';

export const getRehearsedPayment = operation({
  operationId: 'getRehearsedPayment',
  summary: 'The payment page of a rehearsal',
  method: 'GET',
  path: '/:id',
  scope: 'none',
  description: 'Stands for the page of the payment provider while an event is rehearsed. It takes no money.',
  answers: answersText('text/html', 'A page with the amount and three buttons: pay, fail, cancel.'),
  refusals: [],
});

export const rehearsePayment = operation({
  operationId: 'rehearsePayment',
  summary: 'Press a button of the payment page of a rehearsal',
  method: 'POST',
  path: '/:id',
  scope: 'none',
  description:
    'Takes the form of the page, `outcome=pay`, `fail` or `cancel`, and leads on as the provider would. No money moves.',
  requestsPerMinute: 120,
  answers: {
    ...answersText('text/html', 'The page again, where there is no address to go on to.'),
    303: {
      description: 'To the `returnUrl` or `cancelUrl` of the checkout.',
      headers: { Location: 'Where to go on.' },
    },
  },
  bytes: true,
});
