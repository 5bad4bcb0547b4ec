export { type ClientOptions, VotingService, type WaitOptions } from './client.ts';
export { BadRequestError, ConflictError, ConnectionError, type ErrorCode, ForbiddenError, IdempotencyMismatchError, InsufficientScopeError, InternalError, type Issue, NotFoundError, PaymentPendingError, PaymentRequiredError, PlanLimitError, RateLimitedError, UnauthorizedError, ValidationError, VotingServiceError, } from './errors.ts';
export type { Answer, CallOptions, CastBody, CastOutcome, Input, ListPath, Page, PathOf, Resources, Row, } from './types.ts';
export { type VerifyOptions, type WebhookHeaders, type WebhookMessage, WebhookVerificationError, webhooks, } from './webhooks.ts';
