import { z } from 'zod';
import type { Deps } from '#src/deps.ts';
import { answersOne } from '#src/http/answer-shapes.ts';
import { type Route, rawRoute, readRoute } from '#src/http/route.ts';
import { requireVoteCaller } from '#src/voting-events/access.ts';
import type { PaymentDeps } from './payment-deps.ts';
import { readPayment } from './read-payment.ts';
import { receiveProviderEvent } from './receive-provider-event.ts';
import { attemptView } from './view-schemas.ts';

/** Payments as a voting page sees them, and the door for the providers' messages (completions 7.2). */
export function publicPaymentRoutes(deps: Deps, payments: PaymentDeps): Route[] {
  return [
    readRoute({
      operationId: 'getPublicPayment',
      summary: 'Read how a payment stands',
      method: 'GET',
      path: '/public/voting-events/:idOrCode/payments/:id',
      scope: 'vote',
      description:
        'While nobody has paid yet, the provider is asked, at most every two seconds. Poll it, or wait for the webhook `payment.succeeded`.',
      answers: answersOne(attemptView, 'The payment.'),
      find: (context) => requireVoteCaller(deps, context),
      read: ({ target, params }) => readPayment(payments, target.event.id, params['id'] ?? ''),
    }),
    rawRoute({
      operationId: 'receiveProviderEvent',
      summary: 'Take a message of a payment provider',
      method: 'POST',
      path: '/provider-webhooks/:provider/:businessId',
      scope: 'none',
      description: 'For the providers alone: a message must carry the signature of its provider.',
      answers: answersOne(z.object({ received: z.literal(true) }), 'The message is stored.'),
      requestsPerMinute: 12_000,
      receive: ({ params }, bytes, headers) =>
        receiveProviderEvent(
          payments,
          { provider: params['provider'] ?? '', businessId: params['businessId'] ?? '' },
          bytes,
          headers,
        ),
    }),
  ];
}
