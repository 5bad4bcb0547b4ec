export type { ClientOptions, PathClient, WaitOptions } from './client.ts';
export {
  BadRequestError,
  ConflictError,
  ConnectionError,
  type ErrorCode,
  ForbiddenError,
  IdempotencyMismatchError,
  InsufficientScopeError,
  InternalError,
  type Issue,
  NotFoundError,
  PaymentPendingError,
  PaymentRequiredError,
  PlanLimitError,
  RateLimitedError,
  UnauthorizedError,
  ValidationError,
  VotingServiceError,
} from './errors.ts';
export type { Reason, Reasons } from './operations.ts';
export type {
  Answer,
  Call,
  CallOf,
  CallOptions,
  CastBody,
  CastOutcome,
  Input,
  ListPath,
  Nouns,
  Page,
  PathOf,
  Resources,
  Row,
} from './types.ts';
export { VotingService } from './voting-service.ts';
export {
  type VerifyOptions,
  type WebhookHeaders,
  type WebhookMessage,
  WebhookVerificationError,
  webhooks,
} from './webhooks.ts';
