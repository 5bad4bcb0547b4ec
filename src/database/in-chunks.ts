import { setImmediate } from 'node:timers/promises';
import { type SQL, sql } from 'drizzle-orm';
import { monotonicMs } from '#src/platform/clock.ts';
import type { Database } from './client.ts';

/** Rows that one statement of a clean-up touches at most: a fraction of a second, whatever there is to clean. */
export const CHUNK_ROWS = 1_000;

/**
 * Runs a clean-up chunk by chunk until nothing is left, or its time is over: the rest is for the next run, so that no
 * clean-up keeps a place from other jobs for long.
 * @param clean removes up to so many rows, and returns how many it removed
 * @returns whether there may be more
 */
export async function inChunks(clean: (maxRows: number) => Promise<number>, maxMs: number): Promise<boolean> {
  const until = monotonicMs() + maxMs;
  for (;;) {
    if ((await clean(CHUNK_ROWS)) < CHUNK_ROWS) return false;
    if (monotonicMs() > until) return true;
    await setImmediate();
  }
}

/** A clean-up runs again a minute later: about as much is removed as expires, whatever waits. */
const CLEAN_UP_MS = 40_000;

/** Deletes the rows of a table that meet a condition, in chunks. Runs that meet pass over each other's rows. */
export async function deleteInChunks(db: Database, name: string, condition: SQL): Promise<void> {
  const table = sql.identifier(name);
  await inChunks(async (maxRows) => {
    const { rowCount } = await db.execute(sql`
      DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ${table} WHERE ${condition} LIMIT ${maxRows} FOR UPDATE SKIP LOCKED))`);
    return rowCount ?? 0;
  }, CLEAN_UP_MS);
}
