import type { Executor } from '#src/database/client.ts';
import { ApiError, orNotFound } from '#src/platform/errors.ts';
import { askProvider } from './ask-provider.ts';
import { findAttempt } from './attempt-repository.ts';
import type { PaymentAttempt } from './payment.ts';
import type { PaymentDeps } from './payment-deps.ts';
import { listRefunds, type Refund } from './refund-payment.ts';

export async function readRefunds(
  executor: Executor,
  attempts: readonly PaymentAttempt[],
): Promise<(attempt: PaymentAttempt) => readonly Refund[]> {
  const refunds = Map.groupBy(await listRefunds(executor, attempts), ({ attemptId }) => attemptId);
  return ({ id }) => refunds.get(id) ?? [];
}

/** Reads an attempt; if unpaid, asks the provider first, at most every two seconds. @throws ApiError 404; 403 `payment_unavailable` */
export async function findUpToDate(deps: PaymentDeps, votingEventId: string, id: string): Promise<PaymentAttempt> {
  const attempt = orNotFound(await findAttempt(deps.db, { votingEventId, id }));
  try {
    return await askProvider(deps, attempt, { isRead: true });
  } catch (fault) {
    if (fault instanceof ApiError && fault.details?.['reason'] === 'payment_provider_unavailable') return attempt;
    throw fault;
  }
}
