import { sql } from 'drizzle-orm';
import type { Deps } from '#src/deps.ts';
import { monotonicMs } from '#src/platform/clock.ts';
import { isTrue } from './client.ts';

/** The cell (a database with whole accounts) of DATABASE_URL. It also holds the service's own log, and the claims of codes. */
export const MAIN_CELL = 'main';

/** Four heartbeats, so that a process that was busy for a moment does not consider its databases silent. */
const SILENT_AFTER_MS = 2_000;

export const isSilent = ({ standing }: Pick<Deps, 'standing'>): boolean =>
  !standing.isServed || monotonicMs() - standing.answeredAt > SILENT_AFTER_MS;

type Cells = Pick<Deps, 'cell' | 'cells'>;

/** All other cells; none if the service has one database. */
export const otherCells = ({ cell, cells }: Cells): Deps[] =>
  cells.size === 1 ? [] : [...cells.values()].filter((other) => other.cell !== cell);

/** The main cell; the given cell if it was made without other cells. */
export const mainOf = <Cell extends Pick<Deps, 'cells'>>(deps: Cell): Cell | Deps => deps.cells.get(MAIN_CELL) ?? deps;

/** The other cells that answer now: for questions whose answer must not wait for a silent cell. */
export const servedCells = (deps: Cells): Deps[] => otherCells(deps).filter((cell) => !isSilent(cell));

/** Thrown if a cell does not answer, so that its content is unknown. Becomes a 500 with `Retry-After`. */
export class CellSilent extends Error {
  override readonly name = 'CellSilent';
}

/** @throws CellSilent until the cell's database was found to belong to this service */
export function requireServed(cell: Deps): Deps {
  if (!cell.standing.isServed) throw new CellSilent(`cell ${cell.cell} is not served yet`);
  return cell;
}

class NothingThere extends Error {}

/** Asks all cells at once. @returns the first answer; undefined if no cell has one @throws a cell's fault if no other cell has an answer */
export async function firstOfCells<T>(
  cells: readonly Deps[],
  ask: (cell: Deps) => Promise<T | undefined>,
): Promise<T | undefined> {
  const answers = cells.map(async (cell) => {
    const found = await ask(requireServed(cell));
    if (found === undefined) throw new NothingThere();
    return found;
  });
  // Returns as soon as one cell has an answer: a silent cell delays only questions that no other cell can answer.
  return Promise.any(answers).catch((fault: unknown) => {
    const faults: unknown[] = fault instanceof AggregateError ? fault.errors : [fault];
    const cause = faults.find((one) => !(one instanceof NothingThere));
    if (cause !== undefined) throw cause;
    return undefined;
  });
}

/**
 * Call for a row that no cell has, or for an event: its account may be between two cells, if a move was interrupted after the switch. Such a
 * move is finished soon.
 * @throws CellSilent if so
 */
export async function requireArrived(
  cells: readonly Deps[],
  table: string,
  column: string,
  value: string,
): Promise<void> {
  const isArriving = sql`SELECT EXISTS (SELECT FROM arriving_rows WHERE from_cell <> '' AND (table_name = ${table} AND content ->> ${column} = ${value}
    OR account_id = (SELECT account_id FROM voting_events WHERE id = ${value})))`;
  const found = await firstOfCells(cells, async ({ db }) => (await isTrue(db, isArriving)) || undefined);
  if (found === true) throw new CellSilent('an account is between two cells');
}
