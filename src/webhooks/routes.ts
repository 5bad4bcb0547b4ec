import { z } from 'zod';
import type { Deps } from '#src/deps.ts';
import { created, gone, list, ok, queued } from '#src/http/answer.ts';
import { csv } from '#src/http/answer-csv.ts';
import {
  answersCreated,
  answersList,
  answersNothing,
  answersOne,
  answersQueued,
  answersText,
} from '#src/http/answer-shapes.ts';
import { searchField } from '#src/http/fields.ts';
import { answersNewest, listNewest } from '#src/http/newest.ts';
import { changeRoute, type RequestContext, type Route, readRoute } from '#src/http/route.ts';
import { notFound } from '#src/platform/errors.ts';
import { textHolds } from '#src/platform/text.ts';
import {
  changeEndpoint,
  createEndpoint,
  type EndpointWithSecret,
  removeEndpoint,
  retryDelivery,
  rotateSecret,
  testEndpoint,
} from './change-endpoint.ts';
import { EVENT_TYPES } from './event-catalogue.ts';
import { findEndpoint, listDeliveries, listEndpoints } from './repository.ts';
import { createEndpointBody, listDeliveriesQuery, listEndpointsQuery, updateEndpointBody } from './schemas.ts';
import type { WebhookEndpoint } from './types.ts';
import { deliveryView, endpointView, endpointWithSecretView, eventTypeView } from './view-schemas.ts';
import { viewDelivery, viewEndpoint } from './views.ts';
import { writeDeliveriesCsv } from './write-deliveries-csv.ts';

/** The event that a code or ID names. @throws ApiError `not_found` */
type FindEventId = (accountId: string, reference: string) => Promise<string>;

/** Events are further down the house, and handed in. Receivers are told of events of their own account alone. */
export interface EventFinders {
  /** Any that the account may see. */
  readonly seen: FindEventId;
  /** The account's own. @throws ApiError 403 `forbidden`, reason `role`, for one that is shared with it */
  readonly owned: FindEventId;
}

const withSecret = ({ endpoint, secret }: EndpointWithSecret) => ({ ...viewEndpoint(endpoint), secret });

