import type { IncomingMessage } from 'node:http';
import type { MiddlewareHandler } from 'hono';
import { monotonicMs } from '#src/platform/clock.ts';
import { ApiError, badRequest } from '#src/platform/errors.ts';
import { countedAddress } from '#src/platform/network-address.ts';
import type { Presence } from '#src/platform/presence.ts';
import { asker } from '#src/platform/turns.ts';
import { type Caller, isKeyless, STRANGER } from './caller.ts';
import type { Env } from './env.ts';
import { OPEN_REQUESTS_PER_MINUTE, type RateLimiter, tooManyRequests } from './rate-limit.ts';
import { valuesOf } from './request-headers.ts';

/** The address of a hop as proxies write it: in brackets or not, with a port or without. */
function hopAddress(hop: string): string | undefined {
  const [, bracketed, plain] = /^(?:\[([0-9A-Fa-f:.]+)\](?::\d{1,5})?|([0-9.]+)(?::\d{1,5})?)$/.exec(hop) ?? [];
  return countedAddress(bracketed ?? plain ?? hop);
}

/** The hop of X-Forwarded-For that our proxies vouch for, in a normalised spelling. @throws ApiError 400 if it is no address */
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

export interface Authentication {
  /** @param mayAsk whether to query the database for a key that is not cached @throws ApiError `unauthorized` */
  authenticate(authorization: string | undefined, mayAsk: () => boolean): Promise<Caller>;
  /** The account of a recently valid key, from the cache alone; undefined if the key is not cached. */
  accountOf(authorization: string): string | undefined;
  /** The caller of a request that was authenticated before it came to the app; undefined if it was not. */
  known?(request: IncomingMessage): Promise<Caller> | undefined;
}

const FAILED_AUTHENTICATIONS_PER_MINUTE = 30;
/** Key look-ups that an address still gets after too many failures, so that a valid key that is not cached passes. */
const ASKED_ALL_THE_SAME_PER_MINUTE = 30;

/** Limits wrong keys per address. A valid key in the cache always passes, even if many wrong keys come from its address. */
export class WrongKeys {
  readonly #authenticator: Authentication;
  readonly #rateLimiter: RateLimiter;
  /** How many look-ups of keys run, by address; an address without a look-up has no entry. */
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
      // Running look-ups may all fail, so each reserves one of the failures that are left.
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
  readonly presence: Presence;
  /** How many hops of `X-Forwarded-For` to trust. */
  readonly trustProxy: number;
}

/** The caller of a request without a key, to an operation that allows this. */
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

/** The address that a request is counted for. @throws ApiError 400 */
export function readAddress({ rawHeaders, socket }: IncomingMessage, trustProxy: number): string {
  const hops = trustProxy === 0 ? [] : valuesOf(rawHeaders, 'x-forwarded-for');
  return addressOf(socket.remoteAddress ?? '', hops.length === 0 ? undefined : hops.join(', '), trustProxy);
}

/** Identifies the caller; `admitKeyless` decides later on requests without a key. @throws ApiError 401, 429 after many wrong keys */
export function authenticate({
  authenticator,
  presence,
  rateLimiter,
  trustProxy,
}: AuthenticationOptions): MiddlewareHandler<Env> {
  const keys = new WrongKeys(authenticator, rateLimiter);
  return async (c, next) => {
    const { scope, unlimited, keyless } = c.get('operation');
    let caller = NOBODY;
    if (unlimited !== true) {
      const { rawHeaders } = c.env.incoming;
      const address = readAddress(c.env.incoming, trustProxy);
      c.set('known', { address });
      // There is at most one: `checkRequestSyntax` has refused a request that repeats the header.
      const [authorization] = valuesOf(rawHeaders, 'authorization');
      const known = authenticator.known?.(c.env.incoming);
      if (known !== undefined || (scope !== 'none' && (keyless !== true || authorization !== undefined))) {
        caller = await (known ?? keys.callerOf(authorization, address));
        c.set('known', { address, accountId: caller.accountId, keyHint: caller.keyHint });
      }
    }
    c.set('caller', caller);
    const life = c.get('life');
    life.isOf(caller.accountId);
    if (!isKeyless(caller)) presence.note(caller.accountId);
    await asker.run({ account: caller.accountId, life }, next);
  };
}
