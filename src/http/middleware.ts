import type { Hono, MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import type { RouterRoute } from 'hono/types';
import { monotonicMs } from '#src/platform/clock.ts';
import { ApiError, badRequest, notFound } from '#src/platform/errors.ts';
import type { Authentication } from './authenticate.ts';
import { isKeyless, requireRole, STRANGER } from './caller.ts';
import type { Env, RequestContext, Service, TargetStep } from './env.ts';
import type { JsonObject } from './json/strict-json.ts';
import { type Load, urgencyOf } from './load.ts';
import { METHODS, type Operation } from './operation.ts';
import { OPEN_REQUESTS_PER_MINUTE, type RateLimiter, tooManyRequests } from './rate-limit.ts';
import { readJsonBody } from './read-body.ts';
import {
  announcesBody,
  answerHeaders,
  checkContentType,
  ownRequestId,
  parseIdempotencyKey,
  valuesOf,
} from './request-headers.ts';
import { beginWork, RequestLife } from './request-life.ts';
import { parseRequestTarget } from './request-target.ts';

/** Prepares every request: its ID, security headers, parsed target. @param secure adds Strict-Transport-Security */
export function startRequest(service: Service, newRequestId: () => string, secure: boolean): MiddlewareHandler<Env> {
  return async (c, next) => {
    const { rawHeaders, url, socket } = c.env.incoming;
    const requestId = ownRequestId(rawHeaders) ?? newRequestId();
    c.set('service', service);
    c.set('requestId', requestId);
    const life = new RequestLife(c.env);
    c.set('life', life);
    c.set('known', { address: socket.remoteAddress });
    c.set('headers', answerHeaders(requestId, secure));
    // `listen` checks headers and target before it calls the app, so they are well-formed here.
    c.set('requestTarget', parseRequestTarget(url ?? ''));
    try {
      await next();
    } finally {
      life.handled();
    }
  };
}

/** Mounted after a fixed path that a parameter also matches: `GET /voters/batch` gets 400 instead of a search for a voter. */
export const noOtherMethod: MiddlewareHandler<Env> = async (_c, next) => next();

/** The operation that takes a method and path; undefined if none does. */
export function operationAt(
  { router }: Hono<Env>,
  operations: ReadonlyMap<RouterRoute, Operation>,
  method: string,
  path: string,
): Operation | undefined {
  const routes = router.match(method === 'HEAD' ? 'GET' : method, path)[0].map(([[, route]]) => route);
  const route = routes.find((one) => operations.has(one) || one.handler === noOtherMethod);
  return route && operations.get(route);
}

/** @param operations called once all routes are mounted @throws ApiError 404, or 400 with `Allow` for another method */
export function findOperation(
  app: Hono<Env>,
  operations: () => ReadonlyMap<RouterRoute, Operation>,
): MiddlewareHandler<Env> {
  const firstOf = (routes: readonly RouterRoute[]): Operation | undefined => {
    const route = routes.find((one) => operations().has(one) || one.handler === noOtherMethod);
    return route && operations().get(route);
  };
  const takes = (method: string, path: string): boolean => operationAt(app, operations(), method, path) !== undefined;
  return (c, next) => {
    const operation = firstOf(matchedRoutes(c));
    if (operation === undefined) {
      const methods = METHODS.filter((method) => takes(method, c.req.path));
      if (methods.length === 0) throw notFound();
      const allow = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
      c.get('headers')['Allow'] = allow;
      throw badRequest(`This address takes ${allow}, not ${c.req.method}.`, { allow });
    }
    c.set('operation', operation);
    return next();
  };
}

/** Refuses requests under overload, before any other work is done for them. @throws ApiError 500, reason `overloaded` */
export function shedLoad(load: Load, authenticator: Authentication): MiddlewareHandler<Env> {
  return async (c, next) => {
    const operation = c.get('operation');
    if (operation.unlimited === true) {
      await next();
      return;
    }
    const stay = load.enter(urgencyOf(operation), () => {
      const [authorization] = valuesOf(c.env.incoming.rawHeaders, 'authorization');
      return authorization === undefined ? STRANGER : authenticator.accountOf(authorization);
    });
    c.get('life').entered(stay);
    try {
      await next();
    } finally {
      stay.leave();
    }
  };
}

/** Requests without a key that one address may send at once. */
const OPEN_BURST = 20;
const FROM_ADDRESS = 'Too many requests from this address.';

/** The quota of an address for requests without a key. */
function openQuota(
  { requestsPerMinute: own, operationId }: Operation,
  address: string | undefined,
): Parameters<RateLimiter['take']> {
  if (own !== undefined) return [`open:${operationId}:${address}`, own, monotonicMs()];
  return [`open:${address}`, OPEN_REQUESTS_PER_MINUTE, monotonicMs(), OPEN_BURST];
}

/** @returns the seconds to wait if the address has used up its quota, otherwise undefined */
const takeFromAddress = (rateLimiter: RateLimiter, address: string | undefined): number | undefined =>
  rateLimiter.take(`open:${address}`, OPEN_REQUESTS_PER_MINUTE, monotonicMs(), OPEN_BURST).retryAfterSeconds;

/** Whether `limitRate` will refuse a request without a key, so that nothing needs to be looked up for it. */
export const isOverQuota = (rateLimiter: RateLimiter, operation: Operation, address: string): boolean =>
  rateLimiter.look(...openQuota(operation, address)).retryAfterSeconds !== undefined;

/** Limits requests by key, or by address without a key; for log keys by both, because many voters share one key. @throws ApiError 429 */
export function limitRate(rateLimiter: RateLimiter): MiddlewareHandler<Env> {
  return (c, next) => {
    const operation = c.get('operation');
    const { scope, unlimited } = operation;
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
      const { retryAfterSeconds } = rateLimiter.take(...openQuota(operation, address));
      if (retryAfterSeconds !== undefined) throw tooManyRequests(retryAfterSeconds, FROM_ADDRESS);
    }
    return next();
  };
}

