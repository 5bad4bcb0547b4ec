import { sql } from 'drizzle-orm';
import { type Database, inTransaction, valuesOf } from '#src/database/client.ts';
import { orNotFound } from '#src/platform/errors.ts';
import { retryDelivery } from './change-endpoint.ts';
import type { WebhookAttempt, WebhookDelivery, WebhookEndpoint } from './webhook-endpoint.ts';

/** A delivery of any account, with its endpoint and its last attempts. */
export interface NewestDelivery
  extends Pick<
    WebhookDelivery,
    'id' | 'endpointId' | 'messageId' | 'eventType' | 'status' | 'nextTryAt' | 'createdAt'
  > {
  readonly url: string;
  readonly accountId: string;
  readonly endpointStatus: WebhookEndpoint['status'];
  /** Number of all attempts. `attempts` has only the last five, oldest first. */
  readonly attemptCount: number;
  readonly attempts: readonly Omit<WebhookAttempt, 'deliveryId'>[];
}

const MOST_ATTEMPTS = 5;

/** For the operator: the newest deliveries of all endpoints together, newest first. */
export async function listNewestDeliveries(db: Database, limit: number): Promise<NewestDelivery[]> {
  const { rows } = await db.execute<{ delivery: NewestDelivery }>(sql`
    SELECT json_build_object('id', d.id, 'endpointId', d.endpoint_id, 'messageId', d.message_id, 'eventType', d.event_type,
      'status', d.status, 'nextTryAt', d.next_try_at, 'createdAt', d.created_at, 'url', e.url, 'accountId', e.account_id,
      'endpointStatus', e.status,
      'attemptCount', (SELECT count(*) FROM webhook_attempts a WHERE a.delivery_id = d.id),
      'attempts', coalesce((
        SELECT json_agg(json_build_object('number', a.number, 'at', a.at, 'durationMs', a.duration_ms,
          'responseStatus', a.response_status, 'error', a.error, 'responseBody', a.response_body) ORDER BY a.number)
        FROM (SELECT * FROM webhook_attempts l WHERE l.delivery_id = d.id ORDER BY l.number DESC LIMIT ${MOST_ATTEMPTS}) AS a
      ), '[]')) AS delivery
    FROM webhook_endpoints e CROSS JOIN LATERAL (
      SELECT * FROM webhook_deliveries w WHERE w.endpoint_id = e.id ORDER BY w.id DESC LIMIT ${limit}) AS d
    ORDER BY d.id DESC LIMIT ${limit}`);
  return rows.map(({ delivery }) => delivery);
}

/** Sends a message again, whatever its status. @throws ApiError `not_found`, 409 `endpoint_disabled` */
export async function resendMessage(db: Database, endpointId: string, messageId: string): Promise<void> {
  await inTransaction(db, async (tx) => {
    const [id] = await valuesOf<string>(
      tx,
      sql`SELECT id FROM webhook_deliveries WHERE endpoint_id = ${endpointId} AND message_id = ${messageId}`,
    );
    await retryDelivery(tx, endpointId, orNotFound(id));
  });
}
