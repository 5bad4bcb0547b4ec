import { Hono } from 'hono';
import { z } from 'zod';
import type { Database } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { created, csv, goneAfter, list, ok, queued } from '#src/http/answer.ts';
import { change, takeIdempotencyKey } from '#src/http/answer-once.ts';
import {
  answersCreated,
  answersList,
  answersNothing,
  answersOne,
  answersQueued,
  answersText,
} from '#src/http/answer-shapes.ts';
import { body, noBody } from '#src/http/body.ts';
import { type Role, requireRole } from '#src/http/caller.ts';
import { answersNewest, listNewest } from '#src/http/cursor.ts';
import type { Env } from '#src/http/env.ts';
import { searchField } from '#src/http/fields.ts';
import { findTarget } from '#src/http/middleware.ts';
import { operation } from '#src/http/operation.ts';
import { answer, costly } from '#src/http/send.ts';
import { csvById } from '#src/platform/csv.ts';
import { notFound, orNotFound } from '#src/platform/errors.ts';
import { textHolds } from '#src/platform/text.ts';
import {
  changeEndpoint,
  createEndpoint,
  type EndpointWithSecret,
  removeEndpoint,
  requireDelivery,
  retryDelivery,
  rotateSecret,
  testEndpoint,
} from './change-endpoint.ts';
import { endpointUrlFault } from './receiver-url.ts';
import { EVENT_TYPES } from './record-event.ts';
import { findEndpoint, listDeliveries, listDeliveriesAfter, listEndpoints, type TabledDelivery } from './repository.ts';
import {
  createEndpointBody,
  deliveryView,
  endpointView,
  endpointWithSecretView,
  eventTypeView,
  listDeliveriesQuery,
  listEndpointsQuery,
  nextTryOf,
  updateEndpointBody,
  viewDelivery,
  viewEndpoint,
  type WebhookEndpoint,
} from './webhook-endpoint.ts';

interface SeenEvent {
  readonly event: { readonly id: string };
  readonly role: Role;
}

/** Finds an event that the account may see. `src/app.ts` passes it, because this folder may not import src/voting-events. */
type FindSeenEvent<Found> = (accountId: string, reference: string) => Promise<Found>;

const withSecret = ({ endpoint, secret }: EndpointWithSecret) => ({ ...viewEndpoint(endpoint), secret });

const urlFaultBy =
  ({ ownInbox, webhookReach }: Deps) =>
  (url: string): string | undefined =>
    endpointUrlFault(url, webhookReach) ??
    (ownInbox.isBeside(url) ? 'must name an inbox of the console where it leads to this service' : undefined);

/** Loads an endpoint for its own account only. Accounts that share its event see neither it nor its deliveries (completions 2.5). */
const loadEndpoint = (deps: Deps) =>
  findTarget(async (c) => {
    const found = await findEndpoint(deps.db, c.req.param('id') ?? '');
    if (found?.accountId !== c.get('caller').accountId) throw notFound();
    return { endpoint: found };
  });

type LoadEndpoint = ReturnType<typeof loadEndpoint>;

/** Webhook endpoints and their deliveries (contract, "Webhook endpoint management"; completions 8), in the order of the API reference. */
export function webhookRouter(deps: Deps, findSeen: FindSeenEvent<SeenEvent | undefined>): Hono<Env> {
  /** @throws ApiError `not_found`; 403 `role` */
  const requireOwned = async (accountId: string, reference: string): Promise<SeenEvent> => {
    const seen = orNotFound(await findSeen(accountId, reference));
    requireRole('owner', seen);
    return seen;
  };
  const endpoint = loadEndpoint(deps);
  const router = new Hono<Env>();
  addListAndCreate(router, deps, requireOwned);
  addOneEndpoint(router, deps, endpoint);
  addDeliveries(router, deps, endpoint);
  addEventTypes(router);
  return router;
}

