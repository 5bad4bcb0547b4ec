import { sql } from 'drizzle-orm';
import type { Pool } from 'pg';
import type { Database } from '#src/database/client.ts';
import { monotonicMs } from '#src/platform/clock.ts';
import type { TraceableRequest } from './errors.ts';

/** A request that took longer is kept though it was not refused. */
const SLOW_MS = 1_000;
/** How many are kept; the oldest go first. */
export const KEPT_REQUESTS = 10_000;
/** What one process adds in a second, so that a flood of refusals costs little. */
const MOST_A_FLUSH = 200;

/**
 * Keeps the last refused and slow requests of all processes, so that a refusal can be explained from its request ID:
 * what the log says of them, and no value that was sent. Never checks, casts and confirms: their moments would show who voted when.
 */
export class RequestTraces {
  readonly #pool: Pool;
  #noted: (Omit<TraceableRequest, 'untraced'> & { readonly endedAt: number })[] = [];

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  note({ untraced, ...request }: TraceableRequest): void {
    const isKept = request.status >= 400 || request.ms >= SLOW_MS;
    if (!isKept || untraced || this.#noted.length >= MOST_A_FLUSH) return;
    this.#noted.push({ ...request, endedAt: monotonicMs() });
  }

  /** Writes down what was noted since the last time. What cannot be written is lost: the log has it. */
  async flush(): Promise<void> {
    if (this.#noted.length === 0) return;
    const noted = this.#noted;
    this.#noted = [];
    const nowMs = monotonicMs();
    const rows = noted.map((one) => ({
      request_id: one.requestId,
      age: Math.round(nowMs - one.endedAt),
      account_id: one.accountId,
      key_hint: one.keyHint,
      method: one.method,
      route: one.route,
      status: one.status,
      ms: one.ms,
      code: one.code,
      reason: typeof one.reason === 'string' ? one.reason : undefined,
    }));
    await this.#pool.query({
      name: 'keep_request_traces',
      text: `WITH added AS (
          INSERT INTO request_traces (request_id, at, account_id, key_hint, method, route, status, code, reason, ms)
          SELECT request_id, now_ms() - age, account_id, key_hint, method, route, status, code, reason, ms
          FROM json_to_recordset($1) AS r (request_id text, age bigint, account_id text, key_hint text, method text, route text,
            status smallint, code text, reason text, ms real)
          ON CONFLICT DO NOTHING)
        DELETE FROM request_traces WHERE at <= (SELECT at FROM request_traces ORDER BY at DESC OFFSET $2 LIMIT 1)`,
      // The statement sees the table as it was before the new ones.
      values: [JSON.stringify(rows), KEPT_REQUESTS - rows.length],
    });
  }
}

/** A refused or slow request, as it was answered. */
export interface RequestTrace extends Record<string, unknown> {
  readonly requestId: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly accountId: string | null;
  /** The beginning and the end of the key. */
  readonly keyHint: string | null;
  readonly method: string;
  /** The pattern of its address. */
  readonly route: string | null;
  readonly status: number;
  readonly code: string | null;
  readonly reason: string | null;
  readonly ms: number;
}

/** @param requestId as `X-Request-Id` said it; left out: of all, the newest first */
export async function readTraces(
  db: Database,
  { requestId, limit }: { readonly requestId?: string; readonly limit: number },
): Promise<RequestTrace[]> {
  const { rows } = await db.execute<RequestTrace & { at: string }>(sql`
    SELECT request_id AS "requestId", at::text, account_id AS "accountId", key_hint AS "keyHint", method, route, status, code,
      reason, ms
    FROM request_traces r WHERE ${requestId ?? null}::text IS NULL OR request_id = ${requestId ?? null}
    ORDER BY r.at DESC LIMIT ${limit}`);
  return rows.map((row) => ({ ...row, at: Number(row.at) }));
}
