import { getTableColumns, sql, type Table } from 'drizzle-orm';
import { bigint, customType } from 'drizzle-orm/pg-core';

/** Unix milliseconds, as in the API. */
export const timeMs = (name: string) => bigint(name, { mode: 'number' });

/** Millionths of a weight. */
export const micro = (name: string) => bigint(name, { mode: 'bigint' });

export const bytes = customType<{ data: Buffer; driverData: Buffer }>({ dataType: () => 'bytea' });

/** The database's clock in Unix milliseconds, which decides time windows and expiry for all processes. */
export const nowMs = sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`;

/** The row that a select gives, from the `to_json` of the row. Not for tables with `micro` columns: JSON numbers lose digits above 2^53. */
export function rowOfJson<Of extends Table>(table: Of, json: Readonly<Record<string, unknown>>): Of['$inferSelect'] {
  const values = Object.entries(getTableColumns(table)).map(([name, column]) => {
    const value = json[column.name] ?? null;
    // JSON has bytes as `\x…`.
    if (typeof value === 'string' && column.getSQLType() === 'bytea') return [name, Buffer.from(value.slice(2), 'hex')];
    return [name, value === null ? null : column.mapFromDriverValue(value)];
  });
  return Object.fromEntries(values);
}
