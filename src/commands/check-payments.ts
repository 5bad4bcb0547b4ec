import type { Deps } from '#src/deps.ts';
import { isAttemptId, type ListedPayment } from '#src/payment-providers/provider.ts';
import { findAttemptById } from '#src/payments/attempt-repository.ts';
import { findBusinessEver, openCredentials } from '#src/payments/business-repository.ts';
import { orNotFound } from '#src/platform/errors.ts';
import type { Answer } from './cli.ts';

type Outcome =
  | 'not known here'
  | 'not of this service'
  | 'of another business'
  | 'gave nothing'
  | 'gave what was paid for';

interface Checked {
  readonly status: string | null;
  readonly outcome: Outcome;
}

async function outcomeOf(deps: Deps, businessId: string, { attemptId }: ListedPayment): Promise<Checked> {
  if (attemptId === null || !isAttemptId(attemptId)) return { status: null, outcome: 'not of this service' };
  const attempt = await findAttemptById(deps.db, attemptId);
  if (attempt === undefined) return { status: null, outcome: 'not known here' };
  if (attempt.paymentBusinessId !== businessId) return { status: attempt.status, outcome: 'of another business' };
  return {
    status: attempt.status,
    outcome: attempt.status === 'fulfilled' ? 'gave what was paid for' : 'gave nothing',
  };
}

/** Lists a business's payments at its provider since a moment, and the state of each in this service. @throws ApiError 404 */
export async function checkPayments(deps: Deps, businessId: string, sinceMs: number): Promise<Answer> {
  const business = orNotFound(await findBusinessEver(deps.db, businessId));
  const provider = deps.payments.of(business);
  const rows: Record<string, unknown>[] = [];
  let unknown = 0;
  let skipped = 0;
  for await (const payment of provider.listPayments(openCredentials(deps.secrets, business), sinceMs)) {
    if ('names' in payment) {
      skipped += 1;
      continue;
    }
    const { status, outcome } = await outcomeOf(deps, businessId, payment);
    if (outcome === 'not known here' && payment.providerStatus !== 'refunded' && payment.providerStatus !== 'reversed')
      unknown += 1;
    rows.push({
      payment: payment.providerPaymentId,
      paidAt: payment.atMs,
      amountMinor: payment.amountMinor,
      currency: payment.currency,
      atProvider: payment.providerStatus,
      attempt: payment.attemptId,
      status,
      outcome,
    });
  }
  return {
    value: { businessId, since: sinceMs, payments: rows, unknown, skipped, notListed: provider.notListed },
    shown: rows,
    next: [
      ...(unknown === 0
        ? []
        : [
            `${unknown} payments are not known here, and were not given back: pay them back at the provider, and tell the payers.`,
          ]),
      ...(skipped === 0 ? [] : [`${skipped} rows of the provider's list cannot be read.`]),
      `Not listed: ${provider.notListed}.`,
    ],
    refused: unknown > 0,
  };
}
