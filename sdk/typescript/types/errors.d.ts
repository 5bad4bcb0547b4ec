import type { Resources } from './types.ts';
type Envelope = Resources['ErrorEnvelope']['error'];
export type ErrorCode = Envelope['code'];
export type Issue = NonNullable<NonNullable<Envelope['details']>['issues']>[number];
/** The answer that an error is made of. */
export interface Refusal {
    readonly status: number;
    readonly headers: Headers;
    /** Empty where the answer is none of the API's. */
    readonly envelope: Partial<Envelope>;
}
/** The service refused a call. Every code of the API has a class of its own below. */
export declare class VotingServiceError extends Error {
    name: string;
    /** `unexpected_response`: not an answer of the API, such as the page of a proxy. */
    readonly code: ErrorCode | 'payment_required' | 'unexpected_response';
    /** The HTTP status. */
    readonly status: number;
    /** Why, for programs: `already_voted`. The page of `docUrl` lists them. */
    readonly reason: string | undefined;
    /** The first field that is wrong: `votes[2].rank`. */
    readonly field: string | undefined;
    /** All that is wrong with a body. */
    readonly issues: readonly Issue[];
    /** Everything else that the service says about this refusal. */
    readonly details: Readonly<Record<string, unknown>>;
    /** Name it when you ask the operator about this call. */
    readonly requestId: string | undefined;
    readonly docUrl: string | undefined;
    readonly retryAfterSeconds: number | undefined;
    constructor({ status, headers, envelope }: Refusal, code?: VotingServiceError['code']);
}
/** 400: a wrong path, query or header. */
export declare class BadRequestError extends VotingServiceError {
    name: string;
}
/** 401: the API key is missing, wrong, revoked or expired. */
export declare class UnauthorizedError extends VotingServiceError {
    name: string;
}
/** 403: the API key lacks the scope. */
export declare class InsufficientScopeError extends VotingServiceError {
    name: string;
}
/** 403: not allowed, or not now; `reason` says why: `event_not_open`, `voter_key_invalid`, … */
export declare class ForbiddenError extends VotingServiceError {
    name: string;
}
/** 404: not there, or not to be seen with this key. */
export declare class NotFoundError extends VotingServiceError {
    name: string;
}
/** 409: does not go with what is there; `reason` says why: `already_voted`, `event_has_ballots`, … */
export declare class ConflictError extends VotingServiceError {
    name: string;
}
/** 422: the body is wrong; `issues` names every fault. */
export declare class ValidationError extends VotingServiceError {
    name: string;
}
/** 422: this idempotency key was used with another request. */
export declare class IdempotencyMismatchError extends VotingServiceError {
    name: string;
}
/** 422: more than the plan allows; `details` has `limit` and `max`. */
export declare class PlanLimitError extends VotingServiceError {
    name: string;
}
/** 429: too many requests, and still so after all retries, or for longer than a minute: see `retryAfterSeconds`. */
export declare class RateLimitedError extends VotingServiceError {
    name: string;
}
/** 500: the service could not answer, and still cannot after all retries. */
export declare class InternalError extends VotingServiceError {
    name: string;
}
/** 402: send the payer to `checkoutUrl`. */
export declare class PaymentRequiredError extends VotingServiceError {
    name: string;
    readonly payment: Resources['PaymentRequired'];
    readonly checkoutUrl: string;
    constructor(refusal: Refusal, payment: Resources['PaymentRequired']);
}
/** No answer came: the network failed, or the time was up, on the last retry, too. */
export declare class ConnectionError extends Error {
    name: string;
}
/** The payment was still open when the time was up. */
export declare class PaymentPendingError extends Error {
    name: string;
    readonly payment: Resources['PaymentAttempt'];
    constructor(payment: Resources['PaymentAttempt']);
}
export {};
