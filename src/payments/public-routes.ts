import { Hono } from 'hono';
import type { Deps } from '#src/deps.ts';
import type { Env } from '#src/http/env.ts';
import { readRequestBody } from '#src/http/read-body.ts';
import { answer } from '#src/http/send.ts';
import { loadPublicEvent } from '#src/voting-events/access.ts';
import type { PaymentDeps } from './payment-deps.ts';
import * as operations from './public-operations.ts';
import { readPayment } from './read-payment.ts';
import { receiveProviderEvent } from './receive-provider-event.ts';

/** Payments as a voting page sees them, and the route for the providers' messages (completions 7.2). */
export function publicPaymentRouter(deps: Deps, payments: PaymentDeps): Hono<Env> {
  const event = loadPublicEvent(deps);
  const router = new Hono<Env>();
  router.on(...operations.getPublicPayment, event, async (c) =>
    answer(c, await readPayment(payments, c.get('target').event.id, c.req.param('id'))),
  );
  router.on(...operations.receiveProviderEvent, async (c) => {
    const source = { provider: c.req.param('provider'), businessId: c.req.param('businessId') };
    const bytes = await readRequestBody(c.env.incoming);
    return answer(c, await receiveProviderEvent(payments, source, bytes, c.req.raw.headers));
  });
  return router;
}
