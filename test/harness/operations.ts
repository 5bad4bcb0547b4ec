import { createApp } from '#src/app.ts';
import type { Deps } from '#src/deps.ts';
import { type Operation, operationsOf } from '#src/http/operation.ts';
import { RateLimiter } from '#src/http/rate-limit.ts';

/** Every operation of the service, in the order of the reference. */
export function listOperations(deps: Deps): Operation[] {
  const notAsked = () => Promise.reject(new Error('not asked'));
  return [...operationsOf(createApp(deps, new RateLimiter(), notAsked, () => undefined)).values()];
}
