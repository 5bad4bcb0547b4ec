import { sql } from 'drizzle-orm';
import { bigint, customType } from 'drizzle-orm/pg-core';

/** Unix milliseconds, as in the API. */
export const timeMs = (name: string) => bigint(name, { mode: 'number' });

/** Millionths of a weight. */
export const micro = (name: string) => bigint(name, { mode: 'bigint' });

export const bytes = customType<{ data: Buffer; driverData: Buffer }>({ dataType: () => 'bytea' });

/** The database's clock in Unix milliseconds, which decides time windows and expiry for all processes. */
export const nowMs = sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`;
