import { and, eq, lt, sql } from 'drizzle-orm';
import type { Pool } from 'pg';
import { type Database, type Executor, runNamed, type Transaction } from '#src/database/client.ts';
import { DAY_MS } from '#src/platform/clock.ts';
import { FAILURES_TO_PROBE } from './endpoint-queue.ts';
import { webhookDeliveries, webhookEndpoints } from './tables.ts';
import type { WebhookAttempt, WebhookDelivery, WebhookEndpoint } from './webhook-endpoint.ts';

/** Most accounts that get a first endpoint held although the sender has no room left. */
const MOST_FIRST = 1_000;

// `free` numbers the endpoints that each account holds or could hold, failing ones last: the first of each account comes before a second.
// `waiting` reads each endpoint's first delivery from the index. `(SELECT now_ms())` is evaluated once and can bound an index scan.
const HOLD_DUE = `
  WITH RECURSIVE waiting AS (
    (SELECT endpoint_id, next_try_at FROM webhook_deliveries WHERE status = 'pending' ORDER BY endpoint_id, next_try_at LIMIT 1)
    UNION ALL
    SELECT n.endpoint_id, n.next_try_at FROM waiting w CROSS JOIN LATERAL (
      SELECT d.endpoint_id, d.next_try_at FROM webhook_deliveries d WHERE d.status = 'pending' AND d.endpoint_id > w.endpoint_id
      ORDER BY d.endpoint_id, d.next_try_at LIMIT 1) AS n
  ), due AS (
    SELECT endpoint_id, next_try_at FROM waiting WHERE next_try_at <= (SELECT now_ms())
  ), free AS (
    SELECT due.*, coalesce(o.held, 0) + row_number() OVER (
      PARTITION BY e.account_id ORDER BY e.consecutive_failures >= ${FAILURES_TO_PROBE}, due.next_try_at) AS turn
    FROM due JOIN webhook_endpoints e ON e.id = due.endpoint_id AND e.status = 'active'
    LEFT JOIN (SELECT account_id, count(*) AS held FROM webhook_endpoints WHERE id = ANY ($2::text[]) GROUP BY account_id) AS o USING (account_id)
    WHERE due.endpoint_id <> ALL ($2::text[] || $7::text[]) AND NOT EXISTS (
      SELECT 1 FROM webhook_holds h WHERE h.endpoint_id = due.endpoint_id AND h.holder <> $1 AND h.held_until > (SELECT now_ms()))
  ), wanted AS (
    SELECT endpoint_id FROM (SELECT *, row_number() OVER (ORDER BY turn, next_try_at) AS place FROM free) AS f
    WHERE place <= $4::integer OR (turn = 1 AND place <= $4::integer + ${MOST_FIRST})
  ), rested AS (
    UPDATE webhook_holds h SET holder = '', held_until = now_ms() + l.rest_ms
    FROM unnest($7::text[], $8::bigint[]) AS l (endpoint_id, rest_ms) WHERE h.endpoint_id = l.endpoint_id AND h.holder = $1
  ), held AS (
    INSERT INTO webhook_holds AS h (endpoint_id, holder, held_until)
    SELECT endpoint_id, $1, now_ms() + $5::bigint FROM (SELECT endpoint_id FROM wanted UNION SELECT unnest($3::text[])) AS w (endpoint_id)
    ORDER BY endpoint_id
    ON CONFLICT (endpoint_id) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
    WHERE h.holder = excluded.holder OR h.held_until <= now_ms()
    RETURNING endpoint_id
  )
  SELECT endpoint_id, 'held' AS what, e.account_id, e.consecutive_failures AS failures, NULL::bigint AS version
  FROM held JOIN webhook_endpoints e ON e.id = held.endpoint_id
  UNION ALL SELECT endpoint_id, 'due', NULL, NULL, NULL FROM due WHERE endpoint_id = ANY ($2::text[])
  UNION ALL SELECT id, 'active', NULL, NULL, updated_at FROM webhook_endpoints WHERE id = ANY ($6::text[]) AND status = 'active'
  UNION ALL (SELECT '', 'any', NULL, NULL, NULL FROM webhook_endpoints LIMIT 1)`;

interface HoldRequest {
  readonly holder: string;
  readonly holdMs: number;
  /** Endpoints that this sender holds (has leased). */
  readonly held: readonly string[];
  /** Held endpoints whose hold ends soon and must be renewed. */
  readonly renewed: readonly string[];
  /** Held endpoints with deliveries that were read but not sent yet. */
  readonly read: readonly string[];
  /** Endpoints that this sender releases, with the ms that each must rest. */
  readonly left: ReadonlyMap<string, number>;
  /** How many more endpoints the sender can hold; negative if it holds too many. */
  readonly limit: number;
}

interface HoldRow {
  readonly endpoint_id: string;
  readonly what: 'held' | 'due' | 'active' | 'any';
  readonly account_id: string | null;
  readonly failures: number | null;
  readonly version: string | null;
}

