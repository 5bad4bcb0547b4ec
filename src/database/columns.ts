import { type Column, getTableColumns, sql, type Table } from 'drizzle-orm';
import { bigint, customType } from 'drizzle-orm/pg-core';

/** Unix milliseconds, as in the API. */
export const timeMs = (name: string) => bigint(name, { mode: 'number' });

/** Millionths of a weight. */
export const micro = (name: string) => bigint(name, { mode: 'bigint' });

export const bytes = customType<{ data: Buffer; driverData: Buffer }>({ dataType: () => 'bytea' });

/** The database's clock in Unix milliseconds, which decides time windows and expiry for all processes. */
export const nowMs = sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`;

const columnsOf = new WeakMap<Table, (readonly [name: string, stored: string, isBytes: boolean, column: Column])[]>();

/** The row as a select returns it, made from the row's `to_json`. Not for tables with `micro` columns: JSON loses digits above 2^53. */
export function rowOfJson<Of extends Table>(table: Of, json: Readonly<Record<string, unknown>>): Of['$inferSelect'] {
  const columns = columnsOf.getOrInsertComputed(table, () =>
    Object.entries(getTableColumns(table)).map(([name, column]) => [
      name,
      column.name,
      column.getSQLType() === 'bytea',
      column,
    ]),
  );
  const row: Record<string, unknown> = {};
  for (const [name, stored, isBytes, column] of columns) {
    const value = json[stored] ?? null;
    // JSON has bytes as `\x…`.
    if (isBytes && typeof value === 'string') row[name] = Buffer.from(value.slice(2), 'hex');
    else row[name] = value === null ? null : column.mapFromDriverValue(value);
  }
  return row;
}
