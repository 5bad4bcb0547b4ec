import { and, asc, count, desc, eq, ilike, inArray, isNull, or, sql } from 'drizzle-orm';
import type { Executor, Transaction } from '#src/database/client.ts';
import { nowMs } from '#src/database/columns.ts';
import { containsPattern } from '#src/platform/text.ts';
import { webhookAttempts, webhookDeliveries, webhookEndpoints } from './tables.ts';
import type { DeliveryStatus, EndpointStatus, WebhookAttempt, WebhookDelivery, WebhookEndpoint } from './types.ts';

export type NewEndpointRow = typeof webhookEndpoints.$inferInsert;

export interface EndpointFilter {
  /** Null lists the endpoints of the account itself. */
  readonly votingEventId: string | null;
  readonly search?: string | undefined;
  readonly status?: EndpointStatus | undefined;
}

export async function listEndpoints(
  executor: Executor,
  accountId: string,
  filter: EndpointFilter,
): Promise<WebhookEndpoint[]> {
  const pattern = filter.search === undefined ? undefined : containsPattern(filter.search);
  const { votingEventId } = filter;
  return executor
    .select()
    .from(webhookEndpoints)
    .where(
      and(
        eq(webhookEndpoints.accountId, accountId),
        votingEventId === null
          ? isNull(webhookEndpoints.votingEventId)
          : eq(webhookEndpoints.votingEventId, votingEventId),
        filter.status === undefined ? undefined : eq(webhookEndpoints.status, filter.status),
        pattern === undefined
          ? undefined
          : or(ilike(webhookEndpoints.url, pattern), ilike(webhookEndpoints.description, pattern)),
      ),
    )
    .orderBy(asc(webhookEndpoints.id));
}

export async function findEndpoint(
  executor: Executor,
  accountId: string,
  id: string,
): Promise<WebhookEndpoint | undefined> {
  const [row] = await executor
    .select()
    .from(webhookEndpoints)
    .where(and(eq(webhookEndpoints.accountId, accountId), eq(webhookEndpoints.id, id)));
  return row;
}

/** An endpoint whoever owns it, for the sender; locked where it is about to be changed. */
export async function lockEndpoint(tx: Transaction, id: string): Promise<WebhookEndpoint | undefined> {
  const [row] = await tx.select().from(webhookEndpoints).where(eq(webhookEndpoints.id, id)).for('update');
  return row;
}

/** How many endpoints an account has. The account's row is locked first: two that count at once take turns. */
export async function countEndpointsLocked(tx: Transaction, accountId: string): Promise<number> {
  await tx.execute(sql`SELECT 1 FROM accounts WHERE id = ${accountId} FOR UPDATE`);
  const [row] = await tx
    .select({ count: count() })
    .from(webhookEndpoints)
    .where(eq(webhookEndpoints.accountId, accountId));
  return row?.count ?? 0;
}

export async function insertEndpoint(tx: Transaction, row: NewEndpointRow): Promise<WebhookEndpoint> {
  const [inserted] = await tx.insert(webhookEndpoints).values(row).returning();
  if (inserted === undefined) throw new Error('an insert returned no row');
  return inserted;
}

export async function updateEndpoint(
  tx: Transaction,
  id: string,
  changes: Partial<NewEndpointRow>,
): Promise<WebhookEndpoint> {
  const [row] = await tx.update(webhookEndpoints).set(changes).where(eq(webhookEndpoints.id, id)).returning();
  if (row === undefined) throw new Error('a locked endpoint is gone');
  return row;
}

export async function deleteEndpoint(tx: Transaction, id: string): Promise<void> {
  await tx.delete(webhookEndpoints).where(eq(webhookEndpoints.id, id));
}

/** What waits for an endpoint that is switched off is not sent; it can be asked for again. */
export async function skipPending(tx: Transaction, endpointId: string): Promise<void> {
  await tx
    .update(webhookDeliveries)
    .set({ status: 'skipped' })
    .where(and(eq(webhookDeliveries.endpointId, endpointId), eq(webhookDeliveries.status, 'pending')));
}

/** Newest deliveries that a list gives. */
const NEWEST = 200;

export interface DeliveryFilter {
  readonly status?: DeliveryStatus | undefined;
  readonly eventType?: string | undefined;
  readonly search?: string | undefined;
}

