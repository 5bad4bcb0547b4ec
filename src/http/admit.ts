import type { Context } from 'hono';
import { monotonicMs } from '#src/platform/clock.ts';
import { ApiError, badRequest } from '#src/platform/errors.ts';
import { countedAddress } from '#src/platform/network-address.ts';
import type { Caller, Scope } from './caller.ts';
import { type RateLimiter, tooManyRequests } from './rate-limit.ts';
import type { Route } from './route.ts';
import type { Env } from './send-answer.ts';

/** Turns what stands in the header Authorization into a caller. */
export interface Authentication {
  /**
   * @param mayAsk whether the database may be asked about a key that nothing is known of
   * @throws ApiError `unauthorized`, also where it may not be asked
   */
  authenticate(authorization: string | undefined, mayAsk: () => boolean): Promise<Caller>;
}

export interface AdmitOptions {
  readonly rateLimiter: RateLimiter;
  readonly authenticator: Authentication;
  /** How many hops of `X-Forwarded-For` to believe. */
  readonly trustProxy: number;
}

const OPEN_REQUESTS_PER_MINUTE = 20 * 60;
const FAILED_AUTHENTICATIONS_PER_MINUTE = 30;
/**
 * Unknown keys that the database is asked about for an address whose failures are used up: a right key that is new passes
 * there too, and a flood of invented ones costs no more than this.
 */
const ASKED_ALL_THE_SAME_PER_MINUTE = 30;

/** The caller of a route that asks for no key. */
const NOBODY: Caller = {
  keyId: '',
  accountId: '',
  accountName: '',
  plan: '',
  scopes: [],
  votingEventId: null,
  keyName: '',
  keyHint: '',
  keyExpiresAt: null,
  keyCreatedAt: 0,
  requestsPerMinute: OPEN_REQUESTS_PER_MINUTE,
};

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

function allowsScope(route: Route, caller: Caller): boolean {
  if (route.scope === 'any') return true;
  const needed: readonly Scope[] = typeof route.scope === 'string' ? [route.scope as Scope] : route.scope;
  return needed.some((scope) => caller.scopes.includes(scope));
}

function admitOpenly(route: Route, address: string, { rateLimiter }: AdmitOptions, nowMs: number): Caller {
  const own = route.requestsPerMinute;
  const state =
    own === undefined
      ? rateLimiter.take(`open:${address}`, OPEN_REQUESTS_PER_MINUTE, nowMs, 20)
      : rateLimiter.take(`open:${route.operationId}:${address}`, own, nowMs);
  if (state.retryAfterSeconds !== undefined)
    throw tooManyRequests(state.retryAfterSeconds, 'Too many requests from this address.');
  return NOBODY;
}

/** Only wrong keys are refused by how many there were: a right one passes whatever else comes from its address. */
async function authenticate(c: Context<Env>, address: string, options: AdmitOptions, nowMs: number): Promise<Caller> {
  const { authenticator, rateLimiter } = options;
  const failed = [
    `failed:${address}`,
    FAILED_AUTHENTICATIONS_PER_MINUTE,
    nowMs,
    FAILED_AUTHENTICATIONS_PER_MINUTE,
  ] as const;
  let asks = false;
  const mayAsk = (): boolean => {
    // Look-ups under way may all fail: each holds one of the failures that are left.
    const { retryAfterSeconds, remaining } = rateLimiter.look(...failed);
    asks = retryAfterSeconds === undefined && remaining >= (lookUps.get(address) ?? 0);
    if (asks) lookUps.set(address, (lookUps.get(address) ?? 0) + 1);
    return (
      asks || rateLimiter.take(`asked:${address}`, ASKED_ALL_THE_SAME_PER_MINUTE, nowMs).retryAfterSeconds === undefined
    );
  };
  try {
    return await authenticator.authenticate(c.req.header('authorization'), mayAsk);
  } catch (fault) {
    if (!(fault instanceof ApiError) || fault.code !== 'unauthorized') throw fault;
    const { retryAfterSeconds } = rateLimiter.take(...failed);
    if (retryAfterSeconds === undefined) throw fault;
    throw tooManyRequests(retryAfterSeconds, 'Too many requests with a wrong key from this address.');
  } finally {
    if (asks) release(address);
  }
}

/** Look-ups of keys under way, by address; an address without one is not in it. */
const lookUps = new Map<string, number>();

function release(address: string): void {
  const left = (lookUps.get(address) ?? 1) - 1;
  if (left > 0) lookUps.set(address, left);
  else lookUps.delete(address);
}

/** Key, rate, scope: the answers 401, 429 and 403, in this order (completions 1.6). A key without the scope is limited too. */
export async function admit(c: Context<Env>, route: Route, options: AdmitOptions): Promise<Caller> {
  if (route.unlimited === true) return NOBODY;
  const nowMs = monotonicMs();
  const direct = c.env.incoming.socket.remoteAddress ?? '';
  const address = addressOf(direct, c.req.header('x-forwarded-for'), options.trustProxy);
  c.set('known', { address });
  if (route.scope === 'none') return admitOpenly(route, address, options, nowMs);
  const caller = await authenticate(c, address, options, nowMs);
  c.set('known', { address, accountId: caller.accountId, keyHint: caller.keyHint });
  const state = options.rateLimiter.take(caller.keyId, caller.requestsPerMinute, nowMs);
  const headers = c.get('headers');
  headers['X-RateLimit-Limit'] = String(state.limit);
  headers['X-RateLimit-Remaining'] = String(state.remaining);
  headers['X-RateLimit-Reset'] = String(state.resetSeconds);
  if (state.retryAfterSeconds !== undefined)
    throw tooManyRequests(state.retryAfterSeconds, 'The request limit of this key is reached.');
  if (!allowsScope(route, caller)) {
    const needed = typeof route.scope === 'string' ? route.scope : route.scope.join(' or ');
    throw new ApiError('insufficient_scope', `This key lacks the scope ${needed}.`, {
      required: route.scope,
      granted: caller.scopes,
    });
  }
  return caller;
}
