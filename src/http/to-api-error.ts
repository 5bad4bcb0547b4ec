import { databaseErrorCode } from '#src/database/client.ts';
import { ApiError } from '#src/platform/errors.ts';

function isAway(fault: unknown): boolean {
  const code = databaseErrorCode(fault);
  if (code !== undefined) return /^(08|53|57|58|25P03|55P03)/.test(code) || code === '57014';
  for (let error = fault; error instanceof Error; error = error.cause) {
    if (/^(ECONN|ETIMEDOUT|EPIPE|ENOENT)/.test(String(Reflect.get(error, 'code')))) return true;
    if (/timeout exceeded when trying to connect|Query read timeout|Connection terminated/.test(error.message))
      return true;
  }
  return false;
}

/** Whatever was thrown, as an error of the table. Faults that are not ours say nothing of themselves. */
export function toApiError(fault: unknown): ApiError {
  if (fault instanceof ApiError) return fault;
  const retryAfterSeconds = isAway(fault) ? 1 : undefined;
  return new ApiError(
    'internal',
    'The request could not be completed. Retry with backoff.',
    undefined,
    retryAfterSeconds,
  );
}
