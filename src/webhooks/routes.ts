import { Hono } from 'hono';
import type { PlanName } from '#src/accounts/plans.ts';
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
import { type Role, requireRole } from '#src/http/role.ts';
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

/** An event as an account sees it: its owner's account, and what the account may do with it. */
interface SeenEvent {
  readonly event: { readonly id: string; readonly accountId: string };
  readonly role: Role;
  readonly ownerPlan: PlanName;
}

/** Events are further down the house, and handed in: the one that a code or ID names, if the account may see it. */
export type FindSeenEvent = (accountId: string, reference: string) => Promise<SeenEvent | undefined>;

const withSecret = ({ endpoint, secret }: EndpointWithSecret) => ({ ...viewEndpoint(endpoint), secret });

/** Webhook endpoints and their deliveries (contract, "Webhook endpoint management"; completions 8). */
export function webhookRouter(deps: Deps, findSeen: FindSeenEvent): Hono<Env> {
  const { webhookAllowPrivate } = deps.config;
  /** @throws ApiError `not_found` */
  const requireSeen = async (accountId: string, reference: string): Promise<SeenEvent> => {
    const seen = await findSeen(accountId, reference);
    if (seen === undefined) throw notFound();
    return seen;
  };
  // An endpoint of one event is seen and changed by the roles in that event, one of an account by that account.
  const endpoint = findTarget(async (c) => {
    const { accountId } = c.get('caller');
    const found = await findEndpoint(deps.db, c.req.param('id') ?? '');
    if (found === undefined) throw notFound();
    if (found.accountId === accountId) return { endpoint: found, role: 'owner' as Role };
    if (found.votingEventId === null) throw notFound();
    const { role } = await requireSeen(accountId, found.votingEventId);
    return { endpoint: found, role };
  });
  const router = new Hono<Env>();
  router.on(...operations.listWebhookEndpoints, async (c) => {
    const { votingEventCode, ...filter } = c.get('query');
    const { accountId } = c.get('caller');
    const seen = votingEventCode === undefined ? undefined : await requireSeen(accountId, votingEventCode);
    const owner = seen?.event.accountId ?? accountId;
    const rows = await listEndpoints(deps.db, owner, { ...filter, votingEventId: seen?.event.id ?? null });
    return answer(c, list(rows.map(viewEndpoint)));
  });
  router.on(
    ...operations.createWebhookEndpoint,
    replayIfAnswered(),
    body(createEndpointBody(webhookAllowPrivate)),
    (c) =>
      change(c, async (tx) => {
        const { votingEventCode } = c.get('body');
        const { accountId, keyId, plan } = c.get('caller');
        const seen = votingEventCode === undefined ? undefined : await requireSeen(accountId, votingEventCode);
        requireRole('editor', seen);
        // The endpoints of an event belong to its owner, whose plan decides (completions 2.5).
        const owner = { accountId: seen?.event.accountId ?? accountId, plan: seen?.ownerPlan ?? plan, keyId };
        return created(withSecret(await createEndpoint(tx, deps, owner, seen?.event.id ?? null, c.get('body'))));
      }),
  );
  router.on(...operations.getWebhookEndpoint, endpoint, async (c) =>
    answer(c, ok(viewEndpoint(c.get('target').endpoint))),
  );
  router.on(...operations.updateWebhookEndpoint, endpoint, body(updateEndpointBody(webhookAllowPrivate)), (c) =>
    change(c, async (tx) =>
      ok(viewEndpoint(await changeEndpoint(tx, deps, c.get('caller'), c.get('target').endpoint.id, c.get('body')))),
    ),
  );
  router.on(...operations.deleteWebhookEndpoint, endpoint, (c) =>
    change(c, async (tx) => {
      await removeEndpoint(tx, deps, c.get('caller'), c.get('target').endpoint.id);
      return gone;
    }),
  );
  router.on(...operations.testWebhookEndpoint, endpoint, replayIfAnswered(), noBody, (c) =>
    change(c, async (tx) => queued(await testEndpoint(tx, deps, c.get('target').endpoint.id))),
  );
  router.on(...operations.rotateWebhookSecret, endpoint, replayIfAnswered(), noBody, (c) =>
    change(c, async (tx) => ok(withSecret(await rotateSecret(tx, deps, c.get('caller'), c.get('target').endpoint.id)))),
  );
  router.on(...operations.listWebhookDeliveries, endpoint, (c) =>
    costly(c, c.get('caller').accountId, async () => {
      const found = await listDeliveries(deps.reads, c.get('target').endpoint.id, c.get('query'));
      const shown = found.rows.map(({ delivery, attempts }) => viewDelivery(delivery, attempts));
      return listNewest(found, shown.reverse());
    }),
  );
  router.on(...operations.getWebhookDeliveriesCsv, endpoint, (c) =>
    costly(c, c.get('caller').accountId, async () =>
      csv(() => writeDeliveriesCsv(deps.reads, c.get('target').endpoint.id)),
    ),
  );
  router.on(...operations.retryWebhookDelivery, endpoint, replayIfAnswered(), noBody, (c) =>
    change(c, async (tx) => {
      const deliveryId = c.req.param('deliveryId');
      await retryDelivery(tx, c.get('target').endpoint.id, deliveryId);
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
