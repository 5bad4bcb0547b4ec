import { Hono } from 'hono';
import { z } from 'zod';
import type { PlanName } from '#src/accounts/plans.ts';
import type { Database } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { created, csv, gone, list, ok, queued } from '#src/http/answer.ts';
import { change } from '#src/http/answer-once.ts';
import {
  answersCreated,
  answersList,
  answersNothing,
  answersOne,
  answersQueued,
  answersText,
} from '#src/http/answer-shapes.ts';
import { body, noBody } from '#src/http/body.ts';
import { costly } from '#src/http/costly-reads.ts';
import type { Env } from '#src/http/env.ts';
import { searchField } from '#src/http/fields.ts';
import { findTarget } from '#src/http/find-target.ts';
import { answersNewest, listNewest } from '#src/http/newest.ts';
import { operation } from '#src/http/operation.ts';
import { replayIfAnswered } from '#src/http/replay.ts';
import { type Role, requireRole } from '#src/http/role.ts';
import { answer } from '#src/http/send.ts';
import { csvCell, csvLine } from '#src/platform/csv.ts';
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
import { endpointUrlFault } from './endpoint-url.ts';
import { EVENT_TYPES } from './event-catalogue.ts';
import { findEndpoint, listDeliveries, listDeliveriesAfter, listEndpoints, type TabledDelivery } from './repository.ts';
import {
  createEndpointBody,
  deliveryView,
  endpointView,
  endpointWithSecretView,
  eventTypeView,
  listDeliveriesQuery,
  listEndpointsQuery,
  updateEndpointBody,
  viewDelivery,
  viewEndpoint,
} from './webhook-endpoint.ts';

const COLUMNS = [
  ...(['id', 'messageId', 'eventType', 'status', 'tries', 'responseStatus', 'lastError'] as const),
  ...(['nextTryAt', 'createdAt', 'deliveredAt'] as const),
] satisfies readonly (keyof TabledDelivery)[];
const ROWS_AT_ONCE = 500;

/** Every delivery of an endpoint that is still kept as a table, oldest first. What was sent stays out of it. */
export async function* writeDeliveriesCsv(db: Database, endpointId: string): AsyncGenerator<string> {
  yield `\ufeff${csvLine([...COLUMNS])}`;
  for (let after = ''; ; ) {
    const rows = await listDeliveriesAfter(db, endpointId, after, ROWS_AT_ONCE);
    for (const row of rows) {
      const shown = { ...row, nextTryAt: row.status === 'pending' ? row.nextTryAt : null };
      yield csvLine(COLUMNS.map((column) => csvCell(shown[column])));
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_AT_ONCE) return;
    after = last.id;
  }
}

/** An event as an account sees it: its owner's account, and what the account may do with it. */
interface SeenEvent {
  readonly event: { readonly id: string; readonly accountId: string };
  readonly role: Role;
  readonly ownerPlan: PlanName;
}

/** Events are further down the house, and handed in: the one that a code or ID names, if the account may see it. */
type FindSeenEvent = (accountId: string, reference: string) => Promise<SeenEvent | undefined>;

const withSecret = ({ endpoint, secret }: EndpointWithSecret) => ({ ...viewEndpoint(endpoint), secret });

