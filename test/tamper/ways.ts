import type { Pool } from 'pg';

/** What somebody does who can write to the database as its owner. */
export interface Tampering {
  readonly table: string;
  /** Null where whole rows are meant. */
  readonly column: string | null;
  readonly way: 'change' | 'swap' | 'delete one' | 'delete all' | 'add a copy' | Replay;
  /** `$1` is the ID of the event. */
  readonly statement: string;
}

type Replay = 'put earlier rows back' | 'add earlier rows' | 'add rows of another election' | 'add rows of a poll';

/** Where whole rows are kept that somebody copied at an earlier moment, or from another event. */
export type Keeping = 'earlier' | 'election' | 'poll';

interface Column {
  readonly table: string;
  readonly name: string;
  readonly type: string;
  readonly isKey: boolean;
  readonly isGenerated: boolean;
}

/** Every column of every table that has rows of an event, as the catalogue knows them. */
async function readColumns(pool: Pool): Promise<Column[]> {
  const { rows } = await pool.query<Column>(`
    SELECT c.relname AS table, a.attname AS name, format_type(a.atttypid, NULL) AS type,
      a.attgenerated <> '' AS "isGenerated",
      EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique AND a.attnum = ANY (i.indkey)) AS "isKey"
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
      AND (c.relname = 'voting_events' OR EXISTS (SELECT 1 FROM pg_attribute e
        WHERE e.attrelid = c.oid AND e.attname = 'voting_event_id' AND NOT e.attisdropped))
    ORDER BY c.relname, a.attnum`);
  return rows;
}

const eventColumn = (table: string): string => (table === 'voting_events' ? 'id' : 'voting_event_id');

const OTHER_VALUES: Readonly<Record<string, string>> = {
  bigint: 'coalesce(%s, 0) + 1',
  integer: 'coalesce(%s, 0) + 1',
  smallint: 'coalesce(%s, 0) + 1',
  numeric: 'coalesce(%s, 0) + 1',
  boolean: 'NOT coalesce(%s, false)',
  text: "coalesce(%s, '') || 'x'",
  bytea:
    "CASE WHEN length(%s) > 0 THEN set_byte(%s, length(%s) / 2, get_byte(%s, length(%s) / 2) # 1) ELSE '\\x01' END",
  jsonb: "'{}'::jsonb",
  'text[]': "array_append(%s, 'x')",
  'bigint[]': 'array_append(%s, 1::bigint)',
};

function otherValue({ name, type }: Column): string {
  const value = OTHER_VALUES[type];
  if (value === undefined) throw new Error(`no other value is known for a column of the type ${type}`);
  return value.replaceAll('%s', `t."${name}"`);
}

/** Every way to tamper with an event: each column changed and swapped between two rows, rows deleted, and rows doubled. */
export async function listTamperings(pool: Pool): Promise<Tampering[]> {
  const columns = await readColumns(pool);
  return [...Map.groupBy(columns, ({ table }) => table)].flatMap(([table, own]): Tampering[] => {
    const of = eventColumn(table);
    const first = `SELECT ctid FROM ${table} WHERE ${of} = $1 ORDER BY ctid LIMIT 1`;
    const changed = own.filter(({ name }) => name !== of);
    const copied = own.map((column) =>
      column.isKey && column.name !== of ? `${otherValue(column)} AS "${column.name}"` : `t."${column.name}"`,
    );
    const rows: Tampering[] = [
      { table, column: null, way: 'delete one', statement: `DELETE FROM ${table} WHERE ctid IN (${first})` },
      { table, column: null, way: 'delete all', statement: `DELETE FROM ${table} WHERE ${of} = $1` },
      {
        ...{ table, column: null, way: 'add a copy' },
        statement: `INSERT INTO ${table} SELECT ${copied.join(', ')} FROM ${table} t WHERE t.ctid IN (${first})`,
      },
    ];
    return [
      ...(table === 'voting_events' ? [] : rows),
      ...changed.flatMap((column): Tampering[] => [
        {
          ...{ table, column: column.name, way: 'change' },
          statement: `UPDATE ${table} t SET "${column.name}" = ${otherValue(column)} WHERE t.ctid IN (${first})`,
        },
        ...(column.isKey || table === 'voting_events'
          ? []
          : [
              {
                ...{ table, column: column.name, way: 'swap' as const },
                statement: `
                  WITH apart AS (SELECT DISTINCT ON ("${column.name}") ctid AS place, "${column.name}" AS value FROM ${table}
                    WHERE ${of} = $1 ORDER BY "${column.name}", ctid LIMIT 2)
                  UPDATE ${table} t SET "${column.name}" = other.value
                  FROM apart AS own JOIN apart AS other ON other.place <> own.place WHERE t.ctid = own.place`,
              },
            ]),
      ]),
    ];
  });
}

