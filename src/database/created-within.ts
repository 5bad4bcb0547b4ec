import { and, type Column, gte, lte, type SQL, sql } from 'drizzle-orm';

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
