import { Hono } from 'hono';
import { requireFeature } from '#src/accounts/plans.ts';
import type { Deps } from '#src/deps.ts';
import { gone, list, ok } from '#src/http/answer.ts';
import { csv } from '#src/http/answer-csv.ts';
import { change } from '#src/http/answer-once.ts';
import { body } from '#src/http/body.ts';
import { costly } from '#src/http/costly-reads.ts';
import type { Env } from '#src/http/env.ts';
import { findTarget } from '#src/http/find-target.ts';
import { listNewest } from '#src/http/newest.ts';
import { answer } from '#src/http/send.ts';
import { notFound } from '#src/platform/errors.ts';
import { loadEvent, requireOrganizer } from '#src/voting-events/access.ts';
import { listAttempts } from './attempt-repository.ts';
import { findBusiness, listBusinesses } from './business-repository.ts';
import { linkBusiness, unlinkBusiness } from './link-business.ts';
import * as operations from './organizer-operations.ts';
import type { PaymentDeps } from './payment-deps.ts';
import { listBackgrounds, NO_BACKGROUND, readOrganizerPayment } from './read-payment.ts';
import { linkBusinessBody } from './schemas.ts';
import { viewBusiness, viewListedAttempt } from './views.ts';
import { writePaymentsCsv } from './write-payments-csv.ts';

/** Payment businesses and payments, for organizers (contract, "Payment endpoints (organizer)"; completions 3). */
export function paymentRouter(deps: Deps, payments: PaymentDeps): Hono<Env> {
  const event = loadEvent(deps);
  const payingEvent = findTarget(async (c) => {
    const organizer = await requireOrganizer(deps, c);
    requireFeature(deps.plans[organizer.ownerPlan], 'paid_features');
    return organizer;
  });
  const router = new Hono<Env>();
  router.on(...operations.listPaymentBusinesses, async (c) =>
    answer(
      c,
      list((await listBusinesses(deps.db, c.get('caller').accountId, c.get('query').search)).map(viewBusiness)),
    ),
  );
  router.on(...operations.getLinkedPaymentBusiness, event, async (c) => {
    const { accountId, paymentBusinessId } = c.get('target').event;
    const business = paymentBusinessId === null ? undefined : await findBusiness(deps.db, accountId, paymentBusinessId);
    if (business === undefined) throw notFound();
    return answer(c, ok(viewBusiness(business)));
  });
  router.on(...operations.linkPaymentBusiness, payingEvent, body(linkBusinessBody), (c) =>
    change(c, async (tx) =>
      ok(viewBusiness(await linkBusiness(tx, deps, c.get('target'), c.get('body').paymentBusinessId))),
    ),
  );
  router.on(...operations.unlinkPaymentBusiness, event, (c) =>
    change(c, async (tx) => {
      await unlinkBusiness(tx, deps, c.get('target'));
      return gone;
    }),
  );
  router.on(...operations.listPayments, event, (c) =>
    costly(c, c.get('caller').accountId, async () => {
      const found = await listAttempts(deps.reads, c.get('target').event.id, c.get('query'));
      const backgrounds = await listBackgrounds(deps.reads, c.get('target').event.id, found.rows);
      const shown = found.rows.map((row, index) => viewListedAttempt(row, backgrounds[index] ?? NO_BACKGROUND));
      return listNewest(found, shown.reverse());
    }),
  );
  router.on(...operations.getPaymentsCsv, event, (c) =>
    costly(c, c.get('caller').accountId, async () => csv(() => writePaymentsCsv(deps.reads, c.get('target').event.id))),
  );
  router.on(...operations.getPayment, event, async (c) =>
    answer(c, await readOrganizerPayment(payments, c.get('target').event.id, c.req.param('id'))),
  );
  return router;
}