/** Copies every row of an event, for `listReplays`: the latest copy of each kind is kept. */
export async function keepRows(pool: Pool, kept: Keeping, eventId: string): Promise<void> {
  const tables = new Set((await readColumns(pool)).map(({ table }) => table));
  const copies = [...tables].map(
    (table) => `CREATE TABLE ${kept}.${table} AS SELECT * FROM ${table} WHERE ${eventColumn(table)} = '${eventId}'`,
  );
  await pool.query([`DROP SCHEMA IF EXISTS ${kept} CASCADE`, `CREATE SCHEMA ${kept}`, ...copies].join('; '));
}

/** Every table's whole, well-formed rows of an earlier moment, of another election and of a poll, put among those of an event. */
export async function listReplays(pool: Pool): Promise<Tampering[]> {
  return [...Map.groupBy(await readColumns(pool), ({ table }) => table)].flatMap(([table, own]): Tampering[] => {
    const of = eventColumn(table);
    const written = own.filter(({ isGenerated }) => !isGenerated).map(({ name }) => `"${name}"`);
    const values = written.map((name) => (name === `"${of}"` ? '$1' : `k.${name}`)).join(', ');
    const insert = (kept: Keeping, when = 'true') =>
      `INSERT INTO ${table} (${written.join(', ')}) OVERRIDING SYSTEM VALUE SELECT ${values} FROM ${kept}.${table} k WHERE ${when}`;
    const add = (way: Replay, kept: Keeping): Tampering => ({
      ...{ table, column: null, way },
      statement: `${insert(kept)} ON CONFLICT DO NOTHING`,
    });
    return [
      {
        ...{ table, column: null, way: 'put earlier rows back' },
        statement: `WITH gone AS (DELETE FROM ${table} WHERE ${of} = $1 RETURNING 1) ${insert('earlier', '(SELECT count(*) FROM gone) >= 0')}`,
      },
      ...(table === 'voting_events'
        ? []
        : [
            add('add earlier rows', 'earlier'),
            add('add rows of another election', 'election'),
            add('add rows of a poll', 'poll'),
          ]),
    ];
  });
}

/**
 * Runs a statement as the owner of the tables does who takes their guards away, and has every process read the ballot
 * definition again.
 * @returns how many rows it touched; undefined where the database refuses it whatever the guards
 */
export async function tamper(pool: Pool, { statement }: Tampering, eventId: string): Promise<number | undefined> {
  const client = await pool.connect();
  try {
    await client.query("SET session_replication_role = 'replica'");
    const { rowCount } = await client.query(statement, [eventId]);
    if (rowCount === 0) return 0;
    await client.query('UPDATE voting_events SET paper_version = paper_version + 1 WHERE id = $1', [eventId]);
    return rowCount ?? 0;
  } catch (fault) {
    // A constraint that holds for everybody, or a value that fits in no column.
    if (fault instanceof Error && 'code' in fault && /^(22|23|428C9)/.test(String(fault.code))) return undefined;
    throw fault;
  } finally {
    await client.query("SET session_replication_role = 'origin'");
    client.release();
  }
}
