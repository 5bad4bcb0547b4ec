import { type Answer, ok } from '#src/http/answer.ts';
import { ApiError, notFound } from '#src/platform/errors.ts';
import { askProvider } from './ask-provider.ts';
import { findAttempt } from './attempt-repository.ts';
import type { PaymentDeps } from './payment-deps.ts';
import type { PaymentAttempt } from './types.ts';
import { viewAttempt } from './views.ts';

/**
 * Reads a payment; while it is unpaid, its provider is asked first, at most every two seconds (completions 7.2).
 * A provider that is away leaves what is known. @throws ApiError `not_found`; 403 `payment_unavailable`
 */
export async function readPayment(deps: PaymentDeps, votingEventId: string, id: string): Promise<Answer> {
  const attempt = await findAttempt(deps.db, { votingEventId, id });
  if (attempt === undefined) throw notFound();
  return ok(viewAttempt(deps.secrets, await upToDate(deps, attempt)));
}

async function upToDate(deps: PaymentDeps, attempt: PaymentAttempt): Promise<PaymentAttempt> {
  try {
    return await askProvider(deps, attempt);
  } catch (fault) {
    if (fault instanceof ApiError && fault.details?.['reason'] === 'payment_provider_unavailable') return attempt;
    throw fault;
  }
}
