import { sql } from 'drizzle-orm';
import type { Pool } from 'pg';
import type { Database } from '#src/database/client.ts';
import { monotonicMs } from '#src/platform/clock.ts';
import type { TraceableRequest } from './errors.ts';

/** A request that took longer than this is recorded even if it was not refused. */
const SLOW_MS = 1_000;
/** Most requests that are recorded; the oldest are deleted first. */
export const KEPT_REQUESTS = 10_000;
/** Most requests that one process records per flush (a second), so that a flood of refusals costs little. */
const MOST_A_FLUSH = 200;

/**
 * Records the last refused and slow requests of all processes, so that an operator can explain a refusal from its request ID. The
 * record holds fields of the log line and no value that was sent. Checks, casts and confirms are left out: their times show who voted when.
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

  /** Inserts the requests recorded since the last flush. If the insert fails, only the log has these requests. */
  async flush(): Promise<void> {
    if (this.#noted.length === 0) return;
    const noted = this.#noted;
    this.#noted = [];
    const nowMs = monotonicMs();
    const rows = noted.map(({ endedAt, reason, ...one }) => ({
      ...one,
      age: Math.round(nowMs - endedAt),
      reason: typeof reason === 'string' ? reason : undefined,
    }));
    await this.#pool.query({
      name: 'keep_request_traces',
      text: `WITH added AS (
          INSERT INTO request_traces (request_id, at, account_id, key_hint, method, route, status, code, reason, ms)
          SELECT "requestId", now_ms() - age, "accountId", "keyHint", method, route, status, code, reason, ms
          FROM json_to_recordset($1) AS r ("requestId" text, age bigint, "accountId" text, "keyHint" text, method text,
            route text, status smallint, code text, reason text, ms real)
          ON CONFLICT DO NOTHING)
        DELETE FROM request_traces WHERE at <= (SELECT at FROM request_traces ORDER BY at DESC OFFSET $2 LIMIT 1)`,
      // The DELETE sees the table without the rows that the same statement inserts.
      values: [JSON.stringify(rows), KEPT_REQUESTS - rows.length],
    });
  }
}

export interface RequestTrace extends Record<string, unknown> {
  readonly requestId: string;
  /** Unix milliseconds. */
  readonly at: number;
  readonly accountId: string | null;
  /** The first and last characters of the API key. */
  readonly keyHint: string | null;
  readonly method: string;
  /** The pattern of its route. */
  readonly route: string | null;
  readonly status: number;
  readonly code: string | null;
  readonly reason: string | null;
  readonly ms: number;
}

/** Newest first. @param requestId the value of `X-Request-Id`; all requests when left out */
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