/** Webhook endpoints and their deliveries (contract, "Webhook endpoint management"; completions 8). */
export function webhookRouter(deps: Deps, findSeen: FindSeenEvent): Hono<Env> {
  const urlFault = (url: string): string | undefined =>
    deps.ownInbox.nameOf(url) === undefined ? endpointUrlFault(url, deps.config.webhookAllowPrivate) : undefined;
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
  router.on(
    ...operation({
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
    }),
    async (c) => {
      const { votingEventCode, ...filter } = c.get('query');
      const { accountId } = c.get('caller');
      const seen = votingEventCode === undefined ? undefined : await requireSeen(accountId, votingEventCode);
      const owner = seen?.event.accountId ?? accountId;
      const rows = await listEndpoints(deps.db, owner, { ...filter, votingEventId: seen?.event.id ?? null });
      return answer(c, list(rows.map(viewEndpoint)));
    },
  );
  router.on(
    ...operation({
      operationId: 'createWebhookEndpoint',
      summary: 'Create a webhook endpoint; its secret is told this once',
      method: 'POST',
      path: '/webhook-endpoints',
      scope: 'write',
      answers: answersCreated(endpointWithSecretView, 'The endpoint, with its secret.'),
      refusals: ['not_found', 'role', 'plan_limit'],
      example: { url: 'https://club.example/hooks', eventTypes: ['payment.succeeded', 'voting_event.closed'] },
    }),
    replayIfAnswered(),
    body(createEndpointBody(urlFault)),
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
  router.on(
    ...operation({
      operationId: 'getWebhookEndpoint',
      summary: 'Read a webhook endpoint',
      method: 'GET',
      path: '/webhook-endpoints/:id',
      scope: 'read',
      answers: answersOne(endpointView, 'The endpoint.'),
    }),
    endpoint,
    async (c) => answer(c, ok(viewEndpoint(c.get('target').endpoint))),
  );
  router.on(
    ...operation({
      operationId: 'updateWebhookEndpoint',
      summary: 'Change a webhook endpoint, switch it on or off',
      method: 'PATCH',
      path: '/webhook-endpoints/:id',
      scope: 'write',
      answers: answersOne(endpointView, 'The endpoint as it is now.'),
      example: { status: 'disabled' },
      refusals: ['role'],
    }),
    endpoint,
    body(updateEndpointBody(urlFault)),
    (c) =>
      change(c, async (tx) =>
        ok(viewEndpoint(await changeEndpoint(tx, deps, c.get('caller'), c.get('target').endpoint.id, c.get('body')))),
      ),
  );
  router.on(
    ...operation({
      operationId: 'deleteWebhookEndpoint',
      summary: 'Delete a webhook endpoint with its deliveries',
      method: 'DELETE',
      path: '/webhook-endpoints/:id',
      scope: 'write',
      answers: answersNothing('The endpoint is gone.'),
      refusals: ['role'],
    }),
    endpoint,
    (c) =>
      change(c, async (tx) => {
        await removeEndpoint(tx, deps, c.get('caller'), c.get('target').endpoint.id);
        return gone;
      }),
  );
  router.on(
    ...operation({
      operationId: 'testWebhookEndpoint',
      summary: 'Send a webhook endpoint a test message',
      method: 'POST',
      path: '/webhook-endpoints/:id/test',
      scope: 'write',
      answers: answersQueued('The message is on its way; see the deliveries.'),
      refusals: ['role', 'endpoint_disabled'],
    }),
    endpoint,
    replayIfAnswered(),
    noBody,
    (c) => change(c, async (tx) => queued(await testEndpoint(tx, deps, c.get('target').endpoint.id))),
  );
  router.on(
    ...operation({
      operationId: 'rotateWebhookSecret',
      summary: 'Give a webhook endpoint a new secret; those of the last day sign too, at most five',
      method: 'POST',
      path: '/webhook-endpoints/:id/rotate-secret',
      scope: 'write',
      answers: answersOne(endpointWithSecretView, 'The endpoint, with its new secret.'),
      refusals: ['role'],
    }),
    endpoint,
    replayIfAnswered(),
    noBody,
    (c) =>
      change(c, async (tx) =>
        ok(withSecret(await rotateSecret(tx, deps, c.get('caller'), c.get('target').endpoint.id))),
      ),
  );
  router.on(
    ...operation({
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
    }),
    endpoint,
    (c) =>
      costly(c, c.get('caller').accountId, async () => {
        const found = await listDeliveries(deps.reads, c.get('target').endpoint.id, c.get('query'));
        const shown = found.rows.map(({ delivery, attempts }) => viewDelivery(delivery, attempts));
        return listNewest(found, shown.reverse());
      }),
  );
  router.on(
    ...operation({
      operationId: 'getWebhookDeliveriesCsv',
      summary: 'Read all deliveries of a webhook endpoint as a table (CSV)',
      method: 'GET',
      path: '/webhook-endpoints/:id/deliveries/csv',
      scope: 'read',
      answers: answersText('text/csv', 'The deliveries of the last 30 days, oldest first, without what was sent.'),
    }),
    endpoint,
    (c) =>
      costly(c, c.get('caller').accountId, async () =>
        csv(() => writeDeliveriesCsv(deps.reads, c.get('target').endpoint.id)),
      ),
  );
  router.on(
    ...operation({
      operationId: 'retryWebhookDelivery',
      summary: 'Send a delivery again, whatever became of it',
      method: 'POST',
      path: '/webhook-endpoints/:id/deliveries/:deliveryId/retry',
      scope: 'write',
      answers: answersQueued('The message is on its way again.'),
      refusals: ['role', 'endpoint_disabled'],
    }),
    endpoint,
    replayIfAnswered(),
    noBody,
    (c) =>
      change(c, async (tx) => {
        const deliveryId = c.req.param('deliveryId');
        await retryDelivery(tx, c.get('target').endpoint.id, deliveryId);
        return queued(deliveryId);
      }),
  );
  router.on(
    ...operation({
      operationId: 'listWebhookEventTypes',
      summary: 'List the event types that an endpoint may subscribe to',
      method: 'GET',
      path: '/webhook-event-types',
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
  return router;
}
