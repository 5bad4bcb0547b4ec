import { setImmediate } from 'node:timers/promises';
import { type SQL, sql } from 'drizzle-orm';
import { monotonicMs } from '#src/platform/clock.ts';
import type { Database } from './client.ts';

/** Maximum rows per statement of a clean-up, so that each statement takes a fraction of a second. */
export const CHUNK_ROWS = 1_000;

/**
 * Runs a clean-up chunk by chunk until nothing is left or the time limit is reached, so that the clean-up does not block other jobs
 * for long. The next run continues.
 * @param clean removes up to `maxRows` rows, and returns how many it removed
 * @returns whether rows may be left
 */
export async function inChunks(
  clean: (maxRows: number) => Promise<number>,
  maxMs: number,
  maxRows = CHUNK_ROWS,
): Promise<boolean> {
  const until = monotonicMs() + maxMs;
  for (;;) {
    if ((await clean(maxRows)) < maxRows) return false;
    if (monotonicMs() > until) return true;
    await setImmediate();
  }
}

/** Time limit of one run of a clean-up; the next scheduled run goes on. */
const CLEAN_UP_MS = 40_000;

/**
 * Deletes the rows of a table that meet a condition, in chunks. Concurrent runs skip each other's rows.
 * @param chunk rows per statement: fewer where rows are large
 * @returns whether rows may be left
 */
export async function deleteInChunks(db: Database, name: string, condition: SQL, chunk = CHUNK_ROWS): Promise<boolean> {
  const table = sql.identifier(name);
  const clean = async (maxRows: number): Promise<number> => {
    const { rowCount } = await db.execute(sql`
      DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ${table} WHERE ${condition} LIMIT ${maxRows} FOR UPDATE SKIP LOCKED))`);
    return rowCount ?? 0;
  };
  return await inChunks(clean, CLEAN_UP_MS, chunk);
}
