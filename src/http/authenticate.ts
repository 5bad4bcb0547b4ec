import type { MiddlewareHandler } from 'hono';
import { monotonicMs } from '#src/platform/clock.ts';
import { ApiError, badRequest } from '#src/platform/errors.ts';
import { countedAddress } from '#src/platform/network-address.ts';
import { whose } from '#src/platform/turns.ts';
import type { Caller } from './caller.ts';
import type { Env } from './env.ts';
import { OPEN_REQUESTS_PER_MINUTE, type RateLimiter, tooManyRequests } from './rate-limit.ts';
import { valuesOf } from './request-headers.ts';

/** A hop as proxies write it: an address, in brackets or not, with a port or without. */
function hopAddress(hop: string): string | undefined {
  const [, bracketed, plain] = /^(?:\[([0-9A-Fa-f:.]+)\](?::\d{1,5})?|([0-9.]+)(?::\d{1,5})?)$/.exec(hop) ?? [];
  return countedAddress(bracketed ?? plain ?? hop);
}

/**
 * The address that a request is counted by, as far as the configured proxies can be believed. Every spelling of one address
 * is one.
 * @throws ApiError `bad_request` for a hop that is no address: the proxy is not the one that was configured
 */
export function addressOf(direct: string, forwarded: string | undefined, trustProxy: number): string {
  const own = countedAddress(direct) ?? direct;
  if (trustProxy === 0 || forwarded === undefined) return own;
  const hop = forwarded.split(',').at(-trustProxy)?.trim();
  if (hop === undefined) return own;
  const address = hopAddress(hop);
  if (address === undefined)
    throw badRequest('X-Forwarded-For must hold the addresses of the hops.', { field: 'X-Forwarded-For' });
  return address;
}

/** Turns what stands in the header Authorization into a caller. */
export interface Authentication {
  /**
   * @param mayAsk whether the database may be asked about a key that nothing is known of
   * @throws ApiError `unauthorized`, also where it may not be asked
   */
  authenticate(authorization: string | undefined, mayAsk: () => boolean): Promise<Caller>;
  /** The account of a key that was valid a moment ago; nothing is asked. */
  accountOf(authorization: string): string | undefined;
}

/** The account of who sends no key. */
export const STRANGER = '';

const FAILED_AUTHENTICATIONS_PER_MINUTE = 30;
/**
 * Unknown keys that the database is asked about for an address whose failures are used up: a right key that is new passes
 * there too, and a flood of invented ones costs no more than this.
 */
const ASKED_ALL_THE_SAME_PER_MINUTE = 30;

/** Limits wrong keys by the address that they come from. A right one passes whatever else comes from there. */
export class WrongKeys {
  readonly #authenticator: Authentication;
  readonly #rateLimiter: RateLimiter;
  /** Look-ups of keys under way, by address; an address without one is not in it. */
  readonly #lookUps = new Map<string, number>();

  constructor(authenticator: Authentication, rateLimiter: RateLimiter) {
    this.#authenticator = authenticator;
    this.#rateLimiter = rateLimiter;
  }

  /** @throws ApiError 401 `unauthorized`, 429 `rate_limited` after too many wrong keys */
  async callerOf(authorization: string | undefined, address: string): Promise<Caller> {
    const perMinute = FAILED_AUTHENTICATIONS_PER_MINUTE;
    const nowMs = monotonicMs();
    const failed = [`failed:${address}`, perMinute, nowMs, perMinute] as const;
    let asks = false;
    const mayAsk = (): boolean => {
      // Look-ups under way may all fail: each holds one of the failures that are left.
      const { retryAfterSeconds, remaining } = this.#rateLimiter.look(...failed);
      const underWay = this.#lookUps.get(address) ?? 0;
      asks = retryAfterSeconds === undefined && remaining >= underWay;
      if (asks) this.#lookUps.set(address, underWay + 1);
      const more = [`asked:${address}`, ASKED_ALL_THE_SAME_PER_MINUTE, nowMs] as const;
      return asks || this.#rateLimiter.take(...more).retryAfterSeconds === undefined;
    };
    try {
      return await this.#authenticator.authenticate(authorization, mayAsk);
    } catch (fault) {
      if (!(fault instanceof ApiError) || fault.code !== 'unauthorized') throw fault;
      const { retryAfterSeconds } = this.#rateLimiter.take(...failed);
      if (retryAfterSeconds === undefined) throw fault;
      throw tooManyRequests(retryAfterSeconds, 'Too many requests with a wrong key from this address.');
    } finally {
      if (asks) this.#release(address);
    }
  }

  #release(address: string): void {
    const left = (this.#lookUps.get(address) ?? 1) - 1;
    if (left > 0) this.#lookUps.set(address, left);
    else this.#lookUps.delete(address);
  }
}

interface AuthenticationOptions {
  readonly rateLimiter: RateLimiter;
  readonly authenticator: Authentication;
  /** How many hops of `X-Forwarded-For` to believe. */
  readonly trustProxy: number;
}

/** The caller of an operation that asks for no key, or may do without one. */
const NOBODY: Caller = {
  keyId: '',
  keyName: '',
  keyHint: '',
  keyExpiresAt: null,
  keyCreatedAt: 0,
  accountId: STRANGER,
  accountName: '',
  plan: '',
  scopes: [],
  votingEventId: null,
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
      const { rawHeaders } = c.env.incoming;
      const hops = trustProxy === 0 ? [] : valuesOf(rawHeaders, 'x-forwarded-for');
      const address = addressOf(direct, hops.length === 0 ? undefined : hops.join(', '), trustProxy);
      c.set('known', { address });
      // Sent twice, the request was refused before.
      const [authorization] = valuesOf(rawHeaders, 'authorization');
      if (scope !== 'none' && (keyless !== true || authorization !== undefined)) {
        caller = await keys.callerOf(authorization, address);
        c.set('known', { address, accountId: caller.accountId, keyHint: caller.keyHint });
      }
    }
    c.set('caller', caller);
    c.get('life').isOf(caller.accountId);
    await whose.run(caller.accountId, next);
  };
}
