import { listChangesAfter, type RecordedChange } from '#src/accounts/list-changes.ts';
import { shortened } from '#src/accounts/record-change.ts';
import type { Database } from '#src/database/client.ts';
import { csvCell, csvLine } from '#src/platform/csv.ts';

const COLUMNS = [
  ...(['id', 'createdAt', 'action', 'resource'] as const),
  ...(['keyId', 'keyName', 'keyHint', 'accountId', 'accountName'] as const),
] satisfies readonly (keyof RecordedChange)[];
const ROWS_AT_ONCE = 500;

const json = (fields: Record<string, unknown> | null): string | null => {
  const short = shortened(fields);
  return short === null ? null : JSON.stringify(short);
};

/** Every recorded change of an event as a table, oldest first; `before` and `after` are JSON texts. */
export async function* writeChangesCsv(db: Database, eventId: string): AsyncGenerator<string> {
  yield `\ufeff${csvLine([...COLUMNS, 'before', 'after'])}`;
  for (let after = ''; ; ) {
    const rows = await listChangesAfter(db, eventId, after, ROWS_AT_ONCE);
    for (const row of rows) {
      const cells = [...COLUMNS.map((column) => row[column]), json(row.before), json(row.after)];
      yield csvLine(cells.map((cell) => csvCell(cell)));
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_AT_ONCE) return;
    after = last.id;
  }
}
