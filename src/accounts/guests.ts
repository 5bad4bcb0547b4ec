import { sql } from 'drizzle-orm';
import { type Database, type Executor, isTrue, valuesOf } from '#src/database/client.ts';
import type { Caller } from '#src/http/caller.ts';

// An account whose cell is another one than that of an event which is shared with it (docs/scaling.md).

/**
 * Stores in an account's own cell that events of another cell may be shared with it. Written before the first of them is; a row too
 * many costs a look-up. The lock has a move of the account take the row along. Idempotent.
 * @returns false if the account is not in this cell any more: nothing was stored
 */
export function noteGuestCell(executor: Executor, accountId: string, cell: string): Promise<boolean> {
  return isTrue(
    executor,
    sql`WITH home AS MATERIALIZED (SELECT id FROM accounts WHERE id = ${accountId} FOR KEY SHARE), noted AS (
      INSERT INTO guest_cells (account_id, cell) SELECT id, ${cell} FROM home ON CONFLICT DO NOTHING RETURNING pg_notify('guest_changed', account_id))
    SELECT EXISTS (SELECT FROM home) FROM (SELECT count(*) FROM noted) AS n`,
  );
}

/** As `noteGuestCell`, in the cell that an account is moving to. */
export async function noteArrivingGuest(executor: Executor, accountId: string, cell: string): Promise<void> {
  await executor.execute(
    sql`INSERT INTO guest_cells (account_id, cell) VALUES (${accountId}, ${cell}) ON CONFLICT DO NOTHING`,
  );
}

/** The names of the cells that may have events which are shared with an account of this one. */
export const listGuestCells = (executor: Executor, accountId: string): Promise<string[]> =>
  valuesOf(executor, sql`SELECT cell FROM guest_cells WHERE account_id = ${accountId} ORDER BY cell`);

/** Stores in an event's cell who a guest from another one is, before the guest's first request there: names never change. Idempotent. */
export async function noteGuestKey(db: Database, caller: Caller): Promise<void> {
  const { keyId, accountId, accountName, keyName, keyHint } = caller;
  await db.execute(sql`
    INSERT INTO guest_keys (id, account_id, account_name, name, hint)
    VALUES (${keyId}, ${accountId}, ${accountName}, ${keyName}, ${keyHint}) ON CONFLICT DO NOTHING`);
}
