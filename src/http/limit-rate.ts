import type { MiddlewareHandler } from 'hono';
import { monotonicMs } from '#src/platform/clock.ts';
import type { Env } from './env.ts';
import { OPEN_REQUESTS_PER_MINUTE, type RateLimiter, tooManyRequests } from './rate-limit.ts';

/** Open requests of one address that may come at once. */
const OPEN_BURST = 20;

/** Limits requests by their key, those without one by their address. @throws ApiError 429 `rate_limited` */
export function limitRate(rateLimiter: RateLimiter): MiddlewareHandler<Env> {
  return (c, next) => {
    const { scope, unlimited, requestsPerMinute: own, operationId } = c.get('operation');
    if (scope !== 'none') {
      const { keyId, requestsPerMinute } = c.get('caller');
      const state = rateLimiter.take(keyId, requestsPerMinute, monotonicMs());
      const headers = c.get('headers');
      headers['X-RateLimit-Limit'] = String(state.limit);
      headers['X-RateLimit-Remaining'] = String(state.remaining);
      headers['X-RateLimit-Reset'] = String(state.resetSeconds);
      if (state.retryAfterSeconds !== undefined)
        throw tooManyRequests(state.retryAfterSeconds, 'The request limit of this key is reached.');
    } else if (unlimited !== true) {
      const { address } = c.get('known');
      const { retryAfterSeconds } =
        own === undefined
          ? rateLimiter.take(`open:${address}`, OPEN_REQUESTS_PER_MINUTE, monotonicMs(), OPEN_BURST)
          : rateLimiter.take(`open:${operationId}:${address}`, own, monotonicMs());
      if (retryAfterSeconds !== undefined)
        throw tooManyRequests(retryAfterSeconds, 'Too many requests from this address.');
    }
    return next();
  };
}
