import { Hono } from 'hono';
import type { Deps } from '#src/deps.ts';
import { created, gone, list, ok, queued } from '#src/http/answer.ts';
import { csv } from '#src/http/answer-csv.ts';
import { change } from '#src/http/answer-once.ts';
import { body, noBody } from '#src/http/body.ts';
import { costly } from '#src/http/costly-reads.ts';
import type { Env } from '#src/http/env.ts';
import { findTarget } from '#src/http/find-target.ts';
import { listNewest } from '#src/http/newest.ts';
import { replayIfAnswered } from '#src/http/replay.ts';
import { answer } from '#src/http/send.ts';
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
import * as operations from './operations.ts';
import { findEndpoint, listDeliveries, listEndpoints } from './repository.ts';
import { createEndpointBody, updateEndpointBody } from './schemas.ts';
import { viewDelivery, viewEndpoint } from './views.ts';
import { writeDeliveriesCsv } from './write-deliveries-csv.ts';

/** The event that a code or ID names. @throws ApiError `not_found` */
type FindEventId = (accountId: string, reference: string) => Promise<string>;

/** Events are further down the house, and handed in. Endpoints receive events of their own account alone. */
export interface EventFinders {
  /** Any that the account may see. */
  readonly seen: FindEventId;
  /** The account's own. @throws ApiError 403 `forbidden`, reason `role`, for one that is shared with it */
  readonly owned: FindEventId;
}

const withSecret = ({ endpoint, secret }: EndpointWithSecret) => ({ ...viewEndpoint(endpoint), secret });

/** Webhook endpoints and their deliveries (contract, "Webhook endpoint management"; completions 8). */
export function webhookRouter(deps: Deps, events: EventFinders): Hono<Env> {
  const { webhookAllowPrivate } = deps.config;
  const endpoint = findTarget(async (c) => {
    const found = await findEndpoint(deps.db, c.get('caller').accountId, c.req.param('id') ?? '');
    if (found === undefined) throw notFound();
    return found;
  });
  const router = new Hono<Env>();
  router.on(...operations.listWebhookEndpoints, async (c) => {
    const { votingEventCode, ...filter } = c.get('query');
    const votingEventId =
      votingEventCode === undefined ? null : await events.seen(c.get('caller').accountId, votingEventCode);
    const rows = await listEndpoints(deps.db, c.get('caller').accountId, { ...filter, votingEventId });
    return answer(c, list(rows.map(viewEndpoint)));
  });
  router.on(
    ...operations.createWebhookEndpoint,
    replayIfAnswered(),
    body(createEndpointBody(webhookAllowPrivate)),
    (c) =>
      change(c, async (tx) => {
        const { votingEventCode } = c.get('body');
        const votingEventId =
          votingEventCode === undefined ? null : await events.owned(c.get('caller').accountId, votingEventCode);
        return created(withSecret(await createEndpoint(tx, deps, c.get('caller'), votingEventId, c.get('body'))));
      }),
  );
  router.on(...operations.getWebhookEndpoint, endpoint, async (c) => answer(c, ok(viewEndpoint(c.get('target')))));
  router.on(...operations.updateWebhookEndpoint, endpoint, body(updateEndpointBody(webhookAllowPrivate)), (c) =>
    change(c, async (tx) =>
      ok(viewEndpoint(await changeEndpoint(tx, deps, c.get('caller'), c.get('target').id, c.get('body')))),
    ),
  );
  router.on(...operations.deleteWebhookEndpoint, endpoint, (c) =>
    change(c, async (tx) => {
      await removeEndpoint(tx, deps, c.get('caller'), c.get('target').id);
      return gone;
    }),
  );
  router.on(...operations.testWebhookEndpoint, endpoint, replayIfAnswered(), noBody, (c) =>
    change(c, async (tx) => queued(await testEndpoint(tx, deps, c.get('target').id))),
  );
  router.on(...operations.rotateWebhookSecret, endpoint, replayIfAnswered(), noBody, (c) =>
    change(c, async (tx) => ok(withSecret(await rotateSecret(tx, deps, c.get('caller'), c.get('target').id)))),
  );
  router.on(...operations.listWebhookDeliveries, endpoint, (c) =>
    costly(c, c.get('caller').accountId, async () => {
      const found = await listDeliveries(deps.reads, c.get('target').id, c.get('query'));
      const shown = found.rows.map(({ delivery, attempts }) => viewDelivery(delivery, attempts));
      return listNewest(found, shown.reverse());
    }),
  );
  router.on(...operations.getWebhookDeliveriesCsv, endpoint, (c) =>
    costly(c, c.get('caller').accountId, async () => csv(() => writeDeliveriesCsv(deps.reads, c.get('target').id))),
  );
  router.on(...operations.retryWebhookDelivery, endpoint, replayIfAnswered(), noBody, (c) =>
    change(c, async (tx) => {
      const deliveryId = c.req.param('deliveryId');
      await retryDelivery(tx, c.get('target').id, deliveryId);
      return queued(deliveryId);
    }),
  );
  router.on(...operations.listWebhookEventTypes, async (c) => {
    const { search = '' } = c.get('query');
    return answer(
      c,
      list(
        Object.entries(EVENT_TYPES)
          .filter(([type, description]) => textHolds(`${type} ${description}`, search))
          .map(([type, description]) => ({ type, description })),
      ),
    );
  });
  return router;
}