function addListAndCreate(router: Hono<Env>, deps: Deps, requireOwned: FindSeenEvent<SeenEvent>): void {
  router.on(
    ...operation('listWebhookEndpoints', 'GET /webhook-endpoints', {
      summary: 'List webhook endpoints',
      scope: 'read',
      description:
        'Those of one event with `votingEventCode`, for its owner alone; without it, those of the account, which hear of the events that it owns.',
      answers: answersList(endpointView, 'The endpoints.'),
      refusals: ['not_found', 'role'],
      query: listEndpointsQuery,
    }),
    async (c) => {
      const { votingEventCode, ...filter } = c.get('query');
      const { accountId } = c.get('caller');
      const owned = votingEventCode === undefined ? undefined : await requireOwned(accountId, votingEventCode);
      const rows = await listEndpoints(deps.db, accountId, { ...filter, votingEventId: owned?.event.id ?? null });
      return answer(c, list(rows.map(viewEndpoint)));
    },
  );
  router.on(
    ...operation('createWebhookEndpoint', 'POST /webhook-endpoints', {
      summary: 'Create a webhook endpoint; its secret is told this once',
      scope: 'write',
      answers: answersCreated(endpointWithSecretView, 'The endpoint, with its secret.'),
      refusals: ['not_found', 'role', 'plan_limit'],
      example: { url: 'https://club.example/hooks', eventTypes: ['payment.succeeded', 'voting_event.closed'] },
    }),
    takeIdempotencyKey(),
    body(createEndpointBody(urlFaultBy(deps))),
    (c) =>
      change(c, async (tx) => {
        const { votingEventCode } = c.get('body');
        const caller = c.get('caller');
        const owned = votingEventCode === undefined ? undefined : await requireOwned(caller.accountId, votingEventCode);
        return created(withSecret(await createEndpoint(tx, deps, caller, owned?.event.id ?? null, c.get('body'))));
      }),
  );
}

function addOneEndpoint(router: Hono<Env>, deps: Deps, endpoint: LoadEndpoint): void {
  router.on(
    ...operation('getWebhookEndpoint', 'GET /webhook-endpoints/:id', {
      summary: 'Read a webhook endpoint',
      scope: 'read',
      answers: answersOne(endpointView, 'The endpoint.'),
    }),
    endpoint,
    async (c) => answer(c, ok(viewEndpoint(c.get('target').endpoint))),
  );
  router.on(
    ...operation('updateWebhookEndpoint', 'PATCH /webhook-endpoints/:id', {
      summary: 'Change a webhook endpoint, switch it on or off',
      scope: 'write',
      answers: answersOne(endpointView, 'The endpoint as it is now.'),
      example: { status: 'disabled' },
    }),
    endpoint,
    body(updateEndpointBody(urlFaultBy(deps)), undefined, (target: { readonly endpoint: WebhookEndpoint }) =>
      viewEndpoint(target.endpoint),
    ),
    (c) =>
      change(c, async (tx) =>
        ok(viewEndpoint(await changeEndpoint(tx, deps, c.get('caller'), c.get('target').endpoint.id, c.get('body')))),
      ),
  );
  router.on(
    ...operation('deleteWebhookEndpoint', 'DELETE /webhook-endpoints/:id', {
      summary: 'Delete a webhook endpoint with its deliveries',
      scope: 'write',
      answers: answersNothing('The endpoint is gone.'),
    }),
    endpoint,
    (c) => change(c, (tx) => goneAfter(removeEndpoint(tx, deps, c.get('caller'), c.get('target').endpoint.id))),
  );
  router.on(
    ...operation('testWebhookEndpoint', 'POST /webhook-endpoints/:id/test', {
      summary: 'Send a webhook endpoint a test message',
      scope: 'write',
      answers: answersQueued('The message is on its way; see the deliveries.'),
      refusals: ['endpoint_disabled'],
    }),
    endpoint,
    takeIdempotencyKey(),
    noBody,
    (c) => change(c, async (tx) => queued(await testEndpoint(tx, deps, c.get('target').endpoint.id))),
  );
  router.on(
    ...operation('rotateWebhookSecret', 'POST /webhook-endpoints/:id/rotate-secret', {
      summary: 'Give a webhook endpoint a new secret; those of the last day sign too, at most five',
      scope: 'write',
      answers: answersOne(endpointWithSecretView, 'The endpoint, with its new secret.'),
    }),
    endpoint,
    takeIdempotencyKey(),
    noBody,
    (c) =>
      change(c, async (tx) =>
        ok(withSecret(await rotateSecret(tx, deps, c.get('caller'), c.get('target').endpoint.id))),
      ),
  );
}

