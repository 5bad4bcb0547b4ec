import { ApiError } from '#src/platform/errors.ts';

/** The burst is ten seconds of the sustained rate. */
const BURST_SECONDS = 10;
const MAX_TRACKED = 50_000;

export interface RateState {
  readonly limit: number;
  readonly remaining: number;
  /** Whole seconds until the quota is full again. */
  readonly resetSeconds: number;
  readonly retryAfterSeconds: number | undefined;
}

/**
 * GCRA in memory: for each key the time at which its quota would be full again ("theoretical arrival time").
 * No database in the request; processes that share keys exchange what they used in the background.
 */
export class RateLimiter {
  readonly #fullAtMs = new Map<string, number>();
  readonly #usedMs = new Map<string, number>();

  /** Takes one request from a key's quota, or refuses it without taking. */
  take(
    key: string,
    perMinute: number,
    nowMs: number,
    burst = Math.max(1, Math.floor((perMinute * BURST_SECONDS) / 60)),
  ): RateState {
    const intervalMs = 60_000 / perMinute;
    const burstMs = intervalMs * burst;
    const fullAt = Math.max(this.#fullAtMs.get(key) ?? nowMs, nowMs);
    const next = fullAt + intervalMs;
    const refused = next - nowMs > burstMs + 1e-6;
    if (!refused) {
      if (this.#fullAtMs.size >= MAX_TRACKED) this.#forget(nowMs);
      this.#fullAtMs.set(key, next);
      this.#usedMs.set(key, (this.#usedMs.get(key) ?? 0) + intervalMs);
    }
    const usedMs = (refused ? fullAt : next) - nowMs;
    return {
      limit: perMinute,
      remaining: Math.max(0, Math.floor((burstMs - usedMs) / intervalMs + 1e-6)),
      resetSeconds: Math.ceil(usedMs / 1_000),
      retryAfterSeconds: refused ? Math.max(1, Math.ceil((next - nowMs - burstMs) / 1_000)) : undefined,
    };
  }

  /** What was used since the last call, for the other processes. */
  drainUsed(): Map<string, number> {
    const used = new Map(this.#usedMs);
    this.#usedMs.clear();
    return used;
  }

  /** Takes over what all processes together used of a key. */
  adopt(key: string, fullAtMs: number): void {
    this.#fullAtMs.set(key, Math.max(fullAtMs, this.#fullAtMs.get(key) ?? 0));
  }

  #forget(nowMs: number): void {
    for (const [key, fullAt] of this.#fullAtMs) if (fullAt <= nowMs) this.#fullAtMs.delete(key);
  }
}

export function tooManyRequests(retryAfterSeconds: number, what: string): ApiError {
  return new ApiError('rate_limited', `${what} Try again in ${retryAfterSeconds} s.`, undefined, retryAfterSeconds);
}