/**
 * Some operations answer without a key, but for some events only. For any other event, existing or not, the error is the error
 * for a missing key, so that it does not reveal which events exist. `limitRate` counted the request by its address before.
 * @param admit finds the event that the path names; throws ApiError 401 `unauthorized` if that event demands a key
 */
export function admitKeyless(admit: (idOrCode: string) => Promise<unknown>): MiddlewareHandler<Env> {
  return async (c, next) => {
    const { keyless, path } = c.get('operation');
    if (keyless === true && isKeyless(c.get('caller'))) {
      const place = path.slice(1).split('/').indexOf(':idOrCode');
      await admit(c.get('requestTarget').segments[place] ?? '');
    }
    await next();
  };
}

/** Refuses keys that lack the scope of the operation. @throws ApiError 403 `insufficient_scope` */
export const checkScope: MiddlewareHandler<Env> = (c, next) => {
  const { scope } = c.get('operation');
  // `admitKeyless` has decided on requests without a key.
  if (scope === 'none' || scope === 'any' || isKeyless(c.get('caller'))) return next();
  const { scopes: granted } = c.get('caller');
  const needed = typeof scope === 'string' ? [scope] : scope;
  if (!granted.some((one) => needed.includes(one)))
    throw new ApiError('insufficient_scope', `This key lacks the scope ${needed.join(' or ')}.`, {
      required: scope,
      granted,
    });
  return next();
};

/** Refuses a body of GET or DELETE, a body that is not JSON, and a malformed Idempotency-Key. @throws ApiError 400 `bad_request` */
export const checkHeaders: MiddlewareHandler<Env> = (c, next) => {
  const { method, bytes } = c.get('operation');
  const { rawHeaders } = c.env.incoming;
  if (bytes === undefined) {
    if (method === 'POST') c.set('idempotencyKey', parseIdempotencyKey(rawHeaders));
    if (announcesBody(rawHeaders)) {
      if (method === 'GET' || method === 'DELETE') throw badRequest(`A ${method} request takes no body.`);
      checkContentType(rawHeaders);
    }
  }
  return next();
};

/**
 * Limits how many requests of an account are worked at (`beginWork`). A request with a body counts once the body has arrived. Changes by
 * organizers have a separate limit, which applies once their role is known (completions 1.6). @throws ApiError 429
 */
export const takeWork: MiddlewareHandler<Env> = async (c, next) => {
  const { unlimited, scope } = c.get('operation');
  if (unlimited !== true && scope !== 'write' && !announcesBody(c.env.incoming.rawHeaders)) await beginWork(c);
  await next();
};

/** Finds the path's resource (else 404) and checks the caller's role in it (else 403), before the body is checked (completions 1.6). */
export function findTarget<Target>(find: (c: RequestContext) => Promise<Target>): TargetStep<Target> {
  return async (c, next) => {
    const target = await find(c);
    requireRole(c.get('operation').role, target);
    c.set('target', target);
    await next();
  };
}

/** Checks the features that a body uses, before its validation. @param check throws ApiError 403 `plan_feature` */
export function requirePlan<Target>(check: (target: Target, raw: JsonObject) => void): TargetStep<Target> {
  return async (c, next) => {
    check(c.get('target'), (await readJsonBody(c))?.value ?? {});
    await next();
  };
}
