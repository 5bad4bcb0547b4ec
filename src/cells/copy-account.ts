import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { arrivingCode } from '#src/voting-events/code-claims.ts';
import {
  ACTING,
  forAccount,
  LEFT,
  listTables,
  livingEvents,
  ofHiddenEvents,
  ofLivingEvents,
  SHARED,
  SOURCES,
  type Table,
  tablesOfEvents,
} from './account-rows.ts';

const listOf = (columns: readonly string[], of = ''): string =>
  columns.map((column) => of + pg.escapeIdentifier(column)).join(', ');

/** Copies the rows of a query into a table of another database. @returns how many */
async function copyRows(from: pg.Client, to: pg.Client, select: string, into: string): Promise<number> {
  const source = from.query(copyTo(`COPY (${select}) TO STDOUT (FORMAT binary)`));
  const target = to.query(copyFrom(`COPY ${into} FROM STDIN (FORMAT binary)`));
  await pipeline(source, target);
  if (source.rowCount !== target.rowCount) throw new Error(`${target.rowCount} of ${source.rowCount} rows were copied`);
  return target.rowCount;
}

/** The number of copied rows of each table of `ACTING`. The switch must delete as many rows: a difference means a change since the copy. */
export type Copied = ReadonlyMap<string, number>;

const FIGURES = 'roll_figures';

/** A checksum of rows: the sum over their tags, independent of their order. */
const sumOfTags = (table: string, condition: string): string =>
  `SELECT coalesce(sum(hashtextextended(encode(t.tag, 'hex'), 0)::numeric), 0)::text AS sum FROM ${table} t WHERE ${condition}`;

const WAITING = 'arriving_rows (account_id, from_cell, place, table_name, content)';

/** A query of the rows of `ACTING` of an account, as they stand in `arriving_rows`. */
function selectActing(account: string, cell: string): string {
  const acting = Object.entries(ACTING).map(
    ([name, condition]) =>
      `SELECT ${pg.escapeLiteral(name)} AS name, row_to_json(t) AS row FROM ${name} t WHERE ${forAccount(condition, account)}`,
  );
  const own = `${pg.escapeLiteral(account)}::text, ${pg.escapeLiteral(cell)}::text`;
  return `SELECT ${own}, row_number() OVER (), name, row FROM (${acting.join(' UNION ALL ')}) AS w`;
}

/** Puts the rows of `ACTING` of an account aside in their own cell, where no move shows them. In a transaction with the account's locks. */
export async function hideActing(client: pg.Client, account: string): Promise<void> {
  await client.query(`INSERT INTO ${WAITING} ${selectActing(account, '')}`);
  for (const [table, condition] of Object.entries(ACTING).toReversed())
    await client.query(`DELETE FROM ${table} t WHERE ${forAccount(condition, account)}`);
}

/**
 * Copies an account into another cell and keeps it hidden there: events are marked as deleted, rows of `ACTING` go to `arriving_rows`.
 * @param cell the name of the source cell @param movedAt the number of this move
 */
