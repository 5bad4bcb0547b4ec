import { sql } from 'drizzle-orm';
import { type Database, type Executor, isTrue, valuesOf } from '#src/database/client.ts';
import type { Caller } from '#src/http/caller.ts';

// A guest is an account of another cell with which an event of this cell is shared (docs/scaling.md).

/**
 * Stores in an account's own cell that events of another cell may be shared with it. Call before the first such event is shared: a row that
 * turns out to be superfluous only costs a look-up. The lock makes a concurrent move of the account copy the row, too. Idempotent.
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

/** The accounts of this cell among `ids` for which `noteGuestCell` has stored nothing of the cell. */
export const listUnnoted = (executor: Executor, ids: readonly string[], cell: string): Promise<string[]> =>
  valuesOf(
    executor,
    sql`SELECT id FROM accounts WHERE id = ANY (${sql.param(ids)}::text[]) EXCEPT SELECT account_id FROM guest_cells WHERE cell = ${cell}`,
  );

/** Names of the other cells that may have events shared with an account of this cell. */
export const listGuestCells = (executor: Executor, accountId: string): Promise<string[]> =>
  valuesOf(executor, sql`SELECT cell FROM guest_cells WHERE account_id = ${accountId} ORDER BY cell`);

/** Stores a guest's key and names in the cell of the event, before the guest's first request there. Idempotent: names never change. */
export async function noteGuestKey(db: Database, caller: Caller): Promise<void> {
  const { keyId, accountId, accountName, keyName, keyHint } = caller;
  await db.execute(sql`
    INSERT INTO guest_keys (id, account_id, account_name, name, hint)
    VALUES (${keyId}, ${accountId}, ${accountName}, ${keyName}, ${keyHint}) ON CONFLICT DO NOTHING`);
}
