import { isDeepStrictEqual } from 'node:util';
import { eq, sql } from 'drizzle-orm';
import { recordChange } from '#src/accounts/changes.ts';
import { type Plans, planLimit } from '#src/accounts/plans.ts';
import type { Executor, Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import type { Caller } from '#src/http/caller.ts';
import { refuse } from '#src/http/refusals.ts';
import { DAY_MS } from '#src/platform/clock.ts';
import { notFound, orNotFound } from '#src/platform/errors.ts';
import { publish, type RecordDeps, TEST_EVENT_TYPE } from './record-event.ts';
import {
  countEndpointsLocked,
  findDelivery,
  holdsEvent,
  insertEndpoint,
  isOfDeletedPerson,
  lockEndpoint,
  sendAgain,
  updateEndpoint,
} from './repository.ts';
import { generateWebhookSecret, sealSecret, secretHintOf } from './signature.ts';
import { webhookDeliveries, webhookEndpoints } from './tables.ts';
import { type EndpointChange, type NewEndpoint, viewEndpoint, type WebhookEndpoint } from './webhook-endpoint.ts';

type EndpointDeps = RecordDeps & Pick<Deps, 'secrets' | 'plans'>;

/** An endpoint with its secret in plaintext, which no later call returns. */
export interface EndpointWithSecret {
  readonly endpoint: WebhookEndpoint;
  readonly secret: string;
}

/** How long the old secret also signs messages after a rotation. */
const OLD_SECRET_MS = DAY_MS;
/** Most secrets that sign a message, including the present secret. */
const MOST_SECRETS = 5;

/** Creates an endpoint (contract, "Webhook endpoint management"). @throws ApiError 404 for an event that is gone; 422 `plan_limit` */
export async function createEndpoint(
  tx: Transaction,
  deps: EndpointDeps,
  owner: Pick<Caller, 'accountId' | 'plan' | 'keyId'>,
  votingEventId: string | null,
  body: NewEndpoint,
): Promise<EndpointWithSecret> {
  // The deletion of an event retires its endpoints. An endpoint that came later would be in no list, but would count against the limit.
  if (votingEventId !== null && !(await holdsEvent(tx, votingEventId))) throw notFound();
  const limit = deps.plans[owner.plan as keyof Plans].webhookEndpoints;
  if ((await countEndpointsLocked(tx, owner.accountId)) >= limit) throw planLimit('webhook_endpoints', limit);
  const id = deps.ids.sortable('whe');
  const secret = generateWebhookSecret();
  const nowMs = deps.clock.now();
  const endpoint = await insertEndpoint(tx, {
    id,
    accountId: owner.accountId,
    votingEventId,
    url: body.url,
    description: body.description ?? null,
    eventTypes: body.eventTypes,
    status: 'active',
    lastSuccessAt: nowMs,
    secret: sealSecret(deps.secrets, id, secret),
    secretHint: secretHintOf(secret),
    createdAt: nowMs,
    updatedAt: nowMs,
  });
  await beginAnnouncements(tx, endpoint);
  await record(tx, deps, owner, endpoint, 'created', { eventTypes: endpoint.eventTypes });
  return { endpoint, secret };
}

/** Changes an endpoint, or switches it on or off. Switching on a disabled endpoint clears the reason and the count of failures. */
export async function changeEndpoint(
  tx: Transaction,
  deps: EndpointDeps,
  caller: Caller,
  id: string,
  { status, ...body }: EndpointChange,
): Promise<WebhookEndpoint> {
  const before = await requireLocked(tx, id);
  const nowMs = deps.clock.now();
  const switchOn = status === 'active' && before.status === 'disabled';
  const switchOff = status === 'disabled' && before.status === 'active';
  const changed = Object.fromEntries(
    Object.entries(body).filter(
      ([name, value]) => value !== undefined && !isDeepStrictEqual(value, Reflect.get(before, name)),
    ),
  );
  if (Object.keys(changed).length === 0 && !switchOn && !switchOff) return before;
  const after = await updateEndpoint(tx, id, {
    ...changed,
    ...(switchOn ? { status: 'active', disabledReason: null, consecutiveFailures: 0, lastSuccessAt: nowMs } : {}),
    ...(switchOff ? { status: 'disabled', disabledReason: 'manual' } : {}),
    updatedAt: nowMs,
  });
  await beginAnnouncements(tx, after, before);
  await record(tx, deps, caller, after, 'updated', {
    fields: [...Object.keys(changed), ...(switchOn || switchOff ? ['status'] : [])],
  });
  if (switchOff) await publish(tx, deps, after, 'webhook_endpoint.disabled', [viewEndpoint(after)]);
  return after;
}

/** Starts `ballot.confirmed` for a new subscriber at the present count, so that ballots confirmed earlier cause no message. */
async function beginAnnouncements(tx: Transaction, after: WebhookEndpoint, before?: WebhookEndpoint): Promise<void> {
  const asks = (endpoint: WebhookEndpoint | undefined) => endpoint?.eventTypes.includes('ballot.confirmed') === true;
  if (asks(after) && !asks(before)) await tx.execute(sql`SELECT begin_ballot_announcements(${after.id})`);
}

export async function removeEndpoint(tx: Transaction, deps: EndpointDeps, caller: Caller, id: string): Promise<void> {
  const endpoint = await requireLocked(tx, id);
  await tx.delete(webhookEndpoints).where(eq(webhookEndpoints.id, id));
  await record(tx, deps, caller, endpoint, 'deleted', {});
}

/** Gives an endpoint a new secret. Secrets replaced within the last day, at most four, also sign, so that a receiver has time to change. */
export async function rotateSecret(
  tx: Transaction,
  deps: EndpointDeps,
  caller: Caller,
  id: string,
): Promise<EndpointWithSecret> {
  const before = await requireLocked(tx, id);
  const secret = generateWebhookSecret();
  const nowMs = deps.clock.now();
  const endpoint = await updateEndpoint(tx, id, {
    secret: sealSecret(deps.secrets, id, secret),
    secretHint: secretHintOf(secret),
    earlierSecrets: [
      { secret: before.secret, until: nowMs + OLD_SECRET_MS },
      ...before.earlierSecrets.filter(({ until }) => until > nowMs),
    ].slice(0, MOST_SECRETS - 1),
    updatedAt: nowMs,
  });
  await record(tx, deps, caller, endpoint, 'secret_rotated', {});
  return { endpoint, secret };
}

/** Queues a test message to an endpoint. @returns the ID of its delivery @throws ApiError 404, 409 `endpoint_disabled` */
export async function testEndpoint(tx: Transaction, deps: EndpointDeps, id: string): Promise<string> {
  const endpoint = await requireLocked(tx, id);
  requireActive(endpoint);
  const deliveryId = deps.ids.sortable('whd');
  const messageId = deps.ids.sortable('msg');
  const createdAt = deps.clock.now();
  const { votingEventId } = endpoint;
  const data = { webhookEndpointId: id, message: 'This is a test.' };
  await tx.insert(webhookDeliveries).values({
    id: deliveryId,
    endpointId: id,
    messageId,
    eventType: TEST_EVENT_TYPE,
    body: JSON.stringify({ id: messageId, type: TEST_EVENT_TYPE, createdAt, votingEventId, data }),
    status: 'pending',
    nextTryAt: createdAt,
    createdAt,
  });
  return deliveryId;
}

/** @throws ApiError 404, also if the message describes a voter or candidate who was deleted: it has erased data (completions 3, rule 2) */
export async function requireDelivery(executor: Executor, id: string, deliveryId: string): Promise<void> {
  const delivery = orNotFound(await findDelivery(executor, id, deliveryId));
  if (await isOfDeletedPerson(executor, delivery)) throw notFound();
}

/** Queues a delivery again, whatever its status. The message keeps its ID. @throws ApiError 404; 409 `endpoint_disabled` */
export async function retryDelivery(tx: Transaction, id: string, deliveryId: string): Promise<void> {
  const endpoint = await requireLocked(tx, id);
  await requireDelivery(tx, id, deliveryId);
  requireActive(endpoint);
  await sendAgain(tx, id, deliveryId);
}

const requireLocked = async (tx: Transaction, id: string): Promise<WebhookEndpoint> =>
  orNotFound(await lockEndpoint(tx, id));

/** @throws ApiError 409 */
function requireActive({ status }: WebhookEndpoint): void {
  if (status !== 'active') throw refuse('endpoint_disabled');
}

async function record(
  tx: Transaction,
  deps: EndpointDeps,
  caller: Pick<Caller, 'keyId'>,
  endpoint: WebhookEndpoint,
  what: string,
  after: Record<string, unknown>,
): Promise<void> {
  const { id: resource, accountId, votingEventId } = endpoint;
  const action = `webhook_endpoint.${what}`;
  await recordChange(tx, deps, { accountId, votingEventId, keyId: caller.keyId, action, resource, after });
}

/** Hides the endpoints of a deleted event. They still receive late messages, until `forgetDeliveries` deletes them after 14 days. */
export async function retireEndpoints(tx: Transaction, votingEventId: string, nowMs: number): Promise<void> {
  await tx.update(webhookEndpoints).set({ retiredAt: nowMs }).where(eq(webhookEndpoints.votingEventId, votingEventId));
}
