import type pg from 'pg';
import { findAccount } from '#src/accounts/repository.ts';
import { enqueueRemovalOfDeadRows } from '#src/ballot-log/rewrite-roll.ts';
import { type Database, databaseErrorCode, LOCKED, withClient } from '#src/database/client.ts';
import { CHUNK_ROWS, inChunks } from '#src/database/in-chunks.ts';
import { CellSilent, firstOfCells, requireServed, servedCells } from '#src/database/other-cells.ts';
import { requireSchemaNumber } from '#src/database/schema-number.ts';
import type { Deps } from '#src/deps.ts';
import { SECOND_MS } from '#src/platform/clock.ts';
import { summariseFault } from '#src/platform/log.ts';
import { orLate } from '#src/platform/within.ts';
import { arrivingCode } from '#src/voting-events/code-claims.ts';
import { holderOf, LEFT } from './account-rows.ts';
import { showAccount } from './copy-account.ts';

/** Why an account does not move now, in one line for the operator. Nothing was changed. */
export class MoveRefused extends Error {}

/** How long a command waits for a connection, and for an account that a worker or another command has locked. A worker does not wait. */
const WAIT_MS = 5 * SECOND_MS;

/** Runs `work` on a connection of its own to a cell, without the time limits of requests. */
export function withCell<T>(
  { databaseUrl: connectionString }: Pick<Deps, 'databaseUrl'>,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  // Without a limit, each search for moves would leave a connection to a frozen cell, and all would log in when the cell wakes.
  const config = { connectionString, application_name: 'voting-service move', connectionTimeoutMillis: WAIT_MS };
  return withClient(config, async (client) => {
    await requireSchemaNumber(client);
    return work(client);
  });
}

const NO_WAIT_MS = 1;
/** The number of the lock of an account in a cell, as SQL. */
export const LOCK_OF_MOVES = "hashtextextended('move ' || $1, 0)";

/**
 * Runs `work` with the lock of an account in a cell. A move holds this lock in both of its cells; functions that show or delete a copy hold
 * it in the copy's cell. Lock and work use the same connection, so that the work cannot outlive its lock.
 * @throws MoveRefused while another connection has the lock
 */
export function withAccount<T>(
  cell: Deps,
  account: string,
  work: (client: pg.Client) => Promise<T>,
  waitMs = WAIT_MS,
): Promise<T> {
  return withCell(requireServed(cell), async (client) => {
    await client.query(`SET lock_timeout = ${waitMs}`);
    await client.query(`SELECT pg_advisory_lock(${LOCK_OF_MOVES})`, [account]).catch((fault: unknown) => {
      if (databaseErrorCode(fault) !== LOCKED) throw fault;
      throw new MoveRefused('another command moves this account, or what it left is being deleted: try again');
    });
    await client.query('SET lock_timeout = 0');
    return work(client);
  });
}

/** States of accounts that a cell keeps and does not serve, with the number of the last move: what left the cell, and what was set aside. */
const KEPT = `SELECT account_id AS id, moved_at AS at FROM moved_accounts
  UNION ALL SELECT account_id, (content ->> 'moved_at')::bigint FROM arriving_rows WHERE from_cell = '' AND table_name = 'accounts'`;

/** Deletes, in steps, a cell's rows of an account's deleted events whose code has the prefix `mark`, and the account's audit entries. */
async function deleteMarked(client: pg.Client, { db }: Deps, account: string, mark: string): Promise<void> {
  // Each statement checks the mark itself. The order makes the steps delete one event after another.
  const marked = 'FROM voting_events WHERE account_id = $1 AND starts_with(code_key, $2) AND deleted_at IS NOT NULL';
  // The ballot keys are deleted, not retired, because the other cell uses them.
  await client.query(`DELETE FROM ballot_keys WHERE voting_event_id IN (SELECT id ${marked})`, [account, mark]);
  const step = `SELECT delete_event_rows(id, ${CHUNK_ROWS}) FROM (SELECT id ${marked} ORDER BY id LIMIT 1) AS e`;
  while ((await client.query(`SELECT ${marked} LIMIT 1`, [account, mark])).rowCount === 1) {
    // The dead rows of an election show who voted when until they are vacuumed. The enqueued job does so some seconds later.
    await enqueueRemovalOfDeadRows(db);
    await client.query(step, [account, mark]);
  }
  const entries = async (maxRows: number): Promise<number> => {
    const { rows } = await client.query('SELECT delete_entries_of_moved($1, $2) AS gone', [account, maxRows]);
    return Number(rows[0]?.gone);
  };
  await inChunks(entries, Number.POSITIVE_INFINITY);
}

