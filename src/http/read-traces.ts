import { sql } from 'drizzle-orm';
import type { Database } from '#src/database/client.ts';

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
