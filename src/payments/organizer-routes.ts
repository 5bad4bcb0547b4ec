import { Hono } from 'hono';
import type { z } from 'zod';
import type { Database, Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { accepted, csv, goneAfter, list, ok } from '#src/http/answer.ts';
import { change, takeIdempotencyKey } from '#src/http/answer-once.ts';
import { answersAccepted, answersList, answersNothing, answersOne, answersText } from '#src/http/answer-shapes.ts';
import { body, noBody } from '#src/http/body.ts';
import type { Caller, Role } from '#src/http/caller.ts';
import { answersNewest, listNewest } from '#src/http/cursor.ts';
import type { Env, TargetStep } from '#src/http/env.ts';
import { EXAMPLE } from '#src/http/example-values.ts';
import { findTarget } from '#src/http/middleware.ts';
import { operation } from '#src/http/operation.ts';
import { answer, costly } from '#src/http/send.ts';
import { csvById } from '#src/platform/csv.ts';
import { notFound, orNotFound } from '#src/platform/errors.ts';
import { loadEvent, loadEventWith, loadRow } from '#src/voting-events/access.ts';
import { findUpToDate } from './ask-provider.ts';
import {
  type AttemptRef,
  type AttemptScope,
  findAttempt,
  findAttemptById,
  listAttempts,
  listAttemptsAfter,
} from './attempt-repository.ts';
import { listBusinesses } from './business-repository.ts';
import { findLinked, linkBusiness, unlinkBusiness } from './link-business.ts';
import { refundPaymentByHand, settleBody, settleByHand } from './manage-payment.ts';
import {
  backOf,
  businessView,
  linkBusinessBody,
  listBusinessesQuery,
  listedAttemptView,
  listPaymentsQuery,
  organizerAttemptView,
  type PaymentAttempt,
  refundOf,
  viewBusiness,
  viewListedAttempt,
  viewOrganizerAttempt,
} from './payment.ts';
import type { PaymentDeps } from './payment-deps.ts';
import { readRefunds } from './refund-payment.ts';

const COLUMNS = [
  ...(['id', 'votingEventId', 'purpose', 'status', 'endReason', 'provider', 'currency', 'amountMinor'] as const),
  ...(['paidMinor', 'providerPaymentId', 'providerReference'] as const),
  ...(['createdAt', 'paidAt', 'refundedAt', 'reversedAt'] as const),
] satisfies readonly (keyof PaymentAttempt)[];
/** CSV columns that follow `COLUMNS`: computed values, values of other tables, and the provider's fee. */
const BACKGROUND_COLUMNS = [
  ...['backMinor', 'netMinor', 'attention'],
  ...['livemode', 'refundStatus', 'refundAmountMinor', 'refundRequestedAt', 'feeMinor'],
];

/** Payments as CSV, without the payer's data and the ballot's code. */
const writePaymentsCsv = (db: Database, scope: AttemptScope): AsyncGenerator<string> =>
  csvById(
    [...COLUMNS, ...BACKGROUND_COLUMNS],
    async (after, limit) => {
      const rows = await listAttemptsAfter(db, scope, after, limit);
      const refundsOf = await readRefunds(db, rows);
      return rows.map((row) => ({ ...row, refunds: refundsOf(row) }));
    },
    ({ refunds, ...row }) => {
      const refund = refundOf(row, refunds);
      const backMinor = backOf(row, refunds);
      // Subtract the fee even from a refunded payment, because the provider may keep it.
      const netMinor = (row.paidMinor ?? 0) - backMinor - (row.feeMinor ?? 0);
      const beside = [row.livemode, refund?.status, refund?.amountMinor, refund?.requestedAt, row.feeMinor];
      return [...COLUMNS.map((column) => row[column]), backMinor, netMinor, row.attentionAt !== null, ...beside];
    },
  );

async function listNewestPayments(db: Database, scope: AttemptScope, query: z.output<typeof listPaymentsQuery>) {
  const found = await listAttempts(db, scope, query);
  const refundsOf = await readRefunds(db, found.rows);
  const shown = found.rows.map((row) => viewListedAttempt(row, refundsOf(row)));
  return listNewest(found, shown.reverse());
}

/** Payment businesses and payments, for organizers (contract, "Payment endpoints (organizer)"; completions 3). */
export function paymentRouter(deps: Deps, payments: PaymentDeps): Hono<Env> {
  const event = loadEvent(deps);
  const payingEvent = loadEventWith('paid_features', deps);
  const router = new Hono<Env>();
  router.on(
    ...operation('listPaymentBusinesses', 'GET /payment-businesses', {
      summary: 'List the payment businesses of the account',
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
    ...operation('getLinkedPaymentBusiness', 'GET /voting-events/:idOrCode/payment-business', {
      summary: 'Read the payment business that an event is paid through',
      scope: 'read',
      answers: answersOne(businessView, 'The payment business; 404 when none is linked.'),
    }),
    event,
    async (c) => answer(c, ok(viewBusiness(orNotFound(await findLinked(deps.db, c.get('target').event))))),
  );
  router.on(
    ...operation('linkPaymentBusiness', 'PUT /voting-events/:idOrCode/payment-business', {
      summary: 'Link a payment business to an event',
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
    ...operation('unlinkPaymentBusiness', 'DELETE /voting-events/:idOrCode/payment-business', {
      summary: 'Unlink the payment business of an event',
      scope: 'write',
      role: 'owner',
      answers: answersNothing('No payment business is linked.'),
      refusals: ['paid_pricing_set'],
    }),
    event,
    (c) => change(c, (tx) => goneAfter(unlinkBusiness(tx, deps, c.get('target')))),
  );
  addLists(router, deps, event, OF_EVENT, (target) => ({ votingEventId: target.event.id }));
  router.on(
    ...operation('getPayment', 'GET /voting-events/:idOrCode/payments/:id', {
      summary: 'Read a payment of an event',
      scope: 'read',
      answers: answersOne(organizerAttemptView, 'The payment.'),
      refusals: ['payment_unavailable'],
    }),
    event,
    async (c) => {
      const attempt = await findUpToDate(payments, c.get('target').event.id, c.req.param('id'));
      const refundsOf = await readRefunds(payments.db, [attempt]);
      return answer(c, ok(viewOrganizerAttempt(payments.secrets, attempt, refundsOf(attempt))));
    },
  );
  const inEvent = loadRow(deps, (db, votingEventId, id) => findAttempt(db, { votingEventId, id }));
  addChanges(router, payments, inEvent, OF_EVENT);
  const anyCaller: TargetStep<unknown> = (_c, next) => next();
  addLists(router, deps, anyCaller, OF_ACCOUNT, (_target, { accountId }) => ({ accountId }));
  /** @throws ApiError 404 for another account's payment */
  const owned = findTarget(async (c) => {
    const found = await findAttemptById(deps.db, c.req.param('id') ?? '');
    if (found?.accountId !== c.get('caller').accountId) throw notFound();
    return { row: found };
  });
  addChanges(router, payments, owned, OF_ACCOUNT);
  return router;
}

/** The same operations exist at two paths. `name` is part of their IDs; `whose` and `listed` are part of their descriptions. */
type Address = Readonly<Record<'path' | 'name' | 'whose' | 'listed', string> & { role: Role }>;

const OF_EVENT: Address = {
  ...{ path: '/voting-events/:idOrCode/payments', name: '', role: 'owner', whose: 'an event' },
  listed:
    'The newest 1,000 of what the filters find, newest last; `…/payments/csv` gives all of them. Without confirmation codes.',
};

const OF_ACCOUNT: Address = {
  ...{ path: '/payments', name: 'Account', role: 'editor', whose: 'the account' },
  listed:
    'Over all events that the account owns, deleted ones too, without those of rehearsals: the newest 1,000 of what the filters find, newest last; `/payments/csv` gives all of them.',
};

function addLists<Target>(
  router: Hono<Env>,
  { reads }: Deps,
  guard: TargetStep<Target>,
  { path, name, whose, listed }: Address,
  scopeOf: (target: Target, caller: Caller) => AttemptScope,
): void {
  router.on(
    ...operation(`list${name}Payments`, `GET ${path}`, {
      summary: `List the payments of ${whose}`,
      scope: 'read',
      description: listed,
      answers: answersNewest(listedAttemptView, `The payments of ${whose.replace(/^an/, 'the')}.`),
      query: listPaymentsQuery,
    }),
    guard,
    (c) => costly(c, () => listNewestPayments(reads, scopeOf(c.get('target'), c.get('caller')), c.get('query'))),
  );
  router.on(
    ...operation(`get${name}PaymentsCsv`, `GET ${path}/csv`, {
      summary: `Read all payments of ${whose} as a table (CSV)`,
      scope: 'read',
      answers: answersText('text/csv', 'The payments, oldest first.'),
    }),
    guard,
    (c) => costly(c, async () => csv(() => writePaymentsCsv(reads, scopeOf(c.get('target'), c.get('caller'))))),
  );
}

async function viewChanged(tx: Transaction, deps: PaymentDeps, attempt: PaymentAttempt) {
  const refundsOf = await readRefunds(tx, [attempt]);
  return viewOrganizerAttempt(deps.secrets, attempt, refundsOf(attempt));
}

const by = (c: { get(name: 'caller'): { readonly keyId: string } }) => ({ keyId: c.get('caller').keyId });

/** Adds the routes by which an organizer refunds or settles a payment (completions 7.4). */
function addChanges<Target extends { readonly row: AttemptRef }>(
  router: Hono<Env>,
  payments: PaymentDeps,
  guard: TargetStep<Target>,
  { path, name, role }: Address,
): void {
  router.on(
    ...operation(`refund${name}Payment`, `POST ${path}/:id/refund`, {
      summary: 'Give a payment back',
      ...{ scope: 'write', role },
      description:
        'The whole of it. What is not given yet, or not used, is gone at once; a ballot that counts is voided, and a candidate taken back, when the payer has the money. Asked again, there is one refund.',
      answers: answersAccepted(organizerAttemptView, 'The payment; the provider is asked.'),
      refusals: ['nothing_to_refund'],
    }),
    guard,
    takeIdempotencyKey(),
    noBody,
    (c) =>
      change(c, async (tx) => {
        const attempt = await refundPaymentByHand(tx, payments, c.get('target').row, by(c));
        return accepted(await viewChanged(tx, payments, attempt));
      }),
  );
  router.on(
    ...operation(`settle${name}Payment`, `POST ${path}/:id/settle`, {
      summary: 'Say that a person has settled a payment',
      ...{ scope: 'write', role },
      description:
        'Closes a case that shows `attention`: nothing of it is asked for any more. The note stands in the audit trail.',
      answers: answersOne(organizerAttemptView, 'The payment.'),
      refusals: ['nothing_to_settle'],
      example: { note: 'Paid back by bank transfer on 3 March' },
    }),
    guard,
    takeIdempotencyKey(),
    body(settleBody),
    (c) =>
      change(c, async (tx) => {
        const attempt = await settleByHand(tx, payments, c.get('target').row, c.get('body').note, by(c));
        return ok(await viewChanged(tx, payments, attempt));
      }),
  );
}
