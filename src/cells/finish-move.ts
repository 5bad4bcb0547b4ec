import type pg from 'pg';
import { findAccount } from '#src/accounts/repository.ts';
import { enqueueRemovalOfDeadRows } from '#src/ballot-log/rewrite-roll.ts';
import { type Database, databaseErrorCode, withClient } from '#src/database/client.ts';
import { CHUNK_ROWS, inChunks } from '#src/database/in-chunks.ts';
import { CellSilent, firstOfCells, requireServed } from '#src/database/other-cells.ts';
import { requireSchemaNumber } from '#src/database/schema-number.ts';
import type { Deps } from '#src/deps.ts';
import { SECOND_MS } from '#src/platform/clock.ts';
import { summariseFault } from '#src/platform/log.ts';
import { orLate } from '#src/platform/within.ts';
import { arrivingCode } from '#src/voting-events/code-claims.ts';
import { holderOf } from './account-rows.ts';
import { showAccount } from './copy-account.ts';

/** Why an account does not move now, in one line for the operator. Nothing was changed. */
export class MoveRefused extends Error {}

/** How long a command waits for a connection, and for an account that a worker or another command is at; a worker leaves it to them. */
const WAIT_MS = 5 * SECOND_MS;

/** Runs `work` on a connection of its own to a cell, without the time limits of requests. */
export function withCell<T>(
  { databaseUrl: connectionString }: Pick<Deps, 'databaseUrl'>,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  // Without a limit, each look for moves would leave a connection to a cell that is frozen, and all would log in when it wakes.
  const config = { connectionString, application_name: 'voting-service move', connectionTimeoutMillis: WAIT_MS };
  return withClient(config, async (client) => {
    await requireSchemaNumber(client);
    return work(client);
  });
}

/** PostgreSQL's error for a lock that another holds. */
export const LOCKED = '55P03';
const NO_WAIT_MS = 1;

/**
 * Runs `work` at what a cell has of an account, alone: a move holds this lock in both of its cells, and whatever shows or deletes a copy
 * holds it in the cell of the copy. The lock and the work are of one connection, so that work cannot outlive its lock.
 * @throws MoveRefused while another has the lock
 */
export function withAccount<T>(
  cell: Deps,
  account: string,
  work: (client: pg.Client) => Promise<T>,
  waitMs = WAIT_MS,
): Promise<T> {
  return withCell(requireServed(cell), async (client) => {
    await client.query(`SET lock_timeout = ${waitMs}`);
    await client
      .query("SELECT pg_advisory_lock(hashtextextended('move ' || $1, 0))", [account])
      .catch((fault: unknown) => {
        if (databaseErrorCode(fault) !== LOCKED) throw fault;
        throw new MoveRefused('another command moves this account, or what it left is being deleted: try again');
      });
    await client.query('SET lock_timeout = 0');
    return work(client);
  });
}

/** Marks the events that have left a cell, until their rows are deleted there. */
export const LEFT = 'moved/';

/** Deletes in steps what a cell still holds of events whose code has a mark, and of the trail of their account. */
async function deleteMarked(client: pg.Client, { db }: Deps, account: string, mark: string): Promise<void> {
  // Each statement asks for the mark by itself. The order has events deleted one after another.
  const marked = 'FROM voting_events WHERE account_id = $1 AND starts_with(code_key, $2) AND deleted_at IS NOT NULL';
  // Not retired: the key goes on in the other cell.
  await client.query(`DELETE FROM ballot_keys WHERE voting_event_id IN (SELECT id ${marked})`, [account, mark]);
  const step = `SELECT delete_event_rows(id, ${CHUNK_ROWS}) FROM (SELECT id ${marked} ORDER BY id LIMIT 1) AS e`;
  while ((await client.query(`SELECT ${marked} LIMIT 1`, [account, mark])).rowCount === 1) {
    // Rows of an election that are dead would show who voted when for as long as nothing else vacuums them. It runs some seconds later.
    await enqueueRemovalOfDeadRows(db);
    await client.query(step, [account, mark]);
  }
  const entries = async (maxRows: number): Promise<number> => {
    const { rows } = await client.query('SELECT delete_entries_of_moved($1, $2) AS gone', [account, maxRows]);
    return Number(rows[0]?.gone);
  };
  await inChunks(entries, Number.POSITIVE_INFINITY);
}

/** Where an account is moving to from a cell, once the cell has let it go. */
export async function movedTo({ $client }: Database, account: string): Promise<string | undefined> {
  const { rows } = await $client.query('SELECT to_cell AS cell FROM moved_accounts WHERE account_id = $1', [account]);
  return rows[0]?.cell;
}

/**
 * Deletes what an account that is in another cell now left behind. Call with its lock, once the other cell shows it.
 * @throws MoveRefused if no cell has the account, such as after a restore of the other one: then nothing else has what is left here
 */