export async function listDeliveries(
  executor: Executor,
  endpointId: string,
  filter: DeliveryFilter,
): Promise<{ delivery: WebhookDelivery; attempts: WebhookAttempt[] }[]> {
  const pattern = filter.search === undefined ? undefined : containsPattern(filter.search);
  const deliveries = await executor
    .select()
    .from(webhookDeliveries)
    .where(
      and(
        eq(webhookDeliveries.endpointId, endpointId),
        filter.status === undefined ? undefined : eq(webhookDeliveries.status, filter.status),
        filter.eventType === undefined ? undefined : eq(webhookDeliveries.eventType, filter.eventType),
        pattern === undefined
          ? undefined
          : or(ilike(webhookDeliveries.messageId, pattern), ilike(webhookDeliveries.eventType, pattern)),
      ),
    )
    .orderBy(desc(webhookDeliveries.id))
    .limit(NEWEST);
  const ids = deliveries.map(({ id }) => id);
  const attempts =
    ids.length === 0
      ? []
      : await executor
          .select()
          .from(webhookAttempts)
          .where(inArray(webhookAttempts.deliveryId, ids))
          .orderBy(asc(webhookAttempts.number));
  const byDelivery = Map.groupBy(attempts, ({ deliveryId }) => deliveryId);
  return deliveries.map((delivery) => ({ delivery, attempts: byDelivery.get(delivery.id) ?? [] }));
}

export async function findDelivery(
  executor: Executor,
  endpointId: string,
  id: string,
): Promise<WebhookDelivery | undefined> {
  const [row] = await executor
    .select()
    .from(webhookDeliveries)
    .where(and(eq(webhookDeliveries.endpointId, endpointId), eq(webhookDeliveries.id, id)));
  return row;
}

/** Makes a delivery due now, with all its attempts before it; the message keeps its ID. */
export async function sendAgain(tx: Transaction, id: string): Promise<void> {
  await tx
    .update(webhookDeliveries)
    .set({ status: 'pending', tries: 0, nextTryAt: sql`${nowMs}`, lockedUntil: 0 })
    .where(eq(webhookDeliveries.id, id));
}

export async function insertDelivery(tx: Transaction, row: typeof webhookDeliveries.$inferInsert): Promise<void> {
  await tx.insert(webhookDeliveries).values(row);
}

/** Forgets deliveries, with their attempts, that are older than a moment and wait for nothing. */
export async function dropDeliveries(executor: Executor, beforeMs: number): Promise<void> {
  await executor.execute(sql`
    DELETE FROM webhook_deliveries WHERE created_at < ${beforeMs} AND status <> 'pending'`);
}

export interface ClaimedDelivery {
  readonly id: string;
  readonly endpointId: string;
  readonly messageId: string;
  readonly body: string;
  readonly tries: number;
  readonly url: string;
  readonly secret: string;
  readonly previousSecret: string | null;
  readonly previousSecretUntil: number | null;
}

/**
 * Takes due deliveries for a sender, fairly: a few of each endpoint, however many wait for one of them.
 * @param full endpoints that this sender is busy with already
 */
export async function claimDeliveries(
  executor: Executor,
  {
    perEndpoint,
    limit,
    leaseMs,
    full,
  }: { perEndpoint: number; limit: number; leaseMs: number; full: readonly string[] },
): Promise<ClaimedDelivery[]> {
  const { rows } = await executor.execute<Record<string, string | number | null>>(sql`
    WITH RECURSIVE busy AS (
      (SELECT endpoint_id FROM webhook_deliveries WHERE status = 'pending' ORDER BY endpoint_id LIMIT 1)
      UNION ALL
      SELECT (SELECT d.endpoint_id FROM webhook_deliveries d WHERE d.status = 'pending' AND d.endpoint_id > busy.endpoint_id
        ORDER BY d.endpoint_id LIMIT 1) FROM busy WHERE busy.endpoint_id IS NOT NULL
    ), due AS (
      SELECT chosen.id FROM busy CROSS JOIN LATERAL (
        SELECT d.id FROM webhook_deliveries d
        WHERE d.status = 'pending' AND d.endpoint_id = busy.endpoint_id AND d.next_try_at <= ${nowMs} AND d.locked_until <= ${nowMs}
        ORDER BY d.next_try_at LIMIT ${perEndpoint} FOR UPDATE SKIP LOCKED) AS chosen
      WHERE busy.endpoint_id IS NOT NULL AND busy.endpoint_id <> ALL (${sql.param(full)}::text[])
      LIMIT ${limit}
    )
    UPDATE webhook_deliveries d SET locked_until = ${nowMs} + ${leaseMs}::bigint
    FROM due, webhook_endpoints e WHERE d.id = due.id AND e.id = d.endpoint_id
    RETURNING d.id, d.endpoint_id, d.message_id, d.body, d.tries, e.url, e.secret, e.previous_secret, e.previous_secret_until`);
  return rows.map((row) => ({
    id: String(row['id']),
    endpointId: String(row['endpoint_id']),
    messageId: String(row['message_id']),
    body: String(row['body']),
    tries: Number(row['tries']),
    url: String(row['url']),
    secret: String(row['secret']),
    previousSecret: row['previous_secret'] === null ? null : String(row['previous_secret']),
    previousSecretUntil: row['previous_secret_until'] === null ? null : Number(row['previous_secret_until']),
  }));
}

