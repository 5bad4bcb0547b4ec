import { sql } from 'drizzle-orm';
import { isTrue } from '#src/database/client.ts';
import { firstOfCells } from '#src/database/other-cells.ts';
import type { Deps } from '#src/deps.ts';
import { movedTo } from './finish-move.ts';

/** Where a thing stands, by the prefix of its ID. */
const TABLES: Readonly<Record<string, string>> = {
  acc: 'accounts',
  evt: 'voting_events',
  key: 'api_keys',
  biz: 'payment_businesses',
  pay: 'payment_attempts',
};

/** The cell with what an ID or an event's code names; undefined if none has it. @throws the fault of a cell that could not be asked */
export function findCell(cells: readonly Deps[], named: string): Promise<Deps | undefined> {
  const table = TABLES[named.split('_')[0] ?? ''];
  const isNamed =
    table === undefined
      ? sql`SELECT EXISTS (SELECT 1 FROM voting_events WHERE code_key = ${named.toLowerCase()})`
      : sql`SELECT EXISTS (SELECT 1 FROM ${sql.identifier(table)} WHERE id = ${named})`;
  return firstOfCells(cells, async (cell) => ((await isTrue(cell.db, isNamed)) ? cell : undefined));
}

/** The cell that is letting an account go, and the one that gets it; undefined unless its move was cut off after the switch. */
export function findCutMove(cells: readonly Deps[], account: string): Promise<{ from: Deps; to: Deps } | undefined> {
  return firstOfCells(cells, async (from) => {
    const to = from.cells.get((await movedTo(from.db, account)) ?? '');
    return to && { from, to };
  });
}
