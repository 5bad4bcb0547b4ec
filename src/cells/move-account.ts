import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import type pg from 'pg';
import { noteArrivingGuest, noteGuestCell } from '#src/accounts/guests.ts';
import { findAccount } from '#src/accounts/repository.ts';
import { DEADLOCK, databaseErrorCode, inTransaction, LOCKED, valuesOf } from '#src/database/client.ts';
import { firstOfCells, isSilent, otherCells } from '#src/database/other-cells.ts';
import type { Deps } from '#src/deps.ts';
import { monotonicMs } from '#src/platform/clock.ts';
import { ApiError } from '#src/platform/errors.ts';
import { summariseFault } from '#src/platform/log.ts';
import { claimCode, isCodeAskedFor } from '#src/voting-events/code-claims.ts';
import { ACTING, forAccount, holderOf, JOBS_OF_ACCOUNT, LEFT, listTables, type Table } from './account-rows.ts';
import { type Copied, copyAccount, hideActing, showAccount } from './copy-account.ts';
import { findCell } from './find-cell.ts';
import {
  deleteLeft,
  discardCopy,
  keptIn,
  LOCK_OF_MOVES,
  MoveRefused,
  releaseJobs,
  requireHome,
  withAccount,
  withCell,
} from './finish-move.ts';
import { DRAIN_MS } from './open-cells.ts';

// A move switches by one commit in the cell that the account leaves. Before the switch, this cell serves the account, under locks that
// prevent changes during the copy; after it, the other cell serves the account. A move that was interrupted before the switch is undone; a
// move that was interrupted after it is finished (`finish-move.ts`).

/** Each stage of a move, in order. `held`: requests wait. `copied`: the other cell has everything. `switched`: the account is there. */
export type Stage = 'held' | 'copied' | 'switched' | 'finished';

export interface MoveOptions {
  readonly say: (line: string) => void;
  readonly onStage?: (stage: Stage) => Promise<void>;
}

/** How long a hold of requests lasts unless it is renewed. */
const LEASE_MS = 3_000;
const RENEW_MS = 1_000;
/** How long a move waits for running jobs of the account before it holds any request. */
const JOBS_MS = 60_000;
/** The same while requests are held, for jobs that these requests had begun. */
const HELD_JOBS_MS = 2_000;
const LOCK_MS = 5_000;

/** Holds the waiting jobs of an account, so that no worker begins them. @returns how many jobs run */
async function holdJobs(client: pg.Client, account: string): Promise<number> {
  const own = forAccount(JOBS_OF_ACCOUNT, account);
  const holder = holderOf(account);
  await client.query(
    `UPDATE jobs t SET held_by = $1, held_at = now_ms() + ${JOBS_MS} WHERE (t.held_by IS NULL OR t.held_by = $1) AND ${own}`,
    [holder],
  );
  const { rowCount } = await client.query(`SELECT 1 FROM jobs t WHERE t.held_by <> $1 AND ${own}`, [holder]);
  return rowCount ?? 0;
}

async function awaitJobs(client: pg.Client, account: string, say: MoveOptions['say'], ms = JOBS_MS): Promise<void> {
  const since = monotonicMs();
  for (let look = 0; (await holdJobs(client, account)) > 0; look += 1) {
    if (monotonicMs() - since > ms) throw new MoveRefused('jobs of the account run for too long: try again later');
    if (look === 0) say('waiting for jobs of the account that run now …');
    await delay(20);
  }
}

