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
  readonly accounts?: readonly Held[];
  /** Accounts that left the cell, whose rows are not deleted yet. */
  readonly left?: readonly (Held & { readonly to: string })[];
  /** Accounts whose older state was set aside in the cell. */
  readonly aside?: readonly Held[];
}

/** An account with the number of its last move. */
interface Held {
  readonly id: string;
  readonly at: number;
}

const FIGURES = `
  SELECT (SELECT count(*)::int FROM accounts) AS accounts,
    (SELECT count(*)::int FROM voting_events WHERE deleted_at IS NULL) AS events,
    (SELECT count(*)::int FROM voting_events WHERE deleted_at IS NULL AND rehearsal_since IS NULL AND closed_at IS NULL
      AND (opened_at IS NOT NULL OR starts_at <= now_ms() AND ready) AND coalesce(ends_at > now_ms(), true)) AS open,
    pg_size_pretty(pg_database_size(current_database())) AS size,
    has_table_privilege('accounts', 'INSERT') AND has_table_privilege('voting_events', 'DELETE') AS "mayWrite"`;
const LEFT = 'SELECT account_id AS id, moved_at::float8 AS at, to_cell AS to FROM moved_accounts ORDER BY 1';
const COPIED = `SELECT account_id AS id, from_cell AS "from", (content ->> 'moved_at')::float8 AS at FROM arriving_rows
  WHERE table_name = 'accounts' ORDER BY 1`;

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
  const { rows: copied } = await client.query<Held & { from: string }>(COPIED);
  for (const { id, from } of copied)
    if (from !== '')
      notes.push(
        `${id} is copied here in part: the command goes on, or undoes it with --back   ${commandLine(`cells move-account ${id} --to ${cell}`)}`,
      );
  const { rows: left } = await client.query<Held & { to: string }>(LEFT);
  const { rows: accounts } = await client.query<Held>('SELECT id, moved_at::float8 AS at FROM accounts ORDER BY id');
  const well = mayWrite && !isForeign;
  return {
    row: { cell, state: well ? 'served' : 'not served', schema: state.schema?.number ?? null, ...figures },
    notes,
    ...{ accounts, left, aside: copied.filter(({ from }) => from === '') },
  };
}

/** @param homes of one account that is in several cells */
function sayWhichServes(homes: readonly (Held & { readonly cell: unknown })[]): string {
  const [last, ...others] = homes.toSorted((one, other) => other.at - one.at);
  const names = homes.map(({ cell }) => cell).join(' and ');
  return `${last?.id} is in cells ${names}, as after a restore: ${
    others.some(({ at }) => at === last?.at)
      ? 'nothing says which is the later; serve one of these cells alone'
      : `cell ${last?.cell} has the later state, and serves it alone as soon as the service runs`
  }`;
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
  const homes = new Map<string, (Held & { cell: unknown })[]>();
  for (const { row, accounts = [] } of looks)
    for (const one of accounts) homes.set(one.id, [...(homes.get(one.id) ?? []), { ...one, cell: row['cell'] }]);
  const twice = [...homes.values()].filter(({ length }) => length > 1).map(sayWhichServes);
  const isAnyUnknown = looks.some(({ accounts }) => accounts === undefined);
  const sayLeft = ({ id, at, to }: Held & { to: string }): string =>
    isAnyUnknown || homes.get(id)?.some((home) => home.at >= at) === true
      ? `what is left of ${id}, which is in cell ${to} now, is being deleted   ${commandLine(`cells move-account ${id} --to ${to}`)}`
      : `${id} left for cell ${to}, which lacks what it got, as after a restore: what is left here stays until the newest state of cell ${to} is back`;
  const sayAside = ({ id, at }: Held, cell: unknown): string => {
    const serves = homes.get(id);
    const again = commandLine(`cells move-account ${id} --to ${cell}`);
    if (isAnyUnknown || serves?.some((home) => home.at >= at) === true)
      return `an older state of ${id}, which another cell serves, is kept here: this deletes it   ${again} --back`;
    return serves === undefined
      ? `no cell has ${id}, as after a restore, but for a state that is kept here: this serves it again   ${again}`
      : `a later state of ${id} than cell ${serves[0]?.cell} serves, as after a restore, is kept here: it stays until the newest state of cell ${serves[0]?.cell} is back`;
  };
  const blank = { schema: null, accounts: null, events: null, open: null, size: null };
  const value = looks.map(({ row, notes, left = [], aside = [] }): Row => {
    const kept = aside.map((one) => sayAside(one, row['cell']));
    return { ...blank, ...row, notes: [...notes, ...kept, ...left.map(sayLeft)] };
  });
  return {
    value,
    shown: value.map(({ cell, state, notes: _notes, ...rest }) => ({ cell, state, ...rest })),
    next: [...twice, ...value.flatMap(({ cell, notes }) => (notes as string[]).map((note) => `${cell}: ${note}`))],
    refused: twice.length > 0 || looks.some(({ row }) => row['state'] !== 'served'),
  };
}