export async function copyAccount(
  from: pg.Client,
  to: pg.Client,
  account: string,
  cell: string,
  movedAt: number,
  tables: readonly Table[],
  say: (line: string) => void,
): Promise<Copied> {
  const tableOf = (name: string): Table => {
    const found = tables.find((one) => one.name === name);
    if (found === undefined) throw new Error(`there is no table ${name}`);
    return found;
  };
  /** Copies through a temporary table: for rows that must be changed, or that the target may already have. */
  const copyAside = async ({ name, columns }: Table, condition: string, change?: string): Promise<void> => {
    const aside = pg.escapeIdentifier(`moving_${name}`);
    await to.query(`CREATE TEMP TABLE ${aside} (LIKE ${name}) ON COMMIT DROP`);
    await copyRows(
      from,
      to,
      `SELECT ${listOf(columns, 't.')} FROM ${forAccount(SOURCES[name] ?? name, account)} t WHERE ${condition}`,
      `${aside} (${listOf(columns)})`,
    );
    if (change !== undefined) await to.query(`UPDATE ${aside} SET ${change}`);
    const unless = change === undefined ? 'ON CONFLICT DO NOTHING' : '';
    await to.query(`INSERT INTO ${name} (${listOf(columns)}) SELECT ${listOf(columns)} FROM ${aside} ${unless}`);
  };
  const hidden = `deleted_at = now_ms(), code_key = ${pg.escapeLiteral(arrivingCode(''))} || code_key`;
  await copyAside(tableOf('voting_events'), forAccount(livingEvents, account), hidden);
  const condition = forAccount(ofLivingEvents, account);
  const arriving = forAccount(ofHiddenEvents, account);
  const used = tablesOfEvents(tables).map(
    ({ name }) => `SELECT '${name}' AS name WHERE EXISTS (SELECT FROM ${name} t WHERE ${condition})`,
  );
  const { rows: named } = await from.query<{ name: string }>(used.join(' UNION ALL '));
  // Triggers count the inserted voters. The source's figures replace these counts at the end, because they also say who voted.
  const ofEvents = tablesOfEvents(tables).filter(
    ({ name }) => name !== FIGURES && named.some((one) => one.name === name),
  );
  for (const { name, columns, isTagged } of [...ofEvents, tableOf(FIGURES)]) {
    if (name === FIGURES) await to.query(`DELETE FROM ${FIGURES} t WHERE ${arriving}`);
    const select = `SELECT ${listOf(columns, 't.')} FROM ${name} t WHERE ${condition}`;
    const rows = await copyRows(from, to, select, `${name} (${listOf(columns)})`);
    if (rows >= 10_000) say(`copied ${rows} rows of ${name}`);
    if (!isTagged || rows === 0) continue;
    const sums = [await from.query(sumOfTags(name, condition)), await to.query(sumOfTags(name, arriving))];
    if (sums[0]?.rows[0].sum !== sums[1]?.rows[0].sum)
      throw new Error(`the rows of ${name} did not arrive as they were`);
  }
  for (const [name, condition] of Object.entries(SHARED))
    await copyAside(tableOf(name), forAccount(condition, account));
  await copyRows(from, to, selectActing(account, cell), WAITING);
  await to.query(
    `UPDATE arriving_rows SET content = (content::jsonb || jsonb_build_object('moved_at', $2::bigint))::json
     WHERE account_id = $1 AND table_name = 'accounts'`,
    [account, movedAt],
  );
  const { rows } = await to.query<{ name: string; count: number }>(
    'SELECT table_name AS name, count(*)::int AS count FROM arriving_rows WHERE account_id = $1 GROUP BY 1',
    [account],
  );
  return new Map(rows.map(({ name, count }) => [name, count]));
}

/**
 * Moves an account's rows from `arriving_rows` to their tables and shows its events, if they are those of the move with this number, in which
 * the old cell has let it go. Others belong to a later move that has not switched, or to an earlier one, as after a restore from a backup.
 * Without a number, shows what was set aside. Call on the connection with the account's lock. Idempotent.
 * @returns whether there was anything to show
 */
export async function showAccount(client: pg.Client, account: string, movedAt?: number): Promise<boolean> {
  const copied = await client.query(
    `SELECT FROM arriving_rows WHERE account_id = $1 AND table_name = 'accounts' AND CASE WHEN $2::bigint IS NULL THEN from_cell = ''
       ELSE from_cell <> '' AND (content ->> 'moved_at')::bigint = $2 END`,
    [account, movedAt],
  );
  if (copied.rowCount === 0) return false;
  await client.query('BEGIN');
  const tables = await listTables(client);
  for (const name of Object.keys(ACTING)) {
    const columns = listOf(tables.find((one) => one.name === name)?.columns ?? []);
    await client.query(
      `INSERT INTO ${name} (${columns}) SELECT ${columns} FROM (
         SELECT (json_populate_record(NULL::${name}, content)).* FROM arriving_rows WHERE account_id = $1 AND table_name = $2) AS r
       ON CONFLICT DO NOTHING`,
      [account, name],
    );
  }
  await client.query("UPDATE jobs SET held_by = NULL, held_at = NULL WHERE held_by = 'move ' || $1", [account]);
  await client.query(
    `UPDATE voting_events SET deleted_at = NULL, code_key = lower(code) WHERE account_id = $1 AND code_key = ${movedAt === undefined ? '$2 || id' : '$2 || lower(code)'}`,
    [account, movedAt === undefined ? LEFT : arrivingCode('')],
  );
  await client.query('DELETE FROM arriving_rows WHERE account_id = $1', [account]);
  await client.query("SELECT pg_notify('account_moved', $1), pg_notify('job_added', '')", [account]);
  await client.query('COMMIT');
  return true;
}
