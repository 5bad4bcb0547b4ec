import type { MiddlewareHandler } from 'hono';
import type { Caller } from './caller.ts';
import { addressOf } from './client-address.ts';
import type { Env } from './env.ts';
import { OPEN_REQUESTS_PER_MINUTE, type RateLimiter } from './rate-limit.ts';
import { type Authentication, WrongKeys } from './wrong-keys.ts';

export interface AuthenticationOptions {
  readonly rateLimiter: RateLimiter;
  readonly authenticator: Authentication;
  /** How many hops of `X-Forwarded-For` to believe. */
  readonly trustProxy: number;
}

/** The caller of an operation that asks for no key, or may do without one. */
const NOBODY: Caller = {
  ...{ keyId: '', keyName: '', keyHint: '', keyExpiresAt: null, keyCreatedAt: 0 },
  ...{ accountId: '', accountName: '', plan: '', scopes: [], votingEventId: null },
  requestsPerMinute: OPEN_REQUESTS_PER_MINUTE,
};

/** Finds out who asks; whether a request without a key is answered is asked later (`admitKeyless`). @throws ApiError 401 `unauthorized`, 429 after too many wrong keys from one address */
export function authenticate({
  authenticator,
  rateLimiter,
  trustProxy,
}: AuthenticationOptions): MiddlewareHandler<Env> {
  const keys = new WrongKeys(authenticator, rateLimiter);
  return async (c, next) => {
    const { scope, unlimited, keyless } = c.get('operation');
    const direct = c.env.incoming.socket.remoteAddress ?? '';
    let caller = NOBODY;
    if (unlimited !== true) {
      const address = addressOf(direct, c.req.header('x-forwarded-for'), trustProxy);
      c.set('known', { address });
      const authorization = c.req.header('authorization');
      if (scope !== 'none' && (keyless !== true || authorization !== undefined)) {
        caller = await keys.callerOf(authorization, address);
        c.set('known', { address, accountId: caller.accountId, keyHint: caller.keyHint });
      }
    }
    c.set('caller', caller);
    await next();
  };
}