export async function deleteLeft(client: pg.Client, cell: Deps, account: string): Promise<void> {
  const home = await firstOfCells([...cell.cells.values()], ({ db }) => findAccount(db, account));
  if (home === undefined) {
    const message = 'an account that left this cell is in no other one: what it left stays';
    cell.log.error({ alarm: 'account_lost', account, cell: cell.cell }, message);
    throw new MoveRefused(message);
  }
  await deleteMarked(client, cell, account, LEFT);
  await client.query('DELETE FROM moved_accounts WHERE account_id = $1', [account]);
}

/** Deletes a copy of an account that is still in another cell. Call with the locks of both cells. */
export async function discardCopy(client: pg.Client, cell: Deps, account: string): Promise<void> {
  await deleteMarked(client, cell, account, arrivingCode(''));
  // Last: by these rows a worker finds a copy that is to go.
  await client.query('DELETE FROM arriving_rows WHERE account_id = $1', [account]);
}

/** Has the waiting jobs of an account begun again. */
export const releaseJobs = (client: pg.Client, account: string) =>
  client.query('UPDATE jobs SET held_by = NULL, held_at = NULL WHERE held_by = $1', [holderOf(account)]);

/** Undoes a move that was cut off before the switch. @throws MoveRefused after it, and while it goes on */
export async function takeBack(from: Deps, to: Deps, account: string, waitMs = WAIT_MS): Promise<void> {
  const undo = async (client: pg.Client): Promise<void> => {
    await requireHome(from, account);
    await withAccount(to, account, (writing) => discardCopy(writing, to, account), waitMs);
    await releaseJobs(client, account);
  };
  await withAccount(from, account, undo, waitMs);
}

/** @throws MoveRefused unless a cell holds an account: what another cell has of it may be all that there is */
export async function requireHome({ db, cell }: Deps, account: string): Promise<void> {
  if ((await findAccount(db, account)) !== undefined) return;
  const there = await movedTo(db, account);
  throw new MoveRefused(`the account is not in cell ${cell}${there === undefined ? '' : `, but in cell ${there}`}`);
}

/** A cell that stops in the middle must not keep the moves of others waiting. */
const SHOWN_WITHIN_MS = 10 * SECOND_MS;

/** Shows an account in its new cell once the old one has let it go. Any number of times. @returns false if the move is over */
function showMoved(from: Deps, to: Deps, account: string, waitMs: number): Promise<boolean> {
  const show = async (client: pg.Client): Promise<boolean> => {
    // Read under the lock, without which the account cannot leave the new cell: what was listed may be over.
    if ((await movedTo(from.db, account)) !== to.cell) return false;
    await showAccount(client, account, from.cell);
    return true;
  };
  const late = () => new CellSilent(`cell ${to.cell} does not show what moved there`);
  return orLate(withAccount(to, account, show, waitMs), SHOWN_WITHIN_MS, late);
}

/** Ends a move after the old cell has let the account go: shows it in the new one, then deletes what is left. @throws MoveRefused */
export async function finishMove(from: Deps, to: Deps, account: string, waitMs = WAIT_MS): Promise<void> {
  const finish = async (client: pg.Client): Promise<void> => {
    if (await showMoved(from, to, account, waitMs)) await deleteLeft(client, from, account);
  };
  await withAccount(from, account, finish, waitMs);
}

/** What a cell has of moves: the accounts, and the other cell of each. */
async function listMoves({ db, cells }: Deps, text: string): Promise<{ account: string; other: Deps }[]> {
  const { rows } = await db.$client.query<{ account: string; cell: string }>(text);
  return rows.flatMap(({ account, cell }) => {
    const other = cells.get(cell);
    return other === undefined ? [] : { account, other };
  });
}

const LEFT_FOR = 'SELECT account_id AS account, to_cell AS cell FROM moved_accounts ORDER BY moved_at';
const COPIED_FROM = 'SELECT DISTINCT account_id AS account, from_cell AS cell FROM arriving_rows';

/** A fault of one move stops no other. */
async function noteFault({ log }: Deps, other: Deps, account: string, ending: Promise<unknown>): Promise<void> {
  await ending.catch((fault: unknown) => {
    // A command or another worker is at it, or the account has switched.
    if (fault instanceof MoveRefused) return;
    log.warn({ account, cell: other.cell, fault: summariseFault(fault) }, 'a move that was cut off was not finished');
  });
}

/** Shows the accounts whose command was cut off after the switch: no account is without a cell for long. */
export async function showMovedAccounts(from: Deps): Promise<void> {
  const moves = await listMoves(from, LEFT_FOR);
  await Promise.all(
    moves.map(({ account, other }) => noteFault(from, other, account, showMoved(from, other, account, NO_WAIT_MS))),
  );
}

/** Deletes what a cell still has of accounts that left it, and of copies whose command was cut off before the switch. May take long. */
export async function finishMoves(cell: Deps): Promise<void> {
  for (const { account, other } of await listMoves(cell, LEFT_FOR))
    await noteFault(cell, other, account, finishMove(cell, other, account, NO_WAIT_MS));
  for (const { account, other } of await listMoves(cell, COPIED_FROM))
    await noteFault(cell, other, account, takeBack(other, cell, account, NO_WAIT_MS));
}