/** Takes holds on due endpoints that no other sender holds, one account after the other; renews `renewed`, and releases `left`. */
export async function holdDueEndpoints(pool: Pool, request: HoldRequest) {
  const { holder, held, renewed, read, left, limit, holdMs } = request;
  const values = [holder, held, renewed, limit, holdMs, read, [...left.keys()], [...left.values()]];
  const rows = await runNamed<HoldRow>(pool, 'hold_due_endpoints', HOLD_DUE, values);
  const named = (wanted: HoldRow['what']) => rows.filter(({ what }) => what === wanted);
  return {
    /** Endpoints whose hold this sender took or renewed. */
    taken: named('held').map(({ endpoint_id, account_id, failures }) => ({
      endpointId: endpoint_id,
      accountId: account_id ?? '',
      failures: failures ?? 0,
    })),
    /** Endpoints of `held` with due deliveries. */
    due: named('due').map(({ endpoint_id }) => endpoint_id),
    /** Current version of each active endpoint in `read`, by its ID. */
    versions: new Map(named('active').map(({ endpoint_id, version }) => [endpoint_id, Number(version)])),
    hasEndpoints: named('any').length > 0,
  };
}

/** Releases all holds of a sender, so that another sender continues at once. */
export async function releaseHolds(pool: Pool, holder: string): Promise<void> {
  await pool.query('DELETE FROM webhook_holds WHERE holder = $1', [holder]);
}

const DUE = `
  SELECT d.id, d.endpoint_id AS "endpointId", d.message_id AS "messageId", d.body, d.tries, e.url, e.secret,
    e.earlier_secrets AS "earlierSecrets", e.updated_at AS "endpointVersion"
  FROM unnest($1::text[], $2::integer[]) AS l (endpoint_id, places)
  JOIN webhook_endpoints e ON e.id = l.endpoint_id AND e.status = 'active'
  CROSS JOIN LATERAL (
    SELECT w.* FROM webhook_deliveries w
    WHERE w.status = 'pending' AND w.endpoint_id = l.endpoint_id AND w.next_try_at <= (SELECT now_ms())
      AND (w.person_id IS NULL OR EXISTS (SELECT 1 FROM voting_events v WHERE v.id = w.person_event_id AND v.deleted_at IS NULL))
    ORDER BY w.next_try_at LIMIT l.places) AS d`;

export interface DueDelivery
  extends Pick<WebhookDelivery, 'id' | 'endpointId' | 'messageId' | 'body' | 'tries'>,
    Pick<WebhookEndpoint, 'url' | 'secret' | 'earlierSecrets'> {
  /** Changes with the endpoint's address, secret and status. */
  readonly endpointVersion: number;
}

/** The earliest due deliveries, including deliveries under way. @param places the limit of each endpoint */
export async function listDue(pool: Pool, places: ReadonlyMap<string, number>): Promise<DueDelivery[]> {
  const rows = await runNamed<DueDelivery>(pool, 'list_due_deliveries', DUE, [
    [...places.keys()],
    [...places.values()],
  ]);
  // The driver returns bigint as text.
  return rows.map((row) => ({ ...row, endpointVersion: Number(row.endpointVersion) }));
}

export interface DeliveredNote extends Pick<WebhookAttempt, 'deliveryId' | 'at' | 'durationMs' | 'responseBody'> {
  readonly endpointId: string;
  readonly responseStatus: number;
}

/** A success updates the endpoint's row only after failures, or if `last_success_at` is older than this, so that most write nothing. */
const SUCCESS_NOTED_MS = 60_000;

const NOTE_DELIVERED = `
  WITH done AS (
    SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::integer[], $5::integer[], $6::text[])
      AS d (id, endpoint_id, at, duration_ms, response_status, response_body)
  ), arrived AS (
    UPDATE webhook_deliveries w SET status = 'delivered', tries = w.tries + 1,
      response_status = d.response_status, delivered_at = d.at + d.duration_ms
    FROM done d WHERE w.endpoint_id = d.endpoint_id AND w.id = d.id RETURNING w.id, w.body = '' AS erased
  ), noted AS (
    INSERT INTO webhook_attempts (delivery_id, number, at, duration_ms, response_status, response_body)
    SELECT d.id, coalesce((SELECT max(a.number) FROM webhook_attempts a WHERE a.delivery_id = d.id), 0) + 1,
      d.at, d.duration_ms, d.response_status, CASE WHEN NOT erased THEN d.response_body END
    FROM done d JOIN arrived USING (id)
  )
  UPDATE webhook_endpoints e SET consecutive_failures = 0, last_success_at = d.at
  FROM (SELECT endpoint_id, max(at) AS at FROM done GROUP BY endpoint_id) AS d
  WHERE e.id = d.endpoint_id AND (e.consecutive_failures > 0 OR e.last_success_at < d.at - ${SUCCESS_NOTED_MS})`;

