import { z } from 'zod';
import {
  answersCreated,
  answersList,
  answersNothing,
  answersOne,
  answersQueued,
  answersText,
} from '#src/http/answer-shapes.ts';
import { searchField } from '#src/http/fields.ts';
import { answersNewest } from '#src/http/newest.ts';
import { operation } from '#src/http/operation.ts';
import { listDeliveriesQuery, listEndpointsQuery } from './schemas.ts';
import { deliveryView, endpointView, endpointWithSecretView, eventTypeView } from './view-schemas.ts';

export const listWebhookEndpoints = operation({
  operationId: 'listWebhookEndpoints',
  summary: 'List webhook endpoints',
  method: 'GET',
  path: '/webhook-endpoints',
  scope: 'read',
  description:
    'Those of one event with `votingEventCode`, whoever of its editors made them; without it, those of the account.',
  answers: answersList(endpointView, 'The endpoints.'),
  refusals: ['not_found'],
  query: listEndpointsQuery,
});

export const createWebhookEndpoint = operation({
  operationId: 'createWebhookEndpoint',
  summary: 'Create a webhook endpoint; its secret is told this once',
  method: 'POST',
  path: '/webhook-endpoints',
  scope: 'write',
  answers: answersCreated(endpointWithSecretView, 'The endpoint, with its secret.'),
  refusals: ['not_found', 'role', 'plan_limit'],
  example: { url: 'https://club.example/hooks', eventTypes: ['payment.succeeded', 'voting_event.closed'] },
});

export const getWebhookEndpoint = operation({
  operationId: 'getWebhookEndpoint',
  summary: 'Read a webhook endpoint',
  method: 'GET',
  path: '/webhook-endpoints/:id',
  scope: 'read',
  answers: answersOne(endpointView, 'The endpoint.'),
});

export const updateWebhookEndpoint = operation({
  operationId: 'updateWebhookEndpoint',
  summary: 'Change a webhook endpoint, switch it on or off',
  method: 'PATCH',
  path: '/webhook-endpoints/:id',
  scope: 'write',
  answers: answersOne(endpointView, 'The endpoint as it is now.'),
  example: { status: 'disabled' },
  refusals: ['role'],
});

export const deleteWebhookEndpoint = operation({
  operationId: 'deleteWebhookEndpoint',
  summary: 'Delete a webhook endpoint with its deliveries',
  method: 'DELETE',
  path: '/webhook-endpoints/:id',
  scope: 'write',
  answers: answersNothing('The endpoint is gone.'),
  refusals: ['role'],
});

export const testWebhookEndpoint = operation({
  operationId: 'testWebhookEndpoint',
  summary: 'Send a webhook endpoint a test message',
  method: 'POST',
  path: '/webhook-endpoints/:id/test',
  scope: 'write',
  answers: answersQueued('The message is on its way; see the deliveries.'),
  refusals: ['role', 'endpoint_disabled'],
});

export const rotateWebhookSecret = operation({
  operationId: 'rotateWebhookSecret',
  summary: 'Give a webhook endpoint a new secret; those of the last day sign too, at most five',
  method: 'POST',
  path: '/webhook-endpoints/:id/rotate-secret',
  scope: 'write',
  answers: answersOne(endpointWithSecretView, 'The endpoint, with its new secret.'),
  refusals: ['role'],
});

export const listWebhookDeliveries = operation({
  operationId: 'listWebhookDeliveries',
  summary: 'List the newest 1,000 deliveries of a webhook endpoint, with every attempt, newest last',
  method: 'GET',
  path: '/webhook-endpoints/:id/deliveries',
  scope: 'read',
  answers: answersNewest(
    deliveryView,
    'The newest 1,000 of what the filters find, newest last. All but the newest hundred tell the beginning of what their receivers answered.',
  ),
  query: listDeliveriesQuery,
});

export const getWebhookDeliveriesCsv = operation({
  operationId: 'getWebhookDeliveriesCsv',
  summary: 'Read all deliveries of a webhook endpoint as a table (CSV)',
  method: 'GET',
  path: '/webhook-endpoints/:id/deliveries/csv',
  scope: 'read',
  answers: answersText('text/csv', 'The deliveries of the last 30 days, oldest first, without what was sent.'),
});

export const retryWebhookDelivery = operation({
  operationId: 'retryWebhookDelivery',
  summary: 'Send a delivery again, whatever became of it',
  method: 'POST',
  path: '/webhook-endpoints/:id/deliveries/:deliveryId/retry',
  scope: 'write',
  answers: answersQueued('The message is on its way again.'),
  refusals: ['role', 'endpoint_disabled'],
});

export const listWebhookEventTypes = operation({
  operationId: 'listWebhookEventTypes',
  summary: 'List the event types that an endpoint may subscribe to',
  method: 'GET',
  path: '/webhook-event-types',
  scope: 'read',
  answers: answersList(eventTypeView, 'Every type.'),
  query: z.strictObject({ search: searchField().optional() }),
});
