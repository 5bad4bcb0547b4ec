import { and, type Column, gte, lte, or, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { isShortSearch } from '#src/platform/text.ts';

/** SQL condition: a column contains the text or, for less than three characters, a word that begins with it (completions 3). */
export function holdsText(search: string | undefined, ...columns: readonly SQLWrapper[]): SQL | undefined {
  if (search === undefined || search === '') return undefined;
  if (!isShortSearch(search)) {
    const pattern = `%${search.replace(/[\\%_]/g, '\\$&')}%`;
    return or(...columns.map((column) => sql`fold_text(${column}) LIKE fold_text(${pattern})`));
  }
  const word = `(^|[^[:alnum:]])${search.replace(/[^\p{L}\p{N}\s]/gu, '\\$&')}`;
  return or(...columns.map((column) => sql`fold_text(${column}) ~ fold_text(${word})`));
}

/** Margin for the time in an ID, which comes from the clock of a process and is a little earlier than `created_at`. */
const SLACK_MS = 60_000;
/** The latest time that an ID can hold: nine characters of five bits. */
const LAST_ID_MS = 2 ** 45 - 1;

/** Rows created in a time window, ends included. IDs begin with the time, so the index by ID finds even old rows. */
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
