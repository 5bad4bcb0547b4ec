import type { Context, MiddlewareHandler } from 'hono';
import { databaseErrorCode } from '#src/database/client.ts';
import { ApiError } from '#src/platform/errors.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';
import type { Env } from './env.ts';
import { isChange, type Operation } from './operation.ts';
import { refuse } from './refusals.ts';
import { send } from './send.ts';

/** When a call that failed may be made again, whole seconds, unless the error says otherwise. */
const RETRY_SECONDS = 1;

/** PostgreSQL: a lock was waited for too long. */
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Whatever was thrown, as an error of the table. Faults that are not ours say nothing of themselves. A change for which something
 * else held its event too long is `busy`. Each `internal` says when to come again, but for those whose reason no repeat ends
 * (completions 1.6).
 */
export function toApiError(fault: unknown, operation?: Operation): ApiError {
  if (operation !== undefined && isChange(operation) && databaseErrorCode(fault) === LOCK_NOT_AVAILABLE)
    return refuse('busy');
  if (!(fault instanceof ApiError))
    return new ApiError(
      'internal',
      'The request could not be completed. Retry with backoff.',
      undefined,
      RETRY_SECONDS,
    );
  const isSaid = fault.retryAfterSeconds !== undefined || fault.details?.['reason'] !== undefined;
  if (fault.code !== 'internal' || isSaid) return fault;
  return new ApiError(fault.code, fault.message, fault.details, RETRY_SECONDS);
}

/** The name of the reference's paragraph about a reason: one reason may come with two statuses. */
export const reasonAnchor = (reason: string, status: number): string => `${reason}-${status}`;

/** The place of an error in the reference: that of its reason, or of its code where it has none. */
export function docUrlOf(
  { code, status, reason }: { readonly code: string; readonly status: number; readonly reason: unknown },
  referenceUrl: string,
): string {
  return `${referenceUrl}/errors#${typeof reason === 'string' ? reasonAnchor(reason, status) : code}`;
}

/** The body of every refusal. @param referenceUrl where the reference is served; undefined where there is none */
export function envelope(error: ApiError, requestId: string, referenceUrl: string | undefined): string {
  const { code, status, message, details } = error;
  const reason = details?.['reason'];
  const docUrl = referenceUrl === undefined ? {} : { docUrl: docUrlOf({ code, status, reason }, referenceUrl) };
  return JSON.stringify({
    error: { code, message, ...(details === undefined ? {} : { details }), requestId, ...docUrl },
  });
}

export function answerError(fault: unknown, c: Context<Env>): Response {
  const error = toApiError(fault, c.get('operation'));
  if (error.retryAfterSeconds !== undefined) c.get('headers')['Retry-After'] = String(error.retryAfterSeconds);
  return send(c, error.status, 'application/json', envelope(error, c.get('requestId'), c.get('service').referenceUrl));
}

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
