import { sql } from 'drizzle-orm';
import type { Pool } from 'pg';
import type { Database } from '#src/database/client.ts';
import { deleteInChunks } from '#src/database/in-chunks.ts';
import { monotonicMs } from '#src/platform/clock.ts';
import { ApiError } from '#src/platform/errors.ts';
import { RecentMap } from '#src/platform/recent-map.ts';

const BURST_SECONDS = 10;
/** The limit of an address that sends no key. */
export const OPEN_REQUESTS_PER_MINUTE = 20 * 60;
const MAX_TRACKED = 50_000;

const ADDRESS_KINDS = /^(?:open|failed|asked):/;

/**
 * GCRA in memory: for each key the time at which its quota would be full again ("theoretical arrival time").
 * Times are of a clock that only goes forward (`monotonicMs`): a wall clock that is set back would refuse everybody until it
 * has caught up. No request waits for the database: processes exchange their usage in the background.
 */
export class RateLimiter {
  readonly #ofKeys = new RecentMap<number>(MAX_TRACKED);
  /** Separate from the keys, so that a flood from many addresses evicts other addresses, but no key. */
  readonly #ofAddresses = new RecentMap<number>(MAX_TRACKED);
  readonly #usedMs = new Map<string, number>();

  get tracked(): number {
    return this.#ofKeys.size + this.#ofAddresses.size;
  }

  #quotasOf(key: string): RecentMap<number> {
    return ADDRESS_KINDS.test(key) ? this.#ofAddresses : this.#ofKeys;
  }

  /** Takes one request from a key's quota, or refuses it without taking. */
  take(key: string, perMinute: number, nowMs: number, burst = burstOf(perMinute)) {
    const state = this.look(key, perMinute, nowMs, burst);
    if (state.retryAfterSeconds !== undefined) return state;
    const intervalMs = 60_000 / perMinute;
    const quotas = this.#quotasOf(key);
    quotas.set(key, Math.max(quotas.get(key) ?? nowMs, nowMs) + intervalMs);
    // Usage that is not recorded for the exchange only lets other processes admit a little more.
    if (this.#usedMs.size < 2 * MAX_TRACKED) this.#usedMs.set(key, (this.#usedMs.get(key) ?? 0) + intervalMs);
    return state;
  }

  /** What `take` would return, without taking from the quota. */
  look(key: string, perMinute: number, nowMs: number, burst = burstOf(perMinute)) {
    const intervalMs = 60_000 / perMinute;
    const burstMs = intervalMs * burst;
    const fullAt = Math.max(this.#quotasOf(key).get(key) ?? nowMs, nowMs);
    const next = fullAt + intervalMs;
    const refused = next - nowMs > burstMs + 1e-6;
    const usedMs = (refused ? fullAt : next) - nowMs;
    return {
      limit: perMinute,
      remaining: Math.max(0, Math.floor((burstMs - usedMs) / intervalMs + 1e-6)),
      /** Whole seconds until the quota is full again. */
      resetSeconds: Math.ceil(usedMs / 1_000),
      retryAfterSeconds: refused ? Math.max(1, Math.ceil((next - nowMs - burstMs) / 1_000)) : undefined,
    };
  }

  /** Returns and resets the usage since the last call, for the other processes. */
  drainUsed(): Map<string, number> {
    const used = new Map(this.#usedMs);
    this.#usedMs.clear();
    return used;
  }

  /** Raises a key's usage to that of all processes together. */
  adopt(key: string, fullAtMs: number): void {
    const quotas = this.#quotasOf(key);
    quotas.set(key, Math.max(fullAtMs, quotas.get(key) ?? 0));
  }
}

function burstOf(perMinute: number): number {
  return Math.max(1, Math.floor((perMinute * BURST_SECONDS) / 60));
}

export function tooManyRequests(retryAfterSeconds: number, what: string): ApiError {
  return new ApiError('rate_limited', `${what} Try again in ${retryAfterSeconds} s.`, undefined, retryAfterSeconds);
}

/** How often processes exchange their usage: a limit is exceeded by no more than the requests of this time. */
export const EXCHANGE_MS = 250;

/**
 * Adds this process's usage of each key to that of all, and adopts the sum. Clocks of processes differ, so the table says when a
 * quota is full again by the database's clock; if that clock is set back, no time counts as passed. Secret keys come as hashes.
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
