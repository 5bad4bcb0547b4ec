import { sql } from 'drizzle-orm';
import { noteGuestCell } from '#src/accounts/guests.ts';
import { isTrue, valuesOf } from '#src/database/client.ts';
import { firstOfCells, requireArrived, servedCells } from '#src/database/other-cells.ts';
import type { Deps } from '#src/deps.ts';
import { arrivingCode } from '#src/voting-events/code-claims.ts';
import { movedTo } from './finish-move.ts';

/** The tables of objects that are found without a key, by the prefix of their IDs. */
const OPEN = new Map([
  ['evt', 'voting_events'],
  ['biz', 'payment_businesses'],
  ['pay', 'payment_attempts'],
]);
const TABLES = new Map([...OPEN, ['acc', 'accounts'], ['key', 'api_keys']]);
const prefixOf = (id: string): string => id.split('_')[0] ?? '';

/** Finds the cell with an object's ID or an event's code; undefined if none has it. @throws the fault of a cell that could not be asked */
export function findCell(cells: readonly Deps[], named: string): Promise<Deps | undefined> {
  const table = TABLES.get(prefixOf(named));
  const isNamed =
    table === undefined
      ? sql`SELECT EXISTS (SELECT 1 FROM voting_events WHERE code_key = ${named.toLowerCase()})`
      : sql`SELECT EXISTS (SELECT 1 FROM ${sql.identifier(table)} WHERE id = ${named})`;
  return firstOfCells(cells, async (cell) => ((await isTrue(cell.db, isNamed)) ? cell : undefined));
}

/**
 * Finds the account of an event, business or payment and the cell that has them; undefined if none has.
 * @throws CellSilent if the account is between two cells; the fault of a cell that could not be asked
 */
export async function findOwner(
  cells: readonly Deps[],
  id: string,
): Promise<{ account: string; cell: Deps } | undefined> {
  const table = OPEN.get(prefixOf(id));
  if (table === undefined) return undefined;
  const living = table === 'voting_events' ? sql`AND deleted_at IS NULL` : sql``;
  const owner = sql`SELECT account_id FROM ${sql.identifier(table)} WHERE id = ${id} ${living}`;
  const ask = () =>
    firstOfCells(cells, async (cell) => {
      const [account] = await valuesOf<string>(cell.db, owner);
      return account === undefined ? undefined : { account, cell };
    });
  const found = await ask();
  if (found !== undefined) return found;
  await requireArrived(cells, table, 'id', id);
  // Ask again: the account may have arrived in its new cell after that cell was asked.
  return ask();
}

/** The old and the new cell of an account whose move was interrupted after the switch; undefined if there is no such move. */
export function findCutMove(cells: readonly Deps[], account: string): Promise<{ from: Deps; to: Deps } | undefined> {
  return firstOfCells(cells, async (from) => {
    const to = from.cells.get((await movedTo(from.db, account))?.cell ?? '');
    return to && { from, to };
  });
}

/**
 * Whether an event that a request did not find in its cell is in another cell now, or moving there. Only events that the account may see
 * count, so that it learns of no other event. Silent cells are not asked.
 */
export async function hasMoved(deps: Deps, accountId: string, named: string): Promise<boolean> {
  if (deps.cells.size === 1) return false;
  const code = named.toLowerCase();
  const seen = sql`SELECT e.account_id AS account, e.deleted_at IS NULL AS lives FROM voting_events e
    WHERE (e.id = ${named} OR e.code_key IN (${code}, ${arrivingCode(code)}))
      AND (e.deleted_at IS NULL OR starts_with(e.code_key, ${arrivingCode('')}))
      AND (e.account_id = ${accountId} OR (${accountId} = '' AND e.log_open) OR EXISTS (
        SELECT 1 FROM event_invites i WHERE i.voting_event_id = e.id AND i.account_id = ${accountId}))`;
  const places = [deps, ...servedCells(deps)].map(async (cell) => {
    const { rows } = await cell.db.execute<{ account: string; lives: boolean }>(seen);
    return rows.map((row) => ({ ...row, cell }));
  });
  const found = (await Promise.allSettled(places)).flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
  const living = found.filter(({ lives }) => lives);
  if (living.length > 0) {
    // A guest's cell that was restored from a backup lacks the entry for the event's cell: add it, so that the next request finds it.
    for (const { cell, account } of living)
      if (cell !== deps && account !== accountId) await noteGuestCell(deps.db, accountId, cell.cell);
    return living.every(({ cell }) => cell !== deps);
  }
  // Only a hidden copy was found. Unless its move has switched, the event was deleted in its own cell.
  const [arriving] = found;
  if (arriving === undefined) return false;
  const cut = findCutMove([...deps.cells.values()], arriving.account);
  return cut.then(
    (move) => move !== undefined,
    () => true,
  );
}
