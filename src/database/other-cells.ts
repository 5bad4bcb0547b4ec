import type { Deps } from '#src/deps.ts';
import { monotonicMs } from '#src/platform/clock.ts';

/** The cell of DATABASE_URL. It holds what the service has once: its own log, and claims of codes. */
export const MAIN_CELL = 'main';

/** Four beats: a process that was busy for a moment does not take its databases for silent. */
const SILENT_AFTER_MS = 2_000;

export const isSilent = ({ standing }: Pick<Deps, 'standing'>): boolean =>
  !standing.isServed || monotonicMs() - standing.answeredAt > SILENT_AFTER_MS;

type Cells = Pick<Deps, 'cell' | 'cells'>;

/** The cells that may hold what this one does not; none with one database. */
export const otherCells = ({ cell, cells }: Cells): Deps[] =>
  cells.size === 1 ? [] : [...cells.values()].filter((other) => other.cell !== cell);

/** The main cell; this one where a caller was made without cells. */
export const mainOf = <Cell extends Pick<Deps, 'cells'>>(deps: Cell): Cell | Deps => deps.cells.get(MAIN_CELL) ?? deps;

/** The other cells that can be asked: for questions to which a silent cell must not stop the answer. */
export const servedCells = (deps: Cells): Deps[] => otherCells(deps).filter((cell) => !isSilent(cell));

/** A cell gives no answer, so that what it holds is unknown. Becomes a 500 with `Retry-After`. */
export class CellSilent extends Error {
  override readonly name = 'CellSilent';
}

/** @throws CellSilent before a cell's database was found to be one of this service */
export function requireServed(cell: Deps): Deps {
  if (!cell.standing.isServed) throw new CellSilent(`cell ${cell.cell} is not served yet`);
  return cell;
}

class NothingThere extends Error {}

/** Asks cells at once. @returns the first answer; undefined if none has one @throws the fault of a cell if no other has an answer */
export async function firstOfCells<T>(
  cells: readonly Deps[],
  ask: (cell: Deps) => Promise<T | undefined>,
): Promise<T | undefined> {
  const answers = cells.map(async (cell) => {
    const found = await ask(requireServed(cell));
    if (found === undefined) throw new NothingThere();
    return found;
  });
  // The first answer is taken at once: a silent cell holds up only who is in none of the others.
  return Promise.any(answers).catch((fault: unknown) => {
    const faults: unknown[] = fault instanceof AggregateError ? fault.errors : [fault];
    const cause = faults.find((one) => !(one instanceof NothingThere));
    if (cause !== undefined) throw cause;
    return undefined;
  });
}
