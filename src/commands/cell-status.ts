import type pg from 'pg';
import type { Config } from '#src/config.ts';
import { lookAt } from '#src/database/check-server.ts';
import { explainDatabaseFault } from '#src/database/explain-database-fault.ts';
import { readSchemaState, whatIsLacking } from '#src/database/migrate.ts';
import { MAIN_CELL } from '#src/database/other-cells.ts';
import { readClusterId } from '#src/voting-events/key-places.ts';
import { type Answer, commandLine, type Row } from './cli.ts';

interface Look {
  readonly row: Row;
  /** Problems of the cell, each in one line with its cure. */
  readonly notes: readonly string[];
  readonly accounts?: readonly string[];
}

const FIGURES = `
  SELECT (SELECT count(*)::int FROM accounts) AS accounts,
    (SELECT count(*)::int FROM voting_events WHERE deleted_at IS NULL) AS events,
    (SELECT count(*)::int FROM voting_events WHERE deleted_at IS NULL AND rehearsal_since IS NULL AND closed_at IS NULL
      AND (opened_at IS NOT NULL OR starts_at <= now_ms() AND ready) AND coalesce(ends_at > now_ms(), true)) AS open,
    pg_size_pretty(pg_database_size(current_database())) AS size,
    has_table_privilege('accounts', 'INSERT') AND has_table_privilege('voting_events', 'DELETE') AS "mayWrite"`;
const HALF_DONE = `
  SELECT account_id AS account, to_cell AS cell, true AS switched FROM moved_accounts
  UNION ALL SELECT DISTINCT account_id, NULL, false FROM arriving_rows ORDER BY 1`;

async function lookInto(client: pg.Client, cell: string, clusterId: string | undefined): Promise<Look> {
  const state = await readSchemaState(client);
  const lacking = whatIsLacking(state);
  const migrate = commandLine(cell === MAIN_CELL ? 'migrate' : `migrate --cell ${cell}`);
  if (lacking !== undefined)
    return {
      row: { cell, state: 'not served', schema: state.schema?.number ?? null },
      notes: [`${lacking}   ${migrate}`],
    };
  const { rows } = await client.query<Row & { mayWrite: boolean }>(FIGURES);
  const { mayWrite, ...figures } = rows[0] ?? { mayWrite: false };
  const own = await readClusterId(client);
  const isForeign = clusterId !== undefined && own !== undefined && own !== clusterId;
  const notes: string[] = [];
  if (!mayWrite) notes.push('this role may not write: run deploy/roles.sql in its database');
  if (isForeign) notes.push('it was made for another service: name an empty database in DATABASE_CELLS');
  const cut = await client.query<{ account: string; cell: string | null; switched: boolean }>(HALF_DONE);
  for (const { account, cell: to, switched } of cut.rows) {
    const again = commandLine(`cells move-account ${account} --to ${to ?? cell}`);
    notes.push(
      switched
        ? `what is left of ${account}, which is in cell ${to} now, is being deleted   ${again}`
        : `${account} is copied here in part: the command goes on, or undoes it with --back   ${again}`,
    );
  }
  const { rows: accounts } = await client.query<{ id: string }>('SELECT id FROM accounts ORDER BY id');
  const well = mayWrite && !isForeign;
  return {
    row: { cell, state: well ? 'served' : 'not served', schema: state.schema?.number ?? null, ...figures },
    notes,
    accounts: accounts.map(({ id }) => id),
  };
}

/** `cells status`: reads each cell separately, so that a cell that is down does not hide the others. */
export async function showCells(config: Config, url: string): Promise<Answer> {
  const identity = await lookAt(url, readClusterId).catch(() => undefined);
  const places = [{ name: MAIN_CELL, url }, ...config.databaseCells];
  const looks = await Promise.all(
    places.map(({ name, url: place }) =>
      lookAt(place, (client) => lookInto(client, name, identity)).catch((fault: unknown): Look => {
        const reason = explainDatabaseFault(fault);
        if (reason === undefined) throw fault;
        return { row: { cell: name, state: 'silent' }, notes: [`the database cannot be used: ${reason}`] };
      }),
    ),
  );
  const all = looks.flatMap(({ accounts = [] }) => accounts);
  const twice = all.length === new Set(all).size ? [] : all.filter((id, at) => all.indexOf(id) !== at);
  const blank = { schema: null, accounts: null, events: null, open: null, size: null };
  const value = looks.map(({ row, notes }): Row => ({ ...blank, ...row, notes }));
  return {
    value,
    shown: value.map(({ cell, state, notes: _notes, ...rest }) => ({ cell, state, ...rest })),
    next: [
      ...twice.map((id) => `${id} is in two cells, as after a restore: serve only the cell that it moved to`),
      ...looks.flatMap(({ row, notes }) => notes.map((note) => `${row['cell']}: ${note}`)),
    ],
    refused: twice.length > 0 || looks.some(({ row }) => row['state'] !== 'served'),
  };
}