/** Webhook endpoints and their deliveries (contract, "Webhook endpoint management"; completions 8). */
export function webhookRoutes(deps: Deps, events: EventFinders): Route[] {
  const { webhookAllowPrivate } = deps.config;
  const endpoint = async (context: RequestContext): Promise<WebhookEndpoint> => {
    const found = await findEndpoint(deps.db, context.caller.accountId, context.params['id'] ?? '');
    if (found === undefined) throw notFound();
    return found;
  };
  const path = '/webhook-endpoints';
  return [
    readRoute({
      operationId: 'listWebhookEndpoints',
      summary: 'List webhook endpoints',
      method: 'GET',
      path,
      scope: 'read',
      description: 'Those of one event with `votingEventCode`; without it, those of the account.',
      answers: answersList(endpointView, 'The endpoints.'),
      refusals: ['not_found'],
      query: listEndpointsQuery,
      find: async ({ caller }) => caller,
      read: async ({ caller, query: { votingEventCode, ...filter } }) => {
        const votingEventId =
          votingEventCode === undefined ? null : await events.seen(caller.accountId, votingEventCode);
        const rows = await listEndpoints(deps.db, caller.accountId, { ...filter, votingEventId });
        return list(rows.map(viewEndpoint));
      },
    }),
    changeRoute({
      operationId: 'createWebhookEndpoint',
      summary: 'Create a webhook endpoint; its secret is told this once',
      method: 'POST',
      path,
      scope: 'write',
      answers: answersCreated(endpointWithSecretView, 'The endpoint, with its secret.'),
      refusals: ['not_found', 'role', 'plan_limit'],
      example: { url: 'https://club.example/hooks', eventTypes: ['payment.succeeded', 'voting_event.closed'] },
      body: createEndpointBody(webhookAllowPrivate),
      find: async ({ caller }) => caller,
      change: async ({ caller, body }, tx) => {
        const { votingEventCode } = body;
        const votingEventId =
          votingEventCode === undefined ? null : await events.owned(caller.accountId, votingEventCode);
        return created(withSecret(await createEndpoint(tx, deps, caller, votingEventId, body)));
      },
    }),
    readRoute({
      operationId: 'getWebhookEndpoint',
      summary: 'Read a webhook endpoint',
      method: 'GET',
      path: `${path}/:id`,
      scope: 'read',
      answers: answersOne(endpointView, 'The endpoint.'),
      find: endpoint,
      read: async ({ target }) => ok(viewEndpoint(target)),
    }),
    changeRoute({
      operationId: 'updateWebhookEndpoint',
      summary: 'Change a webhook endpoint, switch it on or off',
      method: 'PATCH',
      path: `${path}/:id`,
      scope: 'write',
      answers: answersOne(endpointView, 'The endpoint as it is now.'),
      example: { status: 'disabled' },
      body: updateEndpointBody(webhookAllowPrivate),
      find: endpoint,
      change: async ({ caller, target, body }, tx) =>
        ok(viewEndpoint(await changeEndpoint(tx, deps, caller, target.id, body))),
    }),
    changeRoute({
      operationId: 'deleteWebhookEndpoint',
      summary: 'Delete a webhook endpoint with its deliveries',
      method: 'DELETE',
      path: `${path}/:id`,
      scope: 'write',
      answers: answersNothing('The endpoint is gone.'),
      find: endpoint,
      change: async ({ caller, target }, tx) => {
        await removeEndpoint(tx, deps, caller, target.id);
        return gone;
      },
    }),
    changeRoute({
      operationId: 'testWebhookEndpoint',
      summary: 'Send a webhook endpoint a test message',
      method: 'POST',
      path: `${path}/:id/test`,
      scope: 'write',
      answers: answersQueued('The message is on its way; see the deliveries.'),
      refusals: ['endpoint_disabled'],
      find: endpoint,
      change: async ({ target }, tx) => queued(await testEndpoint(tx, deps, target.id)),
    }),
    changeRoute({
      operationId: 'rotateWebhookSecret',
      summary: 'Give a webhook endpoint a new secret; those of the last day sign too, at most five',
      method: 'POST',
      path: `${path}/:id/rotate-secret`,
      scope: 'write',
      answers: answersOne(endpointWithSecretView, 'The endpoint, with its new secret.'),
      find: endpoint,
      change: async ({ caller, target }, tx) => ok(withSecret(await rotateSecret(tx, deps, caller, target.id))),
    }),
    readRoute({
      operationId: 'listWebhookDeliveries',
      summary: 'List the newest 1,000 deliveries of a webhook endpoint, with every attempt, newest last',
      method: 'GET',
      path: `${path}/:id/deliveries`,
      scope: 'read',
      answers: answersNewest(
        deliveryView,
        'The newest 1,000 of what the filters find, newest last. All but the newest hundred tell the beginning of what their receivers answered.',
      ),
      query: listDeliveriesQuery,
      find: endpoint,
      costly: ({ caller }) => caller.accountId,
      read: async ({ target, query }) => {
        const found = await listDeliveries(deps.reads, target.id, query);
        const shown = found.rows.map(({ delivery, attempts }) => viewDelivery(delivery, attempts));
        return listNewest(found, shown.reverse());
      },
    }),
    readRoute({
      operationId: 'getWebhookDeliveriesCsv',
      summary: 'Read all deliveries of a webhook endpoint as a table (CSV)',
      method: 'GET',
      path: `${path}/:id/deliveries/csv`,
      scope: 'read',
      answers: answersText('text/csv', 'The deliveries of the last 30 days, oldest first, without what was sent.'),
      find: endpoint,
      costly: ({ caller }) => caller.accountId,
      read: async ({ target }) => csv(() => writeDeliveriesCsv(deps.reads, target.id)),
    }),
    changeRoute({
      operationId: 'retryWebhookDelivery',
      summary: 'Send a delivery again, whatever became of it',
      method: 'POST',
      path: `${path}/:id/deliveries/:deliveryId/retry`,
      scope: 'write',
      answers: answersQueued('The message is on its way again.'),
      refusals: ['endpoint_disabled'],
      find: endpoint,
      change: async ({ target, params }, tx) => {
        const deliveryId = params['deliveryId'] ?? '';
        await retryDelivery(tx, target.id, deliveryId);
        return queued(deliveryId);
      },
    }),
    readRoute({
      operationId: 'listWebhookEventTypes',
      summary: 'List the event types that an endpoint may subscribe to',
      method: 'GET',
      path: '/webhook-event-types',
      scope: 'read',
      answers: answersList(eventTypeView, 'Every type.'),
      query: z.strictObject({ search: searchField().optional() }),
      find: async ({ caller }) => caller,
      read: async ({ query: { search = '' } }) =>
        list(
          Object.entries(EVENT_TYPES)
            .filter(([type, description]) => textHolds(`${type} ${description}`, search))
            .map(([type, description]) => ({ type, description })),
        ),
    }),
  ];
}
