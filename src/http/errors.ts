import type { Context } from 'hono';
import { databaseErrorCode } from '#src/database/client.ts';
import { ApiError } from '#src/platform/errors.ts';
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
