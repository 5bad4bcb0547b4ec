import { sql } from 'drizzle-orm';
import type { Pool } from 'pg';
import type { Database } from '#src/database/client.ts';
import { deleteInChunks } from '#src/database/in-chunks.ts';
import { monotonicMs } from '#src/platform/clock.ts';
import type { RateLimiter } from './rate-limit.ts';

/** How often processes exchange what was used: the most that a limit is overshot is what comes in this time. */
export const EXCHANGE_MS = 250;

/**
 * Adds what this process used of each key to what all used, and takes over the sum. Processes have clocks of their own: what
 * they share is how long a quota takes to be full again, by the database's clock. Were that one set back, nothing has passed since. Keys are hashed already where they are secret.
 */
export async function exchangeRateLimits(pool: Pool, limiter: RateLimiter): Promise<void> {
  const used = limiter.drainUsed();
  if (used.size === 0) return;
  const sorted = [...used].toSorted(([left], [right]) => (left < right ? -1 : 1));
  const { rows } = await pool.query<{ key: string; remaining_ms: string }>({
    name: 'share_rate_limits',
    text: `WITH clock AS MATERIALIZED (SELECT now_ms() AS now)
      INSERT INTO rate_limits AS r (key, full_at, noted_at)
      SELECT key, clock.now + used, clock.now FROM clock, unnest($1::text[], $2::double precision[]) AS u (key, used)
      ON CONFLICT (key) DO UPDATE SET noted_at = excluded.noted_at,
        full_at = greatest(r.full_at - greatest((SELECT now FROM clock), r.noted_at), 0) + excluded.full_at
      RETURNING key, full_at - (SELECT now FROM clock) AS remaining_ms`,
    values: [sorted.map(([key]) => key), sorted.map(([, ms]) => ms)],
  });
  const nowMs = monotonicMs();
  for (const { key, remaining_ms } of rows) limiter.adopt(key, nowMs + Number(remaining_ms));
}

export async function forgetFullQuotas(db: Database): Promise<void> {
  await deleteInChunks(db, 'rate_limits', sql`full_at < now_ms()`);
}
