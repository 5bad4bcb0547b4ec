import type { MiddlewareHandler } from 'hono';
import { type Log, summariseFault } from '#src/platform/log.ts';
import type { Env } from './env.ts';
import { toApiError } from './errors.ts';

/** What a request was, for counting: the route's pattern, never an address that somebody sent. */
export interface ObservedRequest {
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly ms: number;
  /** For a refusal: the code of the error table, and the reason beside it where there is one. */
  readonly code?: string | undefined;
  readonly reason?: unknown;
}

/** The same with who sent it; undefined stands for what was not known when it was answered. */
export interface TraceableRequest extends ObservedRequest {
  readonly requestId: string;
  readonly accountId: string | undefined;
  readonly keyHint: string | undefined;
  readonly untraced: boolean;
}

/**
 * Counts a request and writes its one line, refused or not. Only these fields are ever in it: no target, body, header or
 * value. What was known of the request when it was answered stands there: a refused key has no account.
 */
export function logRequest(log: Log, observe: (request: TraceableRequest) => void): MiddlewareHandler<Env> {
  return async (c, next) => {
    const startedAt = performance.now();
    await next();
    const [requestId, { status }] = [c.get('requestId'), c.res];
    const operation = c.get('operation');
    const error = c.error === undefined ? undefined : toApiError(c.error, operation);
    const reason = error?.details?.['reason'];
    // What there was no time for stands in the line of the request, and needs no time for a second one.
    if (error?.status === 500 && reason !== 'overloaded')
      log.error({ requestId, reason, fault: summariseFault(c.error) }, 'a request failed');
    const ms = Math.round((performance.now() - startedAt) * 10) / 10;
    const { method } = c.req;
    const route = operation?.path;
    const { address, accountId, keyHint } = c.get('known');
    const refused = { code: error?.code, reason };
    const untraced = operation?.untraced === true;
    observe({ method, route: route ?? 'none', status, ms, ...refused, requestId, accountId, keyHint, untraced });
    log.info(
      { requestId, address, method, route, status, ms, ...refused, account: accountId, key: keyHint },
      'request',
    );
  };
}