/** Makes every process of the service hold the account's requests. @returns the function that ends this, once no request is under way */
async function holdRequests(client: pg.Client, from: Deps, to: Deps, account: string) {
  const living = async ({ db }: Deps) =>
    valuesOf<string>(db, sql`SELECT encode(id, 'hex') FROM service_processes WHERE seen_at > now_ms() - 2000`);
  const waiting = new Set(await living(from));
  if ((await living(to)).length < waiting.size)
    throw new MoveRefused(
      `a process of the service does not serve cell ${to.cell}: start all with the same DATABASE_CELLS`,
    );
  const idle = Promise.withResolvers<void>();
  if (waiting.size === 0) idle.resolve();
  client.on('notification', ({ channel, payload = '' }) => {
    const [name, process = ''] = payload.split(' ');
    if (channel === 'account_held' && name === account && waiting.delete(process) && waiting.size === 0) idle.resolve();
  });
  await client.query('LISTEN account_held');
  const hold = async (): Promise<void> => {
    await client.query(`SELECT pg_notify('account_moving', $1)`, [`${account} ${LEASE_MS}`]);
    await client.query(`UPDATE jobs SET held_at = now_ms() + ${JOBS_MS} WHERE held_by = $1`, [holderOf(account)]);
  };
  await hold();
  // A failed renewal ends the hold; the row locks stay.
  const timer = setInterval(() => void hold().catch(() => clearInterval(timer)), RENEW_MS);
  const end = async (): Promise<void> => {
    clearInterval(timer);
    await client.query("SELECT pg_notify('account_moved', $1)", [account]);
  };
  await Promise.race([idle.promise, delay(DRAIN_MS + RENEW_MS)]);
  if (waiting.size > 0) {
    await end();
    throw new MoveRefused('a process of the service does not hold requests: start all with the same DATABASE_CELLS');
  }
  return end;
}

/**
 * Locks the rows that every change of an account locks, in the order of the service's transactions: nothing changes until the commit.
 * @returns the number of its next move: greater than that of every earlier one, whichever cell's clock made that
 */
async function lockAccount(client: pg.Client, account: string): Promise<number> {
  await client.query('SELECT 1 FROM payment_attempts WHERE account_id = $1 ORDER BY id FOR UPDATE', [account]);
  await client.query(
    'SELECT 1 FROM voting_events WHERE account_id = $1 AND deleted_at IS NULL ORDER BY id FOR UPDATE',
    [account],
  );
  const { rows } = await client.query<{ at: number }>(
    'SELECT greatest(now_ms(), moved_at + 1)::float8 AS at FROM accounts WHERE id = $1 FOR UPDATE',
    [account],
  );
  const [locked] = rows;
  if (locked === undefined) throw new MoveRefused('the account is not in the cell that it is to leave');
  for (const table of ['api_keys', 'payment_businesses', 'webhook_endpoints'])
    await client.query(`SELECT 1 FROM ${table} WHERE account_id = $1 ORDER BY id FOR UPDATE`, [account]);
  return locked.at;
}

/** Events that other accounts share with it go on naming the account and its keys. */
const KEEP_NAMES = `INSERT INTO guest_keys (id, account_id, account_name, name, hint)
  SELECT k.id, a.id, a.name, k.name, k.hint FROM api_keys k JOIN accounts a ON a.id = k.account_id WHERE a.id = $1 ON CONFLICT DO NOTHING`;

const HIDE_EVENTS =
  'UPDATE voting_events SET deleted_at = now_ms(), code_key = $2 || id WHERE account_id = $1 AND deleted_at IS NULL';

/** The switch: lets an account go, in the transaction that holds its locks. @throws MoveRefused if rows came after the copy */
async function letGo(client: pg.Client, account: string, to: string, movedAt: number, copied: Copied): Promise<void> {
  await client.query(KEEP_NAMES, [account]);
  await client.query(
    `DELETE FROM webhook_holds h USING webhook_endpoints w WHERE w.id = h.endpoint_id AND w.account_id = $1`,
    [account],
  );
  // Processes cache a key for seconds, and this command may be killed before it notifies them of the move.
  await client.query("SELECT pg_notify('account_changed', $1)", [account]);
  // Delete rows that refer to other tables first.
  for (const [table, condition] of Object.entries(ACTING).toReversed()) {
    const { rowCount } = await client.query(`DELETE FROM ${table} t WHERE ${forAccount(condition, account)}`);
    // No lock keeps webhook senders from recording an attempt. They send the message again from the new cell, under the same ID.
    if (table !== 'webhook_attempts' && rowCount !== (copied.get(table) ?? 0))
      throw new MoveRefused(`${table} changed while they were copied: try again`);
  }
  await client.query(
    `DELETE FROM ballot_keys k USING voting_events e WHERE e.id = k.voting_event_id AND e.account_id = $1 AND e.deleted_at IS NULL`,
    [account],
  );
  await client.query(HIDE_EVENTS, [account, LEFT]);
  await client.query('INSERT INTO moved_accounts (account_id, to_cell, moved_at) VALUES ($1, $2, $3)', [
    account,
    to,
    movedAt,
  ]);
}

