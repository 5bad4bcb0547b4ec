import type { Database } from '#src/database/client.ts';
import { csvCell, csvLine } from '#src/platform/csv.ts';
import { listAttemptsAfter } from './attempt-repository.ts';
import { listBackgrounds, NO_BACKGROUND } from './read-payment.ts';
import type { PaymentAttempt } from './types.ts';
import { refundOf } from './views.ts';

const COLUMNS = [
  ...(['id', 'purpose', 'status', 'endReason', 'provider', 'amountMinor', 'currency'] as const),
  ...(['providerPaymentId', 'providerReference', 'createdAt', 'paidAt', 'refundedAt', 'reversedAt'] as const),
] satisfies readonly (keyof PaymentAttempt)[];
/** What stands beside the attempt's own row, after it: the columns of earlier versions keep their places. */
const BACKGROUND_COLUMNS = ['livemode', 'refundStatus', 'refundAmountMinor', 'refundRequestedAt', 'feeMinor'];
const ROWS_AT_ONCE = 500;

/** Every payment of an event as a table. What the payer sent and the ballot's code stay out of it. */
export async function* writePaymentsCsv(db: Database, eventId: string): AsyncGenerator<string> {
  yield `\ufeff${csvLine([...COLUMNS, ...BACKGROUND_COLUMNS])}`;
  for (let after = ''; ; ) {
    const rows = await listAttemptsAfter(db, eventId, after, ROWS_AT_ONCE);
    const backgrounds = await listBackgrounds(db, eventId, rows);
    for (const [index, row] of rows.entries()) {
      const background = backgrounds[index] ?? NO_BACKGROUND;
      const refund = refundOf(row, background);
      const beside = [background.livemode, refund?.status, refund?.amountMinor, refund?.requestedAt, row.feeMinor];
      const cells = [...COLUMNS.map((column) => row[column]), ...beside.map((value) => value ?? null)];
      yield csvLine(cells.map((value) => csvCell(value)));
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_AT_ONCE) return;
    after = last.id;
  }
}
