import { ApiError } from '#src/platform/errors.ts';

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