const COLUMNS = [
  ...(['id', 'messageId', 'eventType', 'status', 'tries', 'responseStatus', 'lastError'] as const),
  ...(['nextTryAt', 'createdAt', 'deliveredAt'] as const),
] satisfies readonly (keyof TabledDelivery)[];

/** CSV of all stored deliveries of an endpoint, oldest first, without the bodies that were sent. */
const writeDeliveriesCsv = (db: Database, endpoint: WebhookEndpoint): AsyncGenerator<string> =>
  csvById(
    COLUMNS,
    (after, limit) => listDeliveriesAfter(db, endpoint.id, after, limit),
    (row) => {
      const shown = { ...row, nextTryAt: nextTryOf(row, endpoint) };
      return COLUMNS.map((column) => shown[column]);
    },
  );

function addDeliveries(router: Hono<Env>, deps: Deps, endpoint: LoadEndpoint): void {
  router.on(
    ...operation('listWebhookDeliveries', 'GET /webhook-endpoints/:id/deliveries', {
      summary: 'List the newest 1,000 deliveries of a webhook endpoint, with every attempt, newest last',
      scope: 'read',
      answers: answersNewest(
        deliveryView,
        'The newest 1,000 of what the filters find, newest last. All but the newest hundred tell the beginning of what their receivers answered.',
      ),
      query: listDeliveriesQuery,
    }),
    endpoint,
    (c) =>
      costly(c, async () => {
        const { endpoint: own } = c.get('target');
        const found = await listDeliveries(deps.reads, own.id, c.get('query'));
        const shown = found.rows.map(({ delivery, attempts }) => viewDelivery(delivery, attempts, own));
        return listNewest(found, shown.reverse());
      }),
  );
  router.on(
    ...operation('getWebhookDeliveriesCsv', 'GET /webhook-endpoints/:id/deliveries/csv', {
      summary: 'Read all deliveries of a webhook endpoint as a table (CSV)',
      scope: 'read',
      answers: answersText('text/csv', 'The deliveries of the last 30 days, oldest first, without what was sent.'),
    }),
    endpoint,
    (c) => costly(c, async () => csv(() => writeDeliveriesCsv(deps.reads, c.get('target').endpoint))),
  );
  router.on(
    ...operation('retryWebhookDelivery', 'POST /webhook-endpoints/:id/deliveries/:deliveryId/retry', {
      summary: 'Send a delivery again, whatever became of it',
      description: 'Not found, too, where the message describes a voter or candidate who was deleted since.',
      scope: 'write',
      answers: answersQueued('The message is on its way again.'),
      refusals: ['endpoint_disabled'],
    }),
    endpoint,
    async (c, next) => {
      await requireDelivery(deps.db, c.get('target').endpoint.id, c.req.param('deliveryId'));
      await next();
    },
    takeIdempotencyKey(),
    noBody,
    (c) =>
      change(c, async (tx) => {
        const deliveryId = c.req.param('deliveryId');
        await retryDelivery(tx, c.get('target').endpoint.id, deliveryId);
        return queued(deliveryId);
      }),
  );
}

function addEventTypes(router: Hono<Env>): void {
  router.on(
    ...operation('listWebhookEventTypes', 'GET /webhook-event-types', {
      summary: 'List the event types that an endpoint may subscribe to',
      scope: 'read',
      answers: answersList(eventTypeView, 'Every type.'),
      query: z.strictObject({ search: searchField().optional() }),
    }),
    async (c) => {
      const { search = '' } = c.get('query');
      return answer(
        c,
        list(
          Object.entries(EVENT_TYPES)
            .filter(([type, description]) => textHolds(`${type} ${description}`, search))
            .map(([type, description]) => ({ type, description })),
        ),
      );
    },
  );
}
