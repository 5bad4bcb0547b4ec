import type { Context, MiddlewareHandler } from 'hono';
import { DISK_FULL, databaseErrorCode, LOCKED } from '#src/database/client.ts';
import { ApiError } from '#src/platform/errors.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';
import { isKeyless } from './caller.ts';
import type { Env, RequestContext } from './env.ts';
import { isChange, type Operation, placeOfEvent } from './operation.ts';
import { accountMoves, refuse } from './refusals.ts';
import { send } from './send.ts';

/** Retry-After of an internal error that has none, whole seconds. */
const RETRY_SECONDS = 1;

/**
 * Turns anything thrown into an ApiError. An unexpected fault becomes `internal` without its message. A change that waited too
 * long for a lock becomes `busy`. An `internal` gets Retry-After, unless it has a reason that no retry removes
 * (completions 1.6).
 */
export function toApiError(fault: unknown, operation?: Operation): ApiError {
  if (operation !== undefined && isChange(operation) && databaseErrorCode(fault) === LOCKED) return refuse('busy');
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

/** The anchor of a reason in the reference. It includes the status, because one reason may come with two statuses. */
export const reasonAnchor = (reason: string, status: number): string => `${reason}-${status}`;

/** The URL of an error in the reference: the entry of its reason, or of its code if it has no reason. */
export function docUrlOf(
  { code, status, reason }: { readonly code: string; readonly status: number; readonly reason: unknown },
  referenceUrl: string,
): string {
  return `${referenceUrl}/errors#${typeof reason === 'string' ? reasonAnchor(reason, status) : code}`;
}

/** The JSON body of every error. @param referenceUrl where the reference is served; undefined if it is not served */
export function envelope(error: ApiError, requestId: string, referenceUrl: string | undefined): string {
  const { code, status, message, details } = error;
  const reason = details?.['reason'];
  const docUrl = referenceUrl === undefined ? undefined : docUrlOf({ code, status, reason }, referenceUrl);
  return JSON.stringify({ error: { code, message, details, requestId, docUrl } });
}

/** The fault of a request, or instead `accountMoves` if a move of the account can have caused it. */
export async function unlessMoved(c: RequestContext, fault: unknown): Promise<unknown> {
  const [caller, service] = [c.get('caller'), c.get('service')];
  if (!(fault instanceof ApiError) || caller === undefined) return fault;
  if (await service.hasLeft(c.env.incoming).catch(() => true)) return accountMoves();
  // Without a key, an event that is not found is answered as a missing key.
  const isMissing = fault.code === 'not_found' || (fault.code === 'unauthorized' && isKeyless(caller));
  const named = c.get('requestTarget').segments[placeOfEvent(c.get('operation'))];
  if (!isMissing || named === undefined) return fault;
  return (await service.isElsewhere(caller.accountId, named).catch(() => false)) ? accountMoves() : fault;
}

export async function answerError(thrown: unknown, c: Context<Env>): Promise<Response> {
  const fault = await unlessMoved(c, thrown);
  // The request's log line must describe the fault that was answered.
  if (fault instanceof Error) c.error = fault;
  const error = toApiError(fault, c.get('operation'));
  if (error.retryAfterSeconds !== undefined) c.get('headers')['Retry-After'] = String(error.retryAfterSeconds);
  return send(c, error.status, 'application/json', envelope(error, c.get('requestId'), c.get('service').referenceUrl));
}

/** A request for the metrics: its route is the pattern, never a path that somebody sent. */
export interface ObservedRequest {
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly ms: number;
  /** For an error: its code, and its reason if it has one. */
  readonly code?: string | undefined;
  readonly reason?: unknown;
}

/** An observed request with its sender; undefined if the sender was not known when the request was answered. */
export interface TraceableRequest extends ObservedRequest {
  readonly requestId: string;
  readonly accountId: string | undefined;
  readonly keyHint: string | undefined;
  readonly untraced: boolean;
}

/** Counts a request and writes its one log line, of these fields only: no target, body, header or value. */
export function logRequest(log: Log, observe: (request: TraceableRequest) => void): MiddlewareHandler<Env> {
  return async (c, next) => {
    const startedAt = performance.now();
    await next();
    const [requestId, { status }] = [c.get('requestId'), c.res];
    const operation = c.get('operation');
    const error = c.error === undefined ? undefined : toApiError(c.error, operation);
    const reason = error?.details?.['reason'];
    // The request's log line already reports an overload; a second line would only add load.
    if (error?.status === 500 && reason !== 'overloaded') {
      const alarm = databaseErrorCode(c.error) === DISK_FULL ? 'database_full' : undefined;
      log.error({ requestId, reason, alarm, fault: summariseFault(c.error) }, 'a request failed');
    }
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
