import type { Executor } from '#src/database/client.ts';
import { ApiError, orNotFound } from '#src/platform/errors.ts';
import { askProvider } from './ask-provider.ts';
import { findAttempt } from './attempt-repository.ts';
import { findBusinessEver } from './business-repository.ts';
import type { AttemptBackground, PaymentAttempt } from './payment.ts';
import type { PaymentDeps } from './payment-deps.ts';
import { listRefunds } from './refund-payment.ts';

/** The live mode and the refunds of each of these attempts. */
export async function readBackgrounds(
  executor: Executor,
  attempts: readonly PaymentAttempt[],
): Promise<(attempt: PaymentAttempt) => AttemptBackground> {
  const businessIds = [...new Set(attempts.map(({ paymentBusinessId }) => paymentBusinessId))];
  const refunds = Map.groupBy(await listRefunds(executor, attempts), ({ attemptId }) => attemptId);
  const found = await Promise.all(businessIds.map((id) => findBusinessEver(executor, id)));
  const livemodes = new Map(found.map((business) => [business?.id, business?.livemode]));
  return ({ id, paymentBusinessId }) => ({
    livemode: livemodes.get(paymentBusinessId) ?? true,
    refunds: refunds.get(id) ?? [],
  });
}

/** Asks the provider first, at most every two seconds, while unpaid. @throws ApiError 404; 403 `payment_unavailable` */
export async function findUpToDate(deps: PaymentDeps, votingEventId: string, id: string): Promise<PaymentAttempt> {
  const attempt = orNotFound(await findAttempt(deps.db, { votingEventId, id }));
  try {
    return await askProvider(deps, attempt, { isRead: true });
  } catch (fault) {
    if (fault instanceof ApiError && fault.details?.['reason'] === 'payment_provider_unavailable') return attempt;
    throw fault;
  }
}
