import type { Reason } from './operations.ts';
import type { Resources } from './types.ts';

type Envelope = Resources['ErrorEnvelope']['error'];
export type ErrorCode = Envelope['code'];
export type Issue = NonNullable<NonNullable<Envelope['details']>['issues']>[number];

/** The answer from which an error is made. */
export interface Refusal {
  readonly status: number;
  readonly headers: Headers;
  /** Empty if the answer is not in the API's form. */
  readonly envelope: Partial<Envelope>;
}

/** The service refused a call. Below is a class for each error code of the API. */
export class VotingServiceError extends Error {
  override name = 'VotingServiceError';
  /** `unexpected_response`: not an answer of the API, for example the page of a proxy. */
  readonly code: ErrorCode | 'payment_required' | 'unexpected_response';
  /** The HTTP status. */
  readonly status: number;
  /** The reason, for programs, such as `already_voted`. The page at `docUrl` lists all; a newer service may have more. */
  readonly reason: Reason | (string & Record<never, never>) | undefined;
  /** The first field with a fault, such as `votes[2].rank`. */
  readonly field: string | undefined;
  /** All faults of a body. */
  readonly issues: readonly Issue[];
  /** All other data that the service sent with this refusal. */
  readonly details: Readonly<Record<string, unknown>>;
  /** State this ID if you ask the operator about this call. */
  readonly requestId: string | undefined;
  readonly docUrl: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor({ status, headers, envelope }: Refusal, code: VotingServiceError['code'] = 'unexpected_response') {
    super(envelope.message ?? `The service answered ${status}.`);
    const { reason, field, issues } = envelope.details ?? {};
    const retryAfter = headers.get('retry-after') ?? '';
    this.code = code;
    this.status = status;
    this.reason = reason;
    this.field = field;
    this.issues = issues ?? [];
    this.details = envelope.details ?? {};
    this.requestId = envelope.requestId ?? headers.get('x-request-id') ?? undefined;
    this.docUrl = envelope.docUrl;
    this.retryAfterSeconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : undefined;
  }
}

/** 400: a wrong path, query or header. */
export class BadRequestError extends VotingServiceError {
  override name = 'BadRequestError';
}
/** 401: the API key is missing, wrong, revoked or expired. */
export class UnauthorizedError extends VotingServiceError {
  override name = 'UnauthorizedError';
}
/** 403: the API key lacks the scope. */
export class InsufficientScopeError extends VotingServiceError {
  override name = 'InsufficientScopeError';
}
/** 403: not allowed, or not allowed now. `reason` says why: `event_not_open`, `voter_key_invalid`, … */
export class ForbiddenError extends VotingServiceError {
  override name = 'ForbiddenError';
}
/** 404: it does not exist, or this key may not see it. */
export class NotFoundError extends VotingServiceError {
  override name = 'NotFoundError';
}
/** 409: the call conflicts with the present state. `reason` says why: `already_voted`, `event_has_ballots`, … */
export class ConflictError extends VotingServiceError {
  override name = 'ConflictError';
}
/** 422: the body is invalid. `issues` names every fault. */
export class ValidationError extends VotingServiceError {
  override name = 'ValidationError';
}
/** 422: this idempotency key was used for another request. */
export class IdempotencyMismatchError extends VotingServiceError {
  override name = 'IdempotencyMismatchError';
}
/** 422: the plan does not allow so many. `details` has `limit` and `max`. */
export class PlanLimitError extends VotingServiceError {
  override name = 'PlanLimitError';
}
/** 429: too many requests. All retries failed, too, or the service asks for a pause of over a minute: see `retryAfterSeconds`. */
export class RateLimitedError extends VotingServiceError {
  override name = 'RateLimitedError';
}
/** 500: the service could not answer, and still could not after all retries. */
export class InternalError extends VotingServiceError {
  override name = 'InternalError';
}

/** 402: send the payer to `checkoutUrl`. */
export class PaymentRequiredError extends VotingServiceError {
  override name = 'PaymentRequiredError';
  readonly payment: Resources['PaymentRequired'];
  readonly checkoutUrl: string;

  constructor(refusal: Refusal, payment: Resources['PaymentRequired']) {
    super({ ...refusal, envelope: { message: 'Payment is required.' } }, 'payment_required');
    this.payment = payment;
    this.checkoutUrl = (payment.provider_a ?? payment.provider_b)?.checkoutUrl ?? '';
  }
}

/** No answer came, not even to the last retry: the network failed, or the time limit passed. */
export class ConnectionError extends Error {
  override name = 'ConnectionError';
}

/** The payment was still open at the time limit. */
export class PaymentPendingError extends Error {
  override name = 'PaymentPendingError';
  readonly payment: Resources['PaymentAttempt'];

  constructor(payment: Resources['PaymentAttempt']) {
    super(`The payment is still ${payment.status}.`);
    this.payment = payment;
  }
}

const CLASSES: Readonly<Record<ErrorCode, typeof VotingServiceError>> = {
  bad_request: BadRequestError,
  unauthorized: UnauthorizedError,
  insufficient_scope: InsufficientScopeError,
  forbidden: ForbiddenError,
  not_found: NotFoundError,
  conflict: ConflictError,
  validation_error: ValidationError,
  idempotency_mismatch: IdempotencyMismatchError,
  plan_limit: PlanLimitError,
  rate_limited: RateLimitedError,
  internal: InternalError,
};

const isKnown = (code: unknown): code is ErrorCode => typeof code === 'string' && Object.hasOwn(CLASSES, code);

function parse(text: string): { data?: unknown; error?: unknown } {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    // The page of a proxy: the status is all that can be reported.
    return {};
  }
}

/** Makes the error for an answer without success. @internal */
export function errorOf({ status, headers }: Response, text: string): VotingServiceError {
  const { data, error } = parse(text);
  const envelope: Partial<Envelope> = typeof error === 'object' && error !== null ? error : {};
  const refusal = { status, headers, envelope };
  if (status === 402 && data !== undefined)
    return new PaymentRequiredError(refusal, data as Resources['PaymentRequired']);
  return isKnown(envelope.code) ? new CLASSES[envelope.code](refusal, envelope.code) : new VotingServiceError(refusal);
}
