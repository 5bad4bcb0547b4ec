import { sql } from 'drizzle-orm';
import { databaseErrorCode, type Executor, isTrue, type Transaction, valuesOf } from '#src/database/client.ts';
import { firstOfCells, mainOf, otherCells, servedCells } from '#src/database/other-cells.ts';
import type { Deps } from '#src/deps.ts';
import { refuse } from '#src/http/refusals.ts';
import { MINUTE_MS } from '#src/platform/clock.ts';

// A code names only one event of all cells (the service's databases). In a cell a unique index ensures this; between cells, a claim in the
// main cell does. A claim ends with its transaction: then every cell can see the event, or the event never comes.

type Cells = Pick<Deps, 'db' | 'cell' | 'cells'>;

/** The code of an event while it moves to another cell. Meanwhile, no other event may take the code. */
export const arrivingCode = (codeKey: string): string => `arriving/${codeKey}`;

const isTaken = (executor: Executor, codes: readonly string[]): Promise<boolean> =>
  isTrue(executor, sql`SELECT EXISTS (SELECT 1 FROM voting_events WHERE code_key = ANY (${sql.param(codes)}::text[]))`);

/** Whether an event of another cell has a random code. A cell that does not answer is ignored: two random codes are almost never equal. */
export async function isCodeElsewhere(deps: Cells, codeKey: string): Promise<boolean> {
  const asked = await Promise.allSettled(servedCells(deps).map(({ db }) => isTaken(db, [codeKey])));
  return asked.some((one) => one.status === 'fulfilled' && one.value);
}

/** PostgreSQL's error for a transaction ID that the server has not reached: its database was restored from an earlier backup. */
const UNKNOWN_TRANSACTION = '22023';

interface Claim extends Record<string, unknown> {
  readonly cell: string;
  readonly xid: string;
}

/** Whether the transaction of a claim may still commit. @throws the error of a cell that could not be asked */
async function isUnderWay(deps: Cells, { cell, xid }: Claim): Promise<boolean> {
  const there = deps.cells.get(cell);
  if (there === undefined) return false;
  try {
    return await isTrue(there.db, sql`SELECT pg_xact_status(${xid}::xid8) = 'in progress'`);
  } catch (fault) {
    if (databaseErrorCode(fault) === UNKNOWN_TRANSACTION) return false;
    throw fault;
  }
}

/** A claim this old has ended, whatever its cell says, because a transaction without a statement for five seconds is ended. */
const STALE_MS = MINUTE_MS;

/**
 * Whether an event is just being given one of these codes. A move of an event calls this when its copy is in the new cell: a later claim of
 * the code sees the copy, and an earlier claim may not have seen it. @throws the error of a cell that could not be asked
 */
export async function isCodeAskedFor(deps: Cells, codes: readonly string[]): Promise<boolean> {
  const { rows } = await mainOf(deps).db.execute<Claim>(sql`SELECT cell, xid FROM code_claims
    WHERE code_key = ANY (${sql.param(codes)}::text[]) AND claimed_at > now_ms() - ${STALE_MS}::bigint`);
  for (const claim of rows) if (await isUnderWay(deps, claim)) return true;
  return false;
}

/**
 * Claims a code that an organizer chose, in the transaction that writes it.
 * @throws ApiError 409 `code_in_use`; the error of a cell that could not be asked, which becomes a 500 with `Retry-After`
 */
export async function claimCode(tx: Transaction, deps: Cells, codeKey: string): Promise<void> {
  if (deps.cells.size === 1) return;
  const inUse = () => refuse('code_in_use', { field: 'code' });
  const [xid = ''] = await valuesOf<string>(tx, sql`SELECT pg_current_xact_id()::text`);
  const main = mainOf(deps).db;
  // Each round takes over a claim that has ended. Meanwhile another process may do the same.
  for (let round = 0; ; round += 1) {
    const { rows } = await main.execute<Claim>(sql`SELECT cell, xid FROM code_claims WHERE code_key = ${codeKey}
      AND claimed_at > now_ms() - ${STALE_MS}::bigint AND (cell, xid) <> (${deps.cell}, ${xid})`);
    const [held] = rows;
    if (round > 3 || (held !== undefined && (await isUnderWay(deps, held)))) throw inUse();
    const over = held ?? { cell: '', xid: '' };
    const claimed = await isTrue(
      main,
      sql`INSERT INTO code_claims AS c (code_key, cell, xid, claimed_at) VALUES (${codeKey}, ${deps.cell}, ${xid}, now_ms())
        ON CONFLICT (code_key) DO UPDATE SET cell = excluded.cell, xid = excluded.xid, claimed_at = excluded.claimed_at
        WHERE (c.cell, c.xid) IN ((${over.cell}, ${over.xid}), (${deps.cell}, ${xid})) OR c.claimed_at <= now_ms() - ${STALE_MS}::bigint
        RETURNING true`,
    );
    if (claimed) break;
  }
  const arriving = arrivingCode(codeKey);
  const ask = async ({ db }: Pick<Deps, 'db'>) => ((await isTaken(db, [codeKey, arriving])) ? true : undefined);
  if ((await isTaken(tx, [arriving])) || (await firstOfCells(otherCells(deps), ask)) === true) throw inUse();
}
