/** The closed set of error codes of the API, and the one table from code to HTTP status (section "Errors"). */
export const STATUS_BY_CODE = {
  bad_request: 400,
  unauthorized: 401,
  insufficient_scope: 403,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  validation_error: 422,
  idempotency_mismatch: 422,
  plan_limit: 422,
  rate_limited: 429,
  internal: 500,
} as const;

export type ErrorCode = keyof typeof STATUS_BY_CODE;

export type ErrorDetails = Record<string, unknown>;

/** One fault of a request. `field` is a path such as `votes[2].rank`. */
export interface Issue {
  readonly field: string;
  readonly message: string;
}

/** Maximum number of issues in an answer; further issues are left out (completions 1.3). */
export const MAX_ISSUES = 50;

/** The only error whose code and message reach a client. The client sees every other error as `internal`, without its message. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails | undefined;
  /** Sent as `Retry-After`, whole seconds. */
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ErrorCode, message: string, details?: ErrorDetails, retryAfterSeconds?: number) {
    super(message);
    this.name = 'ApiError';
    this.code = code;
    this.details = details;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  get status(): (typeof STATUS_BY_CODE)[ErrorCode] {
    return STATUS_BY_CODE[this.code];
  }
}

export function badRequest(message: string, details?: ErrorDetails): ApiError {
  return new ApiError('bad_request', message, details);
}

/** The same error for an unknown ID and for another account's ID, so that the answer does not reveal that the other row exists. */
export function notFound(): ApiError {
  return new ApiError('not_found', 'Nothing was found at this address.');
}

/** @throws ApiError `not_found` if nothing was found */
export function orNotFound<Found>(found: Found | undefined): Found {
  if (found === undefined) throw notFound();
  return found;
}

/** A conflict in an operator's command. The conflicts of the API are in the table of `refuse`. */
export function conflict(reason: string, message: string, details: ErrorDetails = {}): ApiError {
  return new ApiError('conflict', message, { reason, ...details });
}

/** A 422 that names every issue; `extra` joins the details (for instance a `reason`). */
export function validationError(issues: readonly Issue[], extra: ErrorDetails = {}): ApiError {
  const first = issues[0];
  if (first === undefined) throw new Error('a validation error needs at least one issue');
  const shown = issues.slice(0, MAX_ISSUES);
  return new ApiError('validation_error', `${first.field === '' ? 'The body' : first.field}: ${first.message}`, {
    field: first.field,
    issues: shown,
    ...extra,
  });
}

export function invalidField(field: string, message: string, extra: ErrorDetails = {}): ApiError {
  return validationError([{ field, message }], extra);
}

/** The result of `read`; undefined if it throws, because direct SQL changed the data that it reads. */
export function unlessSpoilt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