/**
 * Stores in the cells of guests where their shared events will be. @returns whether the account is a guest in the cell that it leaves
 * @throws MoveRefused if no cell has a guest: the guest is moving, and what is stored in its old cell would be lost
 */
async function tellGuests(client: pg.Client, to: Deps, account: string): Promise<boolean> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT DISTINCT i.account_id AS id FROM event_invites i JOIN voting_events e ON e.id = i.voting_event_id
     WHERE e.account_id = $1 AND e.deleted_at IS NULL AND i.account_id IS NOT NULL`,
    [account],
  );
  for (const { id } of rows) {
    const home = await firstOfCells([...to.cells.values()], async (cell) =>
      (await findAccount(cell.db, id)) === undefined ? undefined : cell,
    );
    if (home !== to && (home === undefined || !(await noteGuestCell(home.db, id, to.cell))))
      throw new MoveRefused(`the guest ${id} of an event is between two cells: try again`);
  }
  const own = await client.query('SELECT 1 FROM event_invites WHERE account_id = $1 LIMIT 1', [account]);
  return own.rowCount === 1;
}

/** Unfinished work on deleted events. Only this cell can finish it, because deleted events do not move. */
const OF_DELETED_EVENTS = {
  'voters of a deleted event are being copied': `
    SELECT 1 FROM roll_copies c JOIN voting_events e ON e.id = c.voting_event_id
    WHERE e.account_id = $1 AND e.deleted_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM voting_events s WHERE s.id = c.source_id AND s.deleted_at IS NULL) LIMIT 1`,
  'messages about voters of a deleted event are being erased': `
    SELECT 1 FROM webhook_deliveries d JOIN webhook_endpoints w ON w.id = d.endpoint_id
    WHERE w.account_id = $1 AND d.person_id IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM voting_events e WHERE e.id = d.person_event_id AND e.deleted_at IS NULL) LIMIT 1`,
};

/** @throws MoveRefused while there is work of `OF_DELETED_EVENTS` */
async function requireDone(client: pg.Client, account: string): Promise<void> {
  for (const [what, text] of Object.entries(OF_DELETED_EVENTS))
    if ((await client.query(text, [account])).rowCount !== 0) throw new MoveRefused(`${what}: try again`);
}

/** @throws MoveRefused if an event is just taking a code of the account: its cell may have searched the new cell too early */
async function requireCodes(client: pg.Client, cells: Deps, account: string): Promise<void> {
  const { rows } = await client.query<{ code: string }>(
    'SELECT code_key AS code FROM voting_events WHERE account_id = $1 AND deleted_at IS NULL',
    [account],
  );
  const codes = rows.map(({ code }) => code);
  if (await isCodeAskedFor(cells, codes)) throw new MoveRefused('a code of its events is asked for: try again');
}

/**
 * After a restore, this cell may have an older state of the account, and a move would make it the latest: the later one would be deleted,
 * or no longer be served.
 * @throws MoveRefused if another cell has the account, keeps a later state that left it, or does not answer
 */
async function requireLatest(from: Deps, account: string): Promise<void> {
  const own = (await findAccount(from.db, account))?.movedAt ?? (await keptIn(from.db, account));
  for (const other of otherCells(from)) {
    if (isSilent(other))
      throw new MoveRefused(
        `cell ${other.cell} does not answer, and may have a later state of the account: start it, or leave it out of DATABASE_CELLS`,
      );
    if ((await findAccount(other.db, account)) !== undefined)
      throw new MoveRefused('the account is in two cells, as after a restore: `cells status` says which one serves it');
    if ((await keptIn(other.db, account)) > own)
      throw new MoveRefused(
        `cell ${other.cell} keeps a later state of the account, as after a restore: see \`cells status\``,
      );
  }
}