/** The cell that an account is moving to, once this cell has let it go, and the number of the move. */
export async function movedTo(
  { $client }: Database,
  account: string,
): Promise<{ cell: string; at: number } | undefined> {
  const { rows } = await $client.query(
    'SELECT to_cell AS cell, moved_at::float8 AS at FROM moved_accounts WHERE account_id = $1',
    [account],
  );
  return rows[0];
}

/** The number of the latest state of an account that a cell keeps; 0 if it keeps none. */
export async function keptIn({ $client }: Database, account: string): Promise<number> {
  const text = `SELECT coalesce(max(k.at), 0)::float8 AS at FROM (${KEPT}) AS k WHERE k.id = $1`;
  return (await $client.query(text, [account])).rows[0].at;
}

/** @throws MoveRefused if no cell has an account as this cell keeps it, or later: after a restore, what is kept may be the last copy */
async function requireElsewhere(cell: Deps, account: string): Promise<void> {
  const at = await keptIn(cell.db, account);
  const home = await firstOfCells([...cell.cells.values()], async ({ db }) => {
    const found = await findAccount(db, account);
    return found !== undefined && found.movedAt >= at ? found : undefined;
  });
  if (home === undefined) {
    const message =
      'no cell has an account as it is kept in this one, or later: what is kept stays; `cells status` says what to do';
    cell.log.error({ alarm: 'account_lost', account, cell: cell.cell }, message);
    throw new MoveRefused(message);
  }
}

/** Deletes the rows that an account left behind in this cell. Call with its lock, once the new cell shows the account. @throws MoveRefused */
export async function deleteLeft(client: pg.Client, cell: Deps, account: string): Promise<void> {
  await requireElsewhere(cell, account);
  await deleteMarked(client, cell, account, LEFT);
  await client.query('DELETE FROM moved_accounts WHERE account_id = $1', [account]);
}

/** Deletes all that a cell has of an account that is in another cell: a copy, and what it left. Call with the locks of both cells. */
export async function discardCopy(client: pg.Client, cell: Deps, account: string): Promise<void> {
  await deleteMarked(client, cell, account, arrivingCode(''));
  await deleteLeft(client, cell, account);
  // Delete these rows last: they lead a worker to a copy that must be deleted.
  await client.query('DELETE FROM arriving_rows WHERE account_id = $1', [account]);
}

/** Releases the held jobs of an account, so that workers begin them again. */
export const releaseJobs = (client: pg.Client, account: string) =>
  client.query('UPDATE jobs SET held_by = NULL, held_at = NULL WHERE held_by = $1', [holderOf(account)]);

/** Undoes a move that was interrupted before the switch. @throws MoveRefused after the switch, and while the move runs */
export async function takeBack(from: Deps, to: Deps, account: string, waitMs = WAIT_MS): Promise<void> {
  const undo = async (client: pg.Client): Promise<void> => {
    await requireHome(from, account);
    await withAccount(to, account, (writing) => discardCopy(writing, to, account), waitMs);
    await releaseJobs(client, account);
  };
  await withAccount(from, account, undo, waitMs);
}

/** @throws MoveRefused unless this cell has the account: otherwise another cell may have the only copy */
export async function requireHome({ db, cell }: Deps, account: string): Promise<void> {
  if ((await findAccount(db, account)) !== undefined) return;
  const there = await movedTo(db, account);
  throw new MoveRefused(
    `the account is not in cell ${cell}${there === undefined ? '' : `, but in cell ${there.cell}`}`,
  );
}

