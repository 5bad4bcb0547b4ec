import { z } from 'zod';
import { answersOne } from '#src/http/answer-shapes.ts';
import { operation } from '#src/http/operation.ts';
import { attemptView } from './view-schemas.ts';

export const getPublicPayment = operation({
  operationId: 'getPublicPayment',
  summary: 'Read how a payment stands',
  method: 'GET',
  path: '/public/voting-events/:idOrCode/payments/:id',
  scope: 'vote',
  description:
    'While nobody has paid yet, the provider is asked, at most every two seconds. Poll it, or wait for the webhook `payment.succeeded`.',
  answers: answersOne(attemptView, 'The payment.'),
  refusals: ['payment_unavailable'],
});

export const receiveProviderEvent = operation({
  operationId: 'receiveProviderEvent',
  summary: 'Take a message of a payment provider',
  method: 'POST',
  path: '/provider-webhooks/:provider/:businessId',
  scope: 'none',
  description: 'For the providers alone: a message must carry the signature of its provider.',
  answers: answersOne(z.object({ received: z.literal(true) }), 'The message is stored.'),
  requestsPerMinute: 12_000,
  bytes: true,
});
