import type { Database } from '#src/database/client.ts';
import { csvCell, csvLine } from '#src/platform/csv.ts';
import { listAttemptsAfter } from './attempt-repository.ts';
import type { PaymentAttempt } from './types.ts';

const COLUMNS = [
  ...(['id', 'purpose', 'status', 'endReason', 'provider', 'amountMinor', 'currency'] as const),
  ...(['providerPaymentId', 'providerReference', 'createdAt', 'paidAt', 'refundedAt', 'reversedAt'] as const),
] satisfies readonly (keyof PaymentAttempt)[];
const ROWS_AT_ONCE = 500;

/** Every payment of an event as a table. What the payer sent and the ballot's code stay out of it. */
export async function* writePaymentsCsv(db: Database, eventId: string): AsyncGenerator<string> {
  yield `\ufeff${csvLine([...COLUMNS])}`;
  for (let after = ''; ; ) {
    const rows = await listAttemptsAfter(db, eventId, after, ROWS_AT_ONCE);
    for (const row of rows) yield csvLine(COLUMNS.map((column) => csvCell(row[column])));
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_AT_ONCE) return;
    after = last.id;
  }
}
