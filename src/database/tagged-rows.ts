import { and, asc, getTableName, gt, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import { inPages } from '#src/platform/loop-turns.ts';
import { type DecidingRow, isTagged, tagOfRow } from '#src/platform/row-tag.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { Database } from './client.ts';

interface TaggedRow {
  readonly id: string;
  readonly tag: Buffer;
  readonly row: DecidingRow;
}

/** A table whose rows have a MAC of the row under a secret key, in the column `tag` unless `column` names another column. */
export interface TaggedRows {
  readonly name: string;
  readonly table: string;
  readonly column?: string;
  /** SQL condition on the rows to include. */
  readonly isThere?: string;
  /** Rows with greater IDs than `after`, in the order of their IDs. */
  readonly read: (db: Database, after: string, limit: number) => Promise<TaggedRow[]>;
}

interface TaggedTable extends PgTable {
  readonly id: PgColumn;
  readonly $inferSelect: { readonly id: string; readonly tag: Buffer };
}

/** The rows of a table whose tags need no other table. */
export const taggedRows = <Table extends TaggedTable>(
  name: string,
  table: Table,
  rowOf: (row: Table['$inferSelect']) => DecidingRow,
  isThere = 'true',
): TaggedRows => ({
  ...{ name, table: getTableName(table), isThere },
  async read(db, after, limit) {
    const page = db
      .select()
      .from<PgTable>(table)
      .where(and(gt(table.id, after), sql.raw(isThere)))
      .orderBy(asc(table.id))
      .limit(limit);
    return ((await page) as Table['$inferSelect'][]).map((row) => ({ id: row.id, tag: row.tag, row: rowOf(row) }));
  },
});

const PAGE = 500;

const rowsOf = ({ read }: TaggedRows, db: Database): AsyncGenerator<TaggedRow> =>
  inPages(PAGE, (after, limit) => read(db, after, limit));

const isOfPresentKey = (secrets: Secrets, { tag }: TaggedRow): boolean =>
  tag.subarray(0, 4).toString('hex') === secrets.id;

/** SQL: whether a tag was made with the present secret key, whose ID is $1. */
export const isTagOfPresentKey = (column: string): string => `substring(${column} FROM 1 FOR 4) = decode($1, 'hex')`;

/** Replaces rows' tags of an earlier secret key by tags of the present key. @returns how many have no valid tag of any listed key */
export async function retagRows(
  table: TaggedRows,
  db: Database,
  secrets: Secrets,
  onProgress: (retagged: number) => void,
): Promise<number> {
  let foreign = 0;
  for await (const found of rowsOf(table, db)) {
    const { id, tag, row } = found;
    if (isOfPresentKey(secrets, found)) continue;
    if (isTagged(secrets, tag, row)) {
      const column = sql.identifier(table.column ?? 'tag');
      // The condition on the tag skips a row that was changed meanwhile.
      await db.execute(sql`
        UPDATE ${sql.identifier(table.table)} SET ${column} = ${tagOfRow(secrets, row)} WHERE id = ${id} AND ${column} = ${tag}`);
      onProgress(1);
    } else foreign += 1;
  }
  return foreign;
}