/** Stores successful deliveries, many in one statement. */
export async function noteDelivered(pool: Pool, notes: readonly DeliveredNote[]): Promise<void> {
  // This is no prepared statement, so that each run is planned for the present size of the table. Batches are few, so planning is cheap.
  await pool.query(NOTE_DELIVERED, [
    notes.map(({ deliveryId }) => deliveryId),
    notes.map(({ endpointId }) => endpointId),
    notes.map(({ at }) => at),
    notes.map(({ durationMs }) => durationMs),
    notes.map(({ responseStatus }) => responseStatus),
    notes.map(({ responseBody }) => responseBody),
  ]);
}

/** Stores a failed attempt and the next status of its delivery. If another sender has delivered it meanwhile, it stays `delivered`. */
export async function noteFailedAttempt(
  tx: Transaction,
  { endpointId, deliveryId, ...attempt }: Omit<WebhookAttempt, 'number'> & { readonly endpointId: string },
  next: { readonly status: 'pending' | 'failed'; readonly nextTryAt: number | undefined },
): Promise<void> {
  const { at, durationMs, responseStatus, error, responseBody } = attempt;
  await tx.execute(sql`
    INSERT INTO webhook_attempts (delivery_id, number, at, duration_ms, response_status, error, response_body)
    SELECT d.id, coalesce((SELECT max(a.number) FROM webhook_attempts a WHERE a.delivery_id = d.id), 0) + 1,
      ${at}, ${durationMs}, ${responseStatus}, ${error}, CASE WHEN d.body <> '' THEN ${responseBody} END
    FROM webhook_deliveries d WHERE d.endpoint_id = ${endpointId} AND d.id = ${deliveryId}`);
  const { status, tries } = webhookDeliveries;
  await tx
    .update(webhookDeliveries)
    .set({
      status: sql`CASE WHEN ${status} = 'pending' THEN ${next.status} ELSE ${status} END`,
      tries: sql`${tries} + 1`,
      responseStatus,
      ...(next.nextTryAt === undefined ? {} : { nextTryAt: next.nextTryAt }),
    })
    .where(and(eq(webhookDeliveries.endpointId, endpointId), eq(webhookDeliveries.id, deliveryId)));
}

/**
 * Deletes up to `limit` deliveries of one endpoint, with their attempts: deliveries older than a moment, or of any age if the
 * endpoint was deleted.
 * @param afterEndpoint each call processes the first endpoint after this ID that has deliveries
 * @returns the endpoint and the number of deleted deliveries; undefined after the last endpoint
 */
async function dropDeliveries(executor: Executor, afterEndpoint: string, beforeMs: number, limit: number) {
  const { rows } = await executor.execute<{ endpointId: string; dropped: string }>(sql`
    WITH next AS (
      -- until bounds the index: with an OR all deliveries of the endpoint would be read. Every ID is below 'whe'.
      SELECT n.endpoint_id, CASE WHEN EXISTS (SELECT 1 FROM webhook_endpoints e WHERE e.id = n.endpoint_id)
        THEN 'whd_' || sortable_time(${beforeMs}::bigint) ELSE 'whe' END AS until
      FROM (SELECT endpoint_id FROM webhook_deliveries WHERE endpoint_id > ${afterEndpoint} ORDER BY endpoint_id LIMIT 1) AS n
    ), old AS (
      DELETE FROM webhook_deliveries d USING (
        SELECT o.endpoint_id, o.id FROM next CROSS JOIN LATERAL (
          SELECT w.endpoint_id, w.id FROM webhook_deliveries w
          WHERE w.endpoint_id = next.endpoint_id AND w.id < next.until ORDER BY w.id LIMIT ${limit}) AS o) AS o
      WHERE d.endpoint_id = o.endpoint_id AND d.id = o.id RETURNING d.id
    ), attempts AS (
      DELETE FROM webhook_attempts a USING old WHERE a.delivery_id = old.id
    )
    SELECT next.endpoint_id AS "endpointId", (SELECT count(*) FROM old) AS dropped FROM next`);
  const [row] = rows;
  return row === undefined ? undefined : { ...row, dropped: Number(row.dropped) };
}

/** Attempts and payloads of webhooks are kept this long. */
const HISTORY_MS = 30 * DAY_MS;
/** How long an endpoint is kept after its event was deleted. It receives late refunds, with time for every attempt. */
const RETIRED_MS = 14 * DAY_MS;
/** Most rows that one statement deletes, so that it stays well within its time limit. */
const CHUNK = 1_000;

/** Deletes retired endpoints, expired holds, and deliveries that are older than `HISTORY_MS` or of deleted endpoints. */
export async function forgetDeliveries(db: Database, nowMs: number): Promise<void> {
  await db.delete(webhookEndpoints).where(lt(webhookEndpoints.retiredAt, nowMs - RETIRED_MS));
  await db.execute(sql`DELETE FROM webhook_holds WHERE held_until < now_ms()`);
  let after = '';
  for (;;) {
    const step = await dropDeliveries(db, after, nowMs - HISTORY_MS, CHUNK);
    if (step === undefined) return;
    if (step.dropped < CHUNK) after = step.endpointId;
  }
}
