import { Hono } from 'hono';
import { z } from 'zod';
import type { Deps } from '#src/deps.ts';
import { ok } from '#src/http/answer.ts';
import { answersOne } from '#src/http/answer-shapes.ts';
import type { Env } from '#src/http/env.ts';
import { operation } from '#src/http/operation.ts';
import { readStrangersBody } from '#src/http/read-body.ts';
import { answer } from '#src/http/send.ts';
import { loadPublicEvent } from '#src/voting-events/access.ts';
import { findUpToDate } from './ask-provider.ts';
import { attemptView, viewAttempt } from './payment.ts';
import type { PaymentDeps } from './payment-deps.ts';
import { MAX_MESSAGE_BYTES, receiveProviderEvent } from './receive-provider-event.ts';

/** The payments that a voting page reads, and the route for the providers' messages (completions 7.2). */
export function publicPaymentRouter(deps: Deps, payments: PaymentDeps): Hono<Env> {
  const event = loadPublicEvent(deps);
  const router = new Hono<Env>();
  router.on(
    ...operation('getPublicPayment', 'GET /public/voting-events/:idOrCode/payments/:id', {
      summary: 'Read how a payment stands',
      scope: 'vote',
      description:
        'While nobody has paid yet, the provider is asked, at most every two seconds. Poll it, or wait for the webhook `payment.succeeded`.',
      answers: answersOne(attemptView, 'The payment.'),
      refusals: ['payment_unavailable'],
    }),
    event,
    async (c) => {
      const attempt = await findUpToDate(payments, c.get('target').event.id, c.req.param('id'));
      return answer(c, ok(viewAttempt(payments.secrets, attempt)));
    },
  );
  router.on(
    ...operation('receiveProviderEvent', 'POST /provider-webhooks/:provider/:businessId', {
      summary: 'Take a message of a payment provider',
      scope: 'none',
      about: (id) => id,
      description:
        'For the providers alone: a message must carry the signature of its provider, and has at most 256 KiB and 5,000 values.',
      answers: answersOne(z.object({ received: z.literal(true) }), 'The message is stored.'),
      requestsPerMinute: 12_000,
      bytes: true,
    }),
    async (c) => {
      const source = { provider: c.req.param('provider'), businessId: c.req.param('businessId') };
      const bytes = await readStrangersBody(c, MAX_MESSAGE_BYTES);
      return answer(c, await receiveProviderEvent(payments, source, bytes, c.req.raw.headers));
    },
  );
  return router;
}
