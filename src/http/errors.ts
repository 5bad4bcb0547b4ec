import type { Context } from 'hono';
import { ApiError } from '#src/platform/errors.ts';
import type { Env } from './env.ts';
import { send } from './send.ts';

/** When a call that failed may be made again, whole seconds, unless the error says otherwise. */
const RETRY_SECONDS = 1;

/**
 * Whatever was thrown, as an error of the table. Faults that are not ours say nothing of themselves. Each `internal` says
 * when to come again (completions 1.6).
 */
export function toApiError(fault: unknown): ApiError {
  if (!(fault instanceof ApiError))
    return new ApiError(
      'internal',
      'The request could not be completed. Retry with backoff.',
      undefined,
      RETRY_SECONDS,
    );
  if (fault.code !== 'internal' || fault.retryAfterSeconds !== undefined) return fault;
  return new ApiError(fault.code, fault.message, fault.details, RETRY_SECONDS);
}

/** The body of every refusal. */
export function envelope({ code, message, details }: ApiError, requestId: string): string {
  return JSON.stringify({ error: { code, message, ...(details === undefined ? {} : { details }), requestId } });
}

/** The answer to whatever was thrown while a request was served. */
export function answerError(fault: unknown, c: Context<Env>): Response {
  const error = toApiError(fault);
  if (error.retryAfterSeconds !== undefined) c.get('headers')['Retry-After'] = String(error.retryAfterSeconds);
  return send(c, error.status, 'application/json', envelope(error, c.get('requestId')));
}
