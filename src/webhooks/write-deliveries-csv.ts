import type { Database } from '#src/database/client.ts';
import { csvCell, csvLine } from '#src/platform/csv.ts';
import { listDeliveriesAfter, type TabledDelivery } from './repository.ts';

const COLUMNS = [
  ...(['id', 'messageId', 'eventType', 'status', 'tries', 'responseStatus', 'lastError'] as const),
  ...(['nextTryAt', 'createdAt', 'deliveredAt'] as const),
] satisfies readonly (keyof TabledDelivery)[];
const ROWS_AT_ONCE = 500;

/** Every delivery of an endpoint that is still kept as a table, oldest first. What was sent stays out of it. */
export async function* writeDeliveriesCsv(db: Database, endpointId: string): AsyncGenerator<string> {
  yield `\ufeff${csvLine([...COLUMNS])}`;
  for (let after = ''; ; ) {
    const rows = await listDeliveriesAfter(db, endpointId, after, ROWS_AT_ONCE);
    for (const row of rows) {
      const shown = { ...row, nextTryAt: row.status === 'pending' ? row.nextTryAt : null };
      yield csvLine(COLUMNS.map((column) => csvCell(shown[column])));
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_AT_ONCE) return;
    after = last.id;
  }
}
