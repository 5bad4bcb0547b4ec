import type { Pool } from 'pg';
import { type Log, summariseFault } from '#src/platform/log.ts';
import type { RateLimiter } from './rate-limit.ts';

/** How often processes tell each other what was used: the most that a limit is overshot is what comes in this time. */
const EXCHANGE_MS = 250;

type Row = { key: string; full_at: string };

/** Adds what this process used of each key to what all used, and takes over the sum. Keys are hashed already where they are secret. */
async function exchange(pool: Pool, limiter: RateLimiter, nowMs: number): Promise<void> {
  const used = limiter.drainUsed();
  if (used.size === 0) return;
  const sorted = [...used].toSorted(([left], [right]) => (left < right ? -1 : 1));
  const { rows } = await pool.query<Row>({
    name: 'share_rate_limits',
    text: `INSERT INTO rate_limits AS r (key, full_at)
      SELECT key, $3::double precision + used FROM unnest($1::text[], $2::double precision[]) AS u (key, used)
      ON CONFLICT (key) DO UPDATE SET full_at = greatest(r.full_at, $3) + (excluded.full_at - $3)
      RETURNING key, full_at`,
    values: [sorted.map(([key]) => key), sorted.map(([, ms]) => ms), nowMs],
  });
  for (const { key, full_at } of rows) limiter.adopt(key, Number(full_at));
}

/** Shares the limits of one process with the others, in the background: no request waits for it. */
export function shareRateLimits(pool: Pool, limiter: RateLimiter, now: () => number, log: Log): { stop(): void } {
  let running = false;
  const timer = setInterval(() => {
    if (running) return;
    running = true;
    exchange(pool, limiter, now())
      .catch((fault: unknown) => log.warn({ fault: summariseFault(fault) }, 'rate limits were not shared'))
      .finally(() => {
        running = false;
      });
  }, EXCHANGE_MS);
  return { stop: () => clearInterval(timer) };
}

/** Removes keys whose quota is full again. */
export async function forgetFullQuotas(pool: Pool, nowMs: number): Promise<void> {
  await pool.query('DELETE FROM rate_limits WHERE full_at < $1', [nowMs]);
}
