import { requireFeature } from '#src/accounts/plans.ts';
import type { Deps } from '#src/deps.ts';
import { gone, list, ok } from '#src/http/answer.ts';
import { csv } from '#src/http/answer-csv.ts';
import { answersList, answersNothing, answersOne, answersText } from '#src/http/answer-shapes.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { answersNewest, listNewest } from '#src/http/newest.ts';
import { changeRoute, type RequestContext, type Route, readRoute } from '#src/http/route.ts';
import { notFound } from '#src/platform/errors.ts';
import { type Organizer, requireOrganizer } from '#src/voting-events/access.ts';
import { listAttempts } from './attempt-repository.ts';
import { findBusiness, listBusinesses } from './business-repository.ts';
import { linkBusiness, unlinkBusiness } from './link-business.ts';
import type { PaymentDeps } from './payment-deps.ts';
import { readPayment } from './read-payment.ts';
import { linkBusinessBody, listBusinessesQuery, listPaymentsQuery } from './schemas.ts';
import { attemptView, businessView } from './view-schemas.ts';
import { viewBusiness, viewListedAttempt } from './views.ts';
import { writePaymentsCsv } from './write-payments-csv.ts';

/** Payment businesses and payments, for organizers (contract, "Payment endpoints (organizer)"; completions 3). */
export function paymentRoutes(deps: Deps, payments: PaymentDeps): Route[] {
  const event = (context: RequestContext) => requireOrganizer(deps, context);
  const payingEvent = async (context: RequestContext): Promise<Organizer> => {
    const organizer = await event(context);
    requireFeature(deps.plans[organizer.ownerPlan], 'paid_features');
    return organizer;
  };
  const businessPath = '/voting-events/:idOrCode/payment-business';
  return [
    readRoute({
      operationId: 'listPaymentBusinesses',
      summary: 'List the payment businesses of the account',
      method: 'GET',
      path: '/payment-businesses',
      scope: 'read',
      answers: answersList(businessView, 'Every payment business of the account.'),
      query: listBusinessesQuery,
      find: async ({ caller }) => caller,
      read: async ({ caller, query }) =>
        list((await listBusinesses(deps.db, caller.accountId, query.search)).map(viewBusiness)),
    }),
    readRoute({
      operationId: 'getLinkedPaymentBusiness',
      summary: 'Read the payment business that an event is paid through',
      method: 'GET',
      path: businessPath,
      scope: 'read',
      answers: answersOne(businessView, 'The payment business; 404 when none is linked.'),
      find: event,
      read: async ({ target }) => {
        const { accountId, paymentBusinessId } = target.event;
        const business =
          paymentBusinessId === null ? undefined : await findBusiness(deps.db, accountId, paymentBusinessId);
        if (business === undefined) throw notFound();
        return ok(viewBusiness(business));
      },
    }),
    changeRoute({
      operationId: 'linkPaymentBusiness',
      summary: 'Link a payment business to an event',
      method: 'PUT',
      path: businessPath,
      scope: 'write',
      role: 'owner',
      description: 'Link a ready one before a price is set. Linking it again gives the same answer.',
      answers: answersOne(businessView, 'The payment business.'),
      refusals: ['plan_feature'],
      example: { paymentBusinessId: EXAMPLE.business },
      body: linkBusinessBody,
      find: payingEvent,
      change: async ({ target, body }, tx) =>
        ok(viewBusiness(await linkBusiness(tx, deps, target, body.paymentBusinessId))),
    }),
    changeRoute({
      operationId: 'unlinkPaymentBusiness',
      summary: 'Unlink the payment business of an event',
      method: 'DELETE',
      path: businessPath,
      scope: 'write',
      role: 'owner',
      answers: answersNothing('No payment business is linked.'),
      refusals: ['paid_pricing_set'],
      find: event,
      change: async ({ target }, tx) => {
        await unlinkBusiness(tx, deps, target);
        return gone;
      },
    }),
    readRoute({
      operationId: 'listPayments',
      summary: 'List the payments of an event',
      method: 'GET',
      path: '/voting-events/:idOrCode/payments',
      scope: 'read',
      description:
        'The newest 1,000 of what the filters find, newest last; `…/payments/csv` gives all of them. Without confirmation codes.',
      answers: answersNewest(attemptView, 'The payments of the event.'),
      query: listPaymentsQuery,
      find: event,
      costly: ({ caller }) => caller.accountId,
      read: async ({ target, query }) => {
        const found = await listAttempts(deps.reads, target.event.id, query);
        return listNewest(found, found.rows.map(viewListedAttempt).reverse());
      },
    }),
    readRoute({
      operationId: 'getPaymentsCsv',
      summary: 'Read all payments of an event as a table (CSV)',
      method: 'GET',
      path: '/voting-events/:idOrCode/payments/csv',
      scope: 'read',
      answers: answersText('text/csv', 'The payments, oldest first.'),
      find: event,
      costly: ({ caller }) => caller.accountId,
      read: async ({ target }) => csv(() => writePaymentsCsv(deps.reads, target.event.id)),
    }),
    readRoute({
      operationId: 'getPayment',
      summary: 'Read a payment of an event',
      method: 'GET',
      path: '/voting-events/:idOrCode/payments/:id',
      scope: 'read',
      answers: answersOne(attemptView, 'The payment.'),
      find: event,
      read: ({ target, params }) => readPayment(payments, target.event.id, params['id'] ?? ''),
    }),
  ];
}