/** @throws MoveRefused while a cell keeps an older state of the account, which only an operator may delete */
async function requireNoOlder(client: pg.Client, account: string): Promise<void> {
  const { rowCount } = await client.query(
    "SELECT FROM arriving_rows WHERE account_id = $1 AND from_cell = '' LIMIT 1",
    [account],
  );
  if (rowCount !== 0) throw new MoveRefused('an older state of the account is kept there: --back deletes it');
}

/** Moves an account with all its rows into another cell. An interrupted move starts again from the beginning. */
export function moveAccount(from: Deps, to: Deps, account: string, options: MoveOptions): Promise<number> {
  const { say, onStage = async () => undefined } = options;
  return withAccount(from, account, async (locking) => {
    await requireHome(from, account);
    await requireLatest(from, account);
    const pauseMs = await withAccount(to, account, async (writing) => {
      await requireNoOlder(writing, account);
      await discardCopy(writing, to, account);
      // Connect before any request is held.
      return withCell(from, (front) =>
        withCell(from, async (reading) => {
          const tables = await listTables(front);
          await awaitJobs(front, account, say);
          try {
            return await underHold({ front, locking, reading, writing, from, to, account, tables, say, onStage });
          } catch (fault) {
            await releaseJobs(front, account);
            if (![LOCKED, DEADLOCK].includes(databaseErrorCode(fault) ?? '')) throw fault;
            throw new MoveRefused('rows of the account are locked for too long: try again');
          }
        }),
      );
    });
    await deleteLeft(locking, from, account);
    await onStage('finished');
    return pauseMs;
  });
}

interface Under extends Required<MoveOptions> {
  readonly front: pg.Client;
  readonly locking: pg.Client;
  readonly reading: pg.Client;
  readonly writing: pg.Client;
  readonly from: Deps;
  readonly to: Deps;
  readonly account: string;
  readonly tables: readonly Table[];
}

/** The part of a move in which requests of the account wait. @returns how long it took, in ms */
async function underHold(under: Under): Promise<number> {
  const { front, writing, from, to, account, say, onStage } = under;
  const since = monotonicMs();
  const end = await holdRequests(front, from, to, account);
  try {
    await awaitJobs(front, account, say, HELD_JOBS_MS);
    await onStage('held');
    const movedAt = await copyAndSwitch(under);
    await onStage('switched');
    await showAccount(writing, account, movedAt);
    return monotonicMs() - since;
  } finally {
    await end();
  }
}

/** @returns the number of the move */
async function copyAndSwitch(under: Under): Promise<number> {
  const { front, locking, reading, writing, from, to, account, tables, say, onStage } = under;
  await locking.query(`BEGIN; SET LOCAL lock_timeout = ${LOCK_MS}`);
  const movedAt = await lockAccount(locking, account);
  if ((await holdJobs(front, account)) > 0) throw new MoveRefused('a job of the account has just begun: try again');
  await requireDone(locking, account);
  // This snapshot is taken under the locks.
  await reading.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  await writing.query('BEGIN');
  const copied = await copyAccount(reading, writing, account, from.cell, movedAt, tables, say);
  await writing.query('COMMIT');
  await onStage('copied');
  await requireCodes(locking, from, account);
  if (await tellGuests(locking, to, account)) await noteArrivingGuest(to.db, account, from.cell);
  await letGo(locking, account, to.cell, movedAt, copied);
  const { rowCount } = await writing.query('SELECT 1 FROM arriving_rows WHERE account_id = $1', [account]);
  if (rowCount !== [...copied.values()].reduce((sum, rows) => sum + rows, 0))
    throw new MoveRefused('the copy was changed');
  await locking.query('COMMIT');
  return movedAt;
}

/**
 * Takes an account out of service in a cell that has an older state of it than another cell, as after a restore from a backup of before a
 * move. Nothing is deleted, because the older state may have been served while the other cell was silent.
 */
