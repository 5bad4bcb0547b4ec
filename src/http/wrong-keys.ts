import { monotonicMs } from '#src/platform/clock.ts';
import { ApiError } from '#src/platform/errors.ts';
import type { Caller } from './caller.ts';
import { type RateLimiter, tooManyRequests } from './rate-limit.ts';

/** Turns what stands in the header Authorization into a caller. */
export interface Authentication {
  /**
   * @param mayAsk whether the database may be asked about a key that nothing is known of
   * @throws ApiError `unauthorized`, also where it may not be asked
   */
  authenticate(authorization: string | undefined, mayAsk: () => boolean): Promise<Caller>;
}

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