/** A cell that stops answering during a move must not hold up the moves of other accounts. */
const SHOWN_WITHIN_MS = 10 * SECOND_MS;

/** Shows an account in its new cell after the old cell has let it go. Idempotent. @returns false if the move is over */
function showMoved(from: Deps, to: Deps, account: string, waitMs: number): Promise<boolean> {
  const show = async (client: pg.Client): Promise<boolean> => {
    // Read again under the lock, because the listed move may be over. With the lock, the account cannot leave the new cell.
    const left = await movedTo(from.db, account);
    if (left?.cell !== to.cell) return false;
    await showAccount(client, account, left.at);
    return true;
  };
  const late = () => new CellSilent(`cell ${to.cell} does not show what moved there`);
  return orLate(withAccount(to, account, show, waitMs), SHOWN_WITHIN_MS, late);
}

/** Ends a move after the old cell let the account go: shows it in the new cell, then deletes its old rows. @throws MoveRefused */
export async function finishMove(from: Deps, to: Deps, account: string, waitMs = WAIT_MS): Promise<void> {
  const finish = async (client: pg.Client): Promise<void> => {
    if (await showMoved(from, to, account, waitMs)) await deleteLeft(client, from, account);
  };
  await withAccount(from, account, finish, waitMs);
}

/** A cell's unfinished moves: each account, and the other cell. */
async function listMoves({ db, cells }: Deps, text: string): Promise<{ account: string; other: Deps; at: number }[]> {
  const { rows } = await db.$client.query<{ account: string; cell: string; at: number }>(text);
  return rows.flatMap(({ account, cell, at }) => {
    const other = cells.get(cell);
    return other === undefined ? [] : { account, other, at };
  });
}

const LEFT_FOR =
  'SELECT account_id AS account, to_cell AS cell, moved_at::float8 AS at FROM moved_accounts ORDER BY moved_at';
const SET_ASIDE = "SELECT account_id AS account FROM arriving_rows WHERE from_cell = '' AND table_name = 'accounts'";
const COPIED_FROM = `SELECT account_id AS account, from_cell AS cell, (content ->> 'moved_at')::float8 AS at
  FROM arriving_rows WHERE table_name = 'accounts'`;

/** Logs the fault of a move, so that it does not stop the other moves. */
async function noteFault({ log }: Deps, other: Deps, account: string, ending: Promise<unknown>): Promise<void> {
  await ending.catch((fault: unknown) => {
    // A command or another worker handles this move, or the account has switched.
    if (fault instanceof MoveRefused) return;
    log.warn({ account, cell: other.cell, fault: summariseFault(fault) }, 'a move that was cut off was not finished');
  });
}

/** Shows accounts whose move was interrupted after the switch, so that no account is without a cell for long. */
export async function showMovedAccounts(from: Deps): Promise<void> {
  const moves = await listMoves(from, LEFT_FOR);
  await Promise.all(
    moves.map(({ account, other }) => noteFault(from, other, account, showMoved(from, other, account, NO_WAIT_MS))),
  );
}

/** Deletes a cell's rows of accounts that left it, and copies whose move was interrupted before the switch. May take long. */
export async function finishMoves(cell: Deps): Promise<void> {
  for (const { account, other } of await listMoves(cell, LEFT_FOR))
    await noteFault(cell, other, account, finishMove(cell, other, account, NO_WAIT_MS));
  for (const { account, other, at } of await listMoves(cell, COPIED_FROM)) {
    // After a restore of this cell, the copy is of an earlier move, and the account may be in a third cell since.
    const findLater = firstOfCells(servedCells(cell), async (one) => {
      const found = await findAccount(one.db, account);
      return found !== undefined && found.movedAt > at ? one : undefined;
    });
    const end = findLater.then((later = other) => takeBack(later, cell, account, NO_WAIT_MS));
    await noteFault(cell, other, account, end);
  }
  // What was set aside stays; it may have become the last copy.
  for (const { account } of (await cell.db.$client.query<{ account: string }>(SET_ASIDE)).rows)
    await noteFault(cell, cell, account, requireElsewhere(cell, account));
}
