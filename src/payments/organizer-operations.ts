import { answersList, answersNothing, answersOne, answersText } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { answersNewest } from '#src/http/newest.ts';
import { operation } from '#src/http/operation.ts';
import { listBusinessesQuery, listPaymentsQuery } from './schemas.ts';
import { businessView, organizerAttemptView } from './view-schemas.ts';

export const listPaymentBusinesses = operation({
  operationId: 'listPaymentBusinesses',
  summary: 'List the payment businesses of the account',
  method: 'GET',
  path: '/payment-businesses',
  scope: 'read',
  answers: answersList(businessView, 'Every payment business of the account.'),
  query: listBusinessesQuery,
});

export const getLinkedPaymentBusiness = operation({
  operationId: 'getLinkedPaymentBusiness',
  summary: 'Read the payment business that an event is paid through',
  method: 'GET',
  path: '/voting-events/:idOrCode/payment-business',
  scope: 'read',
  answers: answersOne(businessView, 'The payment business; 404 when none is linked.'),
});

export const linkPaymentBusiness = operation({
  operationId: 'linkPaymentBusiness',
  summary: 'Link a payment business to an event',
  method: 'PUT',
  path: '/voting-events/:idOrCode/payment-business',
  scope: 'write',
  role: 'owner',
  description: 'Link a ready one before a price is set. Linking it again gives the same answer.',
  answers: answersOne(businessView, 'The payment business.'),
  refusals: ['plan_feature'],
  example: { paymentBusinessId: EXAMPLE.business },
});

export const unlinkPaymentBusiness = operation({
  operationId: 'unlinkPaymentBusiness',
  summary: 'Unlink the payment business of an event',
  method: 'DELETE',
  path: '/voting-events/:idOrCode/payment-business',
  scope: 'write',
  role: 'owner',
  answers: answersNothing('No payment business is linked.'),
  refusals: ['paid_pricing_set'],
});

export const listPayments = operation({
  operationId: 'listPayments',
  summary: 'List the payments of an event',
  method: 'GET',
  path: '/voting-events/:idOrCode/payments',
  scope: 'read',
  description:
    'The newest 1,000 of what the filters find, newest last; `…/payments/csv` gives all of them. Without confirmation codes.',
  answers: answersNewest(organizerAttemptView, 'The payments of the event.'),
  query: listPaymentsQuery,
});

export const getPaymentsCsv = operation({
  operationId: 'getPaymentsCsv',
  summary: 'Read all payments of an event as a table (CSV)',
  method: 'GET',
  path: '/voting-events/:idOrCode/payments/csv',
  scope: 'read',
  answers: answersText('text/csv', 'The payments, oldest first.'),
});

export const getPayment = operation({
  operationId: 'getPayment',
  summary: 'Read a payment of an event',
  method: 'GET',
  path: '/voting-events/:idOrCode/payments/:id',
  scope: 'read',
  answers: answersOne(organizerAttemptView, 'The payment.'),
  refusals: ['payment_unavailable'],
});
