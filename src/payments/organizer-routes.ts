import { Hono } from 'hono';
import type { Database } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { csv, gone, list, ok } from '#src/http/answer.ts';
import { change } from '#src/http/answer-once.ts';
import { answersList, answersNothing, answersOne, answersText } from '#src/http/answer-shapes.ts';
import { body } from '#src/http/body.ts';
import type { Env } from '#src/http/env.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { answersNewest, listNewest } from '#src/http/newest.ts';
import { operation } from '#src/http/operation.ts';
import { answer, costly } from '#src/http/send.ts';
import { csvById } from '#src/platform/csv.ts';
import { notFound } from '#src/platform/errors.ts';
import { loadEvent, loadEventWith } from '#src/voting-events/access.ts';
import { listAttempts, listAttemptsAfter } from './attempt-repository.ts';
import { findBusiness, listBusinesses } from './business-repository.ts';
import { linkBusiness, unlinkBusiness } from './link-business.ts';
import {
  businessView,
  linkBusinessBody,
  listBusinessesQuery,
  listPaymentsQuery,
  organizerAttemptView,
  type PaymentAttempt,
  refundOf,
  viewBusiness,
  viewListedAttempt,
} from './payment.ts';
import type { PaymentDeps } from './payment-deps.ts';
import { listBackgrounds, NO_BACKGROUND, readOrganizerPayment } from './read-payment.ts';

const COLUMNS = [
  ...(['id', 'purpose', 'status', 'endReason', 'provider', 'amountMinor', 'currency'] as const),
  ...(['providerPaymentId', 'providerReference', 'createdAt', 'paidAt', 'refundedAt', 'reversedAt'] as const),
] satisfies readonly (keyof PaymentAttempt)[];
/** What stands beside the attempt's own row, after it. */
const BACKGROUND_COLUMNS = ['livemode', 'refundStatus', 'refundAmountMinor', 'refundRequestedAt', 'feeMinor'];

/** Every payment of an event as a table. What the payer sent and the ballot's code stay out of it. */
const writePaymentsCsv = (db: Database, eventId: string): AsyncGenerator<string> =>
  csvById(
    [...COLUMNS, ...BACKGROUND_COLUMNS],
    async (after, limit) => {
      const rows = await listAttemptsAfter(db, eventId, after, limit);
      const backgrounds = await listBackgrounds(db, eventId, rows);
      return rows.map((row, index) => ({ ...row, background: backgrounds[index] ?? NO_BACKGROUND }));
    },
    ({ background, ...row }) => {
      const refund = refundOf(row, background);
      const beside = [background.livemode, refund?.status, refund?.amountMinor, refund?.requestedAt, row.feeMinor];
      return [...COLUMNS.map((column) => row[column]), ...beside];
    },
  );

/** Payment businesses and payments, for organizers (contract, "Payment endpoints (organizer)"; completions 3). */
export function paymentRouter(deps: Deps, payments: PaymentDeps): Hono<Env> {
  const event = loadEvent(deps);
  const payingEvent = loadEventWith('paid_features', deps);
  const router = new Hono<Env>();
  router.on(
    ...operation({
      operationId: 'listPaymentBusinesses',
      summary: 'List the payment businesses of the account',
      method: 'GET',
      path: '/payment-businesses',
      scope: 'read',
      answers: answersList(businessView, 'Every payment business of the account.'),
      query: listBusinessesQuery,
    }),
    async (c) =>
      answer(
        c,
        list((await listBusinesses(deps.db, c.get('caller').accountId, c.get('query').search)).map(viewBusiness)),
      ),
  );
  router.on(
    ...operation({
      operationId: 'getLinkedPaymentBusiness',
      summary: 'Read the payment business that an event is paid through',
      method: 'GET',
      path: '/voting-events/:idOrCode/payment-business',
      scope: 'read',
      answers: answersOne(businessView, 'The payment business; 404 when none is linked.'),
    }),
    event,
    async (c) => {
      const { accountId, paymentBusinessId } = c.get('target').event;
      const business =
        paymentBusinessId === null ? undefined : await findBusiness(deps.db, accountId, paymentBusinessId);
      if (business === undefined) throw notFound();
      return answer(c, ok(viewBusiness(business)));
    },
  );
  router.on(
    ...operation({
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
    }),
    payingEvent,
    body(linkBusinessBody),
    (c) =>
      change(c, async (tx) =>
        ok(viewBusiness(await linkBusiness(tx, deps, c.get('target'), c.get('body').paymentBusinessId))),
      ),
  );
  router.on(
    ...operation({
      operationId: 'unlinkPaymentBusiness',
      summary: 'Unlink the payment business of an event',
      method: 'DELETE',
      path: '/voting-events/:idOrCode/payment-business',
      scope: 'write',
      role: 'owner',
      answers: answersNothing('No payment business is linked.'),
      refusals: ['paid_pricing_set'],
    }),
    event,
    (c) =>
      change(c, async (tx) => {
        await unlinkBusiness(tx, deps, c.get('target'));
        return gone;
      }),
  );
  router.on(
    ...operation({
      operationId: 'listPayments',
      summary: 'List the payments of an event',
      method: 'GET',
      path: '/voting-events/:idOrCode/payments',
      scope: 'read',
      description:
        'The newest 1,000 of what the filters find, newest last; `…/payments/csv` gives all of them. Without confirmation codes.',
      answers: answersNewest(organizerAttemptView, 'The payments of the event.'),
      query: listPaymentsQuery,
    }),
    event,
    (c) =>
      costly(c, c.get('caller').accountId, async () => {
        const found = await listAttempts(deps.reads, c.get('target').event.id, c.get('query'));
        const backgrounds = await listBackgrounds(deps.reads, c.get('target').event.id, found.rows);
        const shown = found.rows.map((row, index) => viewListedAttempt(row, backgrounds[index] ?? NO_BACKGROUND));
        return listNewest(found, shown.reverse());
      }),
  );
  router.on(
    ...operation({
      operationId: 'getPaymentsCsv',
      summary: 'Read all payments of an event as a table (CSV)',
      method: 'GET',
      path: '/voting-events/:idOrCode/payments/csv',
      scope: 'read',
      answers: answersText('text/csv', 'The payments, oldest first.'),
    }),
    event,
    (c) =>
      costly(c, c.get('caller').accountId, async () =>
        csv(() => writePaymentsCsv(deps.reads, c.get('target').event.id)),
      ),
  );
  router.on(
    ...operation({
      operationId: 'getPayment',
      summary: 'Read a payment of an event',
      method: 'GET',
      path: '/voting-events/:idOrCode/payments/:id',
      scope: 'read',
      answers: answersOne(organizerAttemptView, 'The payment.'),
      refusals: ['payment_unavailable'],
    }),
    event,
    async (c) => answer(c, await readOrganizerPayment(payments, c.get('target').event.id, c.req.param('id'))),
  );
  return router;
}
