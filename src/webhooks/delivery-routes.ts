import type { Hono } from 'hono';
import type { Database } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { csv, queued } from '#src/http/answer.ts';
import { change, takeIdempotencyKey } from '#src/http/answer-once.ts';
import { answersQueued, answersText } from '#src/http/answer-shapes.ts';
import { noBody } from '#src/http/body.ts';
import { answersNewest, listNewest } from '#src/http/cursor.ts';
import type { Env } from '#src/http/env.ts';
import { operation } from '#src/http/operation.ts';
import { costly } from '#src/http/send.ts';
import { csvById } from '#src/platform/csv.ts';
import { requireDelivery, retryDelivery } from './change-endpoint.ts';
import type { LoadEndpoint } from './endpoint-routes.ts';
import { listDeliveries, listDeliveriesAfter, type TabledDelivery } from './repository.ts';
import {
  deliveryView,
  listDeliveriesQuery,
  nextTryOf,
  viewDelivery,
  type WebhookEndpoint,
} from './webhook-endpoint.ts';

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

export function addDeliveries(router: Hono<Env>, deps: Deps, endpoint: LoadEndpoint): void {
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
      costly(c, c.get('caller').accountId, async () => {
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
    (c) =>
      costly(c, c.get('caller').accountId, async () =>
        csv(() => writeDeliveriesCsv(deps.reads, c.get('target').endpoint)),
      ),
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
