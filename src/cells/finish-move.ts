import { sql } from 'drizzle-orm';
import type pg from 'pg';
import { findAccount } from '#src/accounts/repository.ts';
import { type Database, firstOf, readNumber, valuesOf, withClient } from '#src/database/client.ts';
import { CHUNK_ROWS, inChunks } from '#src/database/in-chunks.ts';
import { requireServed } from '#src/database/other-cells.ts';
import { requireSchemaNumber } from '#src/database/schema-number.ts';
import type { Deps } from '#src/deps.ts';
import { arrivingCode } from '#src/voting-events/code-claims.ts';
import { removeEventRows } from '#src/voting-events/repository.ts';
import { showAccount } from './copy-account.ts';

/** Runs `work` on a connection of its own to a cell, without the time limits of requests. */
export function withCell<T>({ databaseUrl }: Deps, work: (client: pg.Client) => Promise<T>): Promise<T> {
  return withClient({ connectionString: databaseUrl, application_name: 'voting-service move' }, async (client) => {
    await requireSchemaNumber(client);
    return work(client);
  });
}

/** Marks the events that have left a cell, until their rows are deleted there. */
export const LEFT = 'moved/';

/** Deletes in steps what a cell still holds of events whose code has a mark, and of the trail of their account. */
async function deleteMarked(db: Database, account: string, mark: string): Promise<void> {
  const marked = sql`SELECT id FROM voting_events WHERE account_id = ${account} AND starts_with(code_key, ${mark}) ORDER BY id`;
  for (const id of await valuesOf<string>(db, marked)) {
    // Not retired: the key goes on in the other cell.
    await db.execute(sql`DELETE FROM ballot_keys WHERE voting_event_id = ${id}`);
    await inChunks((maxRows) => removeEventRows(db, id, maxRows), Number.POSITIVE_INFINITY);
  }
  const entries = (maxRows: number) => readNumber(db, sql`SELECT delete_entries_of_moved(${account}, ${maxRows})`);
  await inChunks(entries, Number.POSITIVE_INFINITY, CHUNK_ROWS);
}

/** Where an account is moving to from a cell, once the cell has let it go. */
export async function movedTo(db: Database, account: string): Promise<string | undefined> {
  const rows = await valuesOf<string>(db, sql`SELECT to_cell FROM moved_accounts WHERE account_id = ${account}`);
  return firstOf(Promise.resolve(rows));
}

/** Shows an account that the old cell has let go. Any number of times. */
export async function showMoved(client: pg.Client, account: string): Promise<void> {
  await client.query('BEGIN');
  await showAccount(client, account);
  await client.query('COMMIT');
}

/** Ends a move after the old cell has let the account go: shows it in the new one, then deletes what is left. Any number of times. */
export async function finishMove(from: Deps, to: Deps, account: string): Promise<void> {
  await withCell(requireServed(to), (client) => showMoved(client, account));
  await deleteMarked(from.db, account, LEFT);
  await from.db.execute(sql`DELETE FROM moved_accounts WHERE account_id = ${account}`);
}

/** Deletes what a cut-off move has copied. @throws Error unless the old cell still has the account */
export async function discardCopy(from: Deps, to: Deps, account: string): Promise<void> {
  if ((await findAccount(from.db, account)) === undefined) throw new Error('a copy is all that is left of the account');
  await to.db.execute(sql`DELETE FROM arriving_rows WHERE account_id = ${account}`);
  await deleteMarked(to.db, account, arrivingCode(''));
}

/** Ends moves whose command was cut off after the switch: no account is without a cell for long. */
export async function finishMoves(from: Deps): Promise<void> {
  const { rows } = await from.db.execute<{ id: string; cell: string }>(
    sql`SELECT account_id AS id, to_cell AS cell FROM moved_accounts ORDER BY moved_at`,
  );
  for (const { id, cell } of rows) {
    const to = from.cells.get(cell);
    if (to !== undefined) await finishMove(from, to, id);
  }
}
