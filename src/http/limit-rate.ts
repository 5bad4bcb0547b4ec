import type { MiddlewareHandler } from 'hono';
import { monotonicMs } from '#src/platform/clock.ts';
import { isKeyless } from './caller.ts';
import type { Env } from './env.ts';
import { OPEN_REQUESTS_PER_MINUTE, type RateLimiter, tooManyRequests } from './rate-limit.ts';

/** Open requests of one address that may come at once. */
const OPEN_BURST = 20;
const FROM_ADDRESS = 'Too many requests from this address.';

/** @returns the seconds to wait where the address has used up its quota */
const takeFromAddress = (rateLimiter: RateLimiter, address: string | undefined): number | undefined =>
  rateLimiter.take(`open:${address}`, OPEN_REQUESTS_PER_MINUTE, monotonicMs(), OPEN_BURST).retryAfterSeconds;

/**
 * Limits requests by their key, those without one by their address. A log key is in the hands of many voters: each address
 * has its own share as well, so that one of them does not use up the key for all. @throws ApiError 429 `rate_limited`
 */
export function limitRate(rateLimiter: RateLimiter): MiddlewareHandler<Env> {
  return (c, next) => {
    const { scope, unlimited, requestsPerMinute: own, operationId } = c.get('operation');
    if (scope !== 'none' && !isKeyless(c.get('caller'))) {
      const { keyId, requestsPerMinute, scopes } = c.get('caller');
      const busy = scopes.includes('log') ? takeFromAddress(rateLimiter, c.get('known').address) : undefined;
      const state = rateLimiter[busy === undefined ? 'take' : 'look'](keyId, requestsPerMinute, monotonicMs());
      const headers = c.get('headers');
      headers['X-RateLimit-Limit'] = String(state.limit);
      headers['X-RateLimit-Remaining'] = String(state.remaining);
      headers['X-RateLimit-Reset'] = String(state.resetSeconds);
      if (busy !== undefined) throw tooManyRequests(busy, FROM_ADDRESS);
      if (state.retryAfterSeconds !== undefined)
        throw tooManyRequests(state.retryAfterSeconds, 'The request limit of this key is reached.');
    } else if (unlimited !== true) {
      const { address } = c.get('known');
      const retryAfterSeconds =
        own === undefined
          ? takeFromAddress(rateLimiter, address)
          : rateLimiter.take(`open:${operationId}:${address}`, own, monotonicMs()).retryAfterSeconds;
      if (retryAfterSeconds !== undefined) throw tooManyRequests(retryAfterSeconds, FROM_ADDRESS);
    }
    return next();
  };
}