async function setAside(older: Deps, newer: Deps, account: string): Promise<void> {
  // Without `withAccount`: neither cell need be served yet.
  await withCell(older, async (client) => {
    await client.query(`BEGIN; SET LOCAL lock_timeout = ${LOCK_MS}`);
    await client.query(`SELECT pg_advisory_xact_lock(${LOCK_OF_MOVES})`, [account]);
    const [there, here] = await Promise.all([newer, older].map(({ db }) => findAccount(db, account)));
    if (here === undefined || there === undefined || here.movedAt >= there.movedAt) return;
    await lockAccount(client, account);
    // Also a job that runs, by the backup: its runner finds no row to end.
    const own = forAccount(JOBS_OF_ACCOUNT, account);
    await client.query(`UPDATE jobs t SET held_by = $1, held_at = now_ms() WHERE ${own}`, [holderOf(account)]);
    await client.query(KEEP_NAMES, [account]);
    await hideActing(client, account);
    await client.query(HIDE_EVENTS, [account, LEFT]);
    await client.query("SELECT pg_notify(c, $1) FROM unnest('{account_changed,account_moved}'::text[]) AS c", [
      account,
    ]);
    await client.query('COMMIT');
    older.log.error(
      { alarm: 'account_twice', account, cell: older.cell, newer: newer.cell },
      'an account is in two cells, as after a restore: the older state is not served',
    );
  });
}

/**
 * Serves a state of an account again that was set aside in a cell, where the cell with the later one came back without the account.
 * @returns false if the cell keeps none @throws MoveRefused, also while an event of another account has the code of one of its events
 */
export const serveKept = (cell: Deps, account: string): Promise<boolean> =>
  withAccount(cell, account, async (client) => {
    await requireLatest(cell, account);
    const { rows } = await client.query<{ code: string }>(
      'SELECT lower(code) AS code FROM voting_events WHERE account_id = $1 AND code_key = $2 || id',
      [account, LEFT],
    );
    // The claims last until the events are shown: a creation under way, which `findCell` does not see, would get the same code.
    return inTransaction(cell.db, async (tx) => {
      for (const { code } of rows) {
        const refused = `the code ${code} of one of its events is another event’s now: change that one first`;
        await claimCode(tx, cell, code).catch((fault: unknown) => {
          throw fault instanceof ApiError ? new MoveRefused(refused) : fault;
        });
        if ((await findCell([...cell.cells.values()], code)) !== undefined) throw new MoveRefused(refused);
      }
      return showAccount(client, account);
    });
  });

/**
 * Sets aside what a cell has in an older state than another one. Call before a cell is served; a cell that was away may have another database.
 * @returns the cells that could not be read, or still have an older state: do not begin to serve them
 */
export async function setOlderAside(cells: readonly Deps[]): Promise<ReadonlySet<Deps>> {
  const unclear = new Set<Deps>();
  // A fault must keep neither the other accounts from being set aside, nor the other cells from being served.
  const note = (cell: Deps, account?: string) => (fault: unknown) => {
    unclear.add(cell);
    const { cell: name, log } = cell;
    log.warn({ cell: name, account, fault: summariseFault(fault) }, 'older states of accounts were not set aside');
    return undefined;
  };
  for (const newer of cells) {
    const moved = await newer.db.$client
      .query('SELECT id, moved_at AS at FROM accounts WHERE moved_at > 0')
      .catch(note(newer));
    const rows = moved?.rows ?? [];
    for (const older of rows.length === 0 ? [] : cells.filter((cell) => cell !== newer)) {
      const found = await older.db.$client
        .query(
          'SELECT a.id FROM accounts a JOIN unnest($1::text[], $2::bigint[]) AS n (id, at) USING (id) WHERE a.moved_at < n.at',
          [rows.map(({ id }) => id), rows.map(({ at }) => at)],
        )
        .catch(note(older));
      for (const { id } of found?.rows ?? []) await setAside(older, newer, id).catch(note(older, id));
    }
  }
  return unclear;
}