export interface DeliveredNote {
  readonly deliveryId: string;
  readonly endpointId: string;
  readonly at: number;
  readonly durationMs: number;
  readonly responseStatus: number;
  readonly responseBody: string | null;
}

/** How old an endpoint's last success may be before it is noted anew: most successes then change nothing of the endpoint. */
const SUCCESS_NOTED_MS = 60_000;

/** Notes deliveries that arrived, many in one statement. */
export async function noteDelivered(executor: Executor, notes: readonly DeliveredNote[]): Promise<void> {
  const column = (name: keyof DeliveredNote) => sql.param(notes.map((note) => note[name]));
  await executor.execute(sql`
    WITH done AS (
      SELECT * FROM unnest(${column('deliveryId')}::text[], ${column('endpointId')}::text[], ${column('at')}::bigint[],
        ${column('durationMs')}::integer[], ${column('responseStatus')}::integer[], ${column('responseBody')}::text[])
        AS d(id, endpoint_id, at, duration_ms, response_status, response_body)
    ), noted AS (
      INSERT INTO webhook_attempts (delivery_id, number, at, duration_ms, response_status, response_body)
      SELECT d.id, coalesce((SELECT max(a.number) FROM webhook_attempts a WHERE a.delivery_id = d.id), 0) + 1,
        d.at, d.duration_ms, d.response_status, d.response_body
      FROM done d WHERE EXISTS (SELECT 1 FROM webhook_deliveries w WHERE w.id = d.id)
    ), arrived AS (
      UPDATE webhook_deliveries w SET status = 'delivered', tries = w.tries + 1, locked_until = 0,
        response_status = d.response_status, delivered_at = d.at + d.duration_ms
      FROM done d WHERE w.id = d.id
    )
    UPDATE webhook_endpoints e SET consecutive_failures = 0, last_success_at = d.at
    FROM (SELECT endpoint_id, max(at) AS at FROM done GROUP BY endpoint_id) AS d
    WHERE e.id = d.endpoint_id AND (e.consecutive_failures > 0 OR e.last_success_at < d.at - ${SUCCESS_NOTED_MS})`);
}

/** Notes a failed attempt and how the delivery goes on. */
export async function noteAttempt(
  tx: Transaction,
  deliveryId: string,
  attempt: Omit<WebhookAttempt, 'deliveryId' | 'number'>,
  next: { readonly status: 'pending' | 'failed'; readonly nextTryAt: number | undefined },
): Promise<void> {
  await tx.execute(sql`
    INSERT INTO webhook_attempts (delivery_id, number, at, duration_ms, response_status, error, response_body)
    SELECT d.id, coalesce((SELECT max(a.number) FROM webhook_attempts a WHERE a.delivery_id = d.id), 0) + 1,
      ${attempt.at}, ${attempt.durationMs}, ${attempt.responseStatus}, ${attempt.error}, ${attempt.responseBody}
    FROM webhook_deliveries d WHERE d.id = ${deliveryId}`);
  await tx
    .update(webhookDeliveries)
    .set({
      status: sql`CASE WHEN ${webhookDeliveries.status} = 'pending' THEN ${next.status} ELSE ${webhookDeliveries.status} END`,
      tries: sql`${webhookDeliveries.tries} + 1`,
      lockedUntil: 0,
      responseStatus: attempt.responseStatus,
      ...(next.nextTryAt === undefined ? {} : { nextTryAt: next.nextTryAt }),
    })
    .where(eq(webhookDeliveries.id, deliveryId));
}
