import { and, type Column, gte, lte, or, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { isShortSearch } from '#src/platform/text.ts';

/**
 * The condition of a list's `search` (completions 3), in the form that `fold_text` gives both sides: anywhere in one of the columns, or below three
 * characters at the beginning of a word. Undefined where nothing is looked for.
 */
export function holdsText(search: string | undefined, ...columns: readonly SQLWrapper[]): SQL | undefined {
  if (search === undefined || search === '') return undefined;
  if (!isShortSearch(search)) {
    const pattern = `%${search.replace(/[\\%_]/g, '\\$&')}%`;
    return or(...columns.map((column) => sql`fold_text(${column}) LIKE fold_text(${pattern})`));
  }
  const word = `(^|[^[:alnum:]])${search.replace(/[^\p{L}\p{N}\s]/gu, '\\$&')}`;
  return or(...columns.map((column) => sql`fold_text(${column}) ~ fold_text(${word})`));
}

/** IDs are made by the clocks of several processes, a little before the row says that it was created. */
const SLACK_MS = 60_000;
/** The last moment that an ID can hold: nine characters of five bits. */
const LAST_ID_MS = 2 ** 45 - 1;

/**
 * Rows of a time, both ends included. Their IDs begin with it, so that the index by ID gives them, however old they are.
 * @param prefix of the table's IDs
 */
export function createdWithin(
  table: { readonly id: Column; readonly createdAt: Column },
  prefix: string,
  { from, until }: { readonly from?: number | undefined; readonly until?: number | undefined },
): SQL | undefined {
  const idAt = (ms: number): SQL =>
    sql`${`${prefix}_`} || sortable_time(${Math.min(Math.max(0, ms), LAST_ID_MS)}::bigint)`;
  return and(
    from === undefined ? undefined : and(gte(table.createdAt, from), gte(table.id, idAt(from - SLACK_MS))),
    until === undefined ? undefined : and(lte(table.createdAt, until), lte(table.id, idAt(until + SLACK_MS))),
  );
}
