import type pg from 'pg';

type Client = Pick<pg.Pool | pg.Client, 'query'>;

const TABLES = `
SELECT c.relname AS name, c.relpersistence = 'u' AS unlogged, c.reloptions AS options,
  (SELECT json_agg(json_build_array(a.attname, format_type(a.atttypid, a.atttypmod), pg_get_expr(d.adbin, d.adrelid),
      a.attnotnull, a.attidentity, a.attgenerated, co.collname, a.attstorage <> t.typstorage, a.attcompression, a.attoptions) ORDER BY a.attnum)
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    LEFT JOIN pg_collation co ON co.oid = a.attcollation AND co.collname <> 'default'
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns,
  -- NOT NULL stands at the column; only newer servers keep it as a constraint too.
  (SELECT coalesce(json_agg(json_build_array(k.conname, pg_get_constraintdef(k.oid)) ORDER BY k.contype <> 'p', k.conname), '[]')
    FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype <> 'n') AS constraints,
  (SELECT coalesce(json_agg(pg_get_indexdef(i.indexrelid) ORDER BY i.indexrelid::regclass::text), '[]') FROM pg_index i
    WHERE i.indrelid = c.oid AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.conrelid = c.oid)) AS indexes,
  (SELECT coalesce(json_agg(pg_get_triggerdef(t.oid) || CASE t.tgenabled WHEN 'O' THEN '' ELSE ' -- enabled: ' || t.tgenabled::text END
      ORDER BY t.tgname), '[]')
    FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal) AS triggers,
  c.relrowsecurity AS row_security
FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') ORDER BY c.relname`;

/** Whatever else may stand in a schema, so that none of it comes unseen. */
const OTHERS = `
SELECT format('-- %s %s', kind, name) AS line FROM (
  SELECT CASE relkind WHEN 'S' THEN 'sequence' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' ELSE relkind::text END AS kind, relname::text AS name
  FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind NOT IN ('r', 'p', 'i', 'I')
  UNION ALL SELECT 'type', t.typname FROM pg_type t WHERE t.typnamespace = 'public'::regnamespace AND t.typtype <> 'c' AND t.typelem = 0
  UNION ALL SELECT 'routine', p.oid::regprocedure::text FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.prokind <> 'f'
  UNION ALL SELECT 'policy', polname FROM pg_policy JOIN pg_class c ON c.oid = polrelid WHERE c.relnamespace = 'public'::regnamespace
  UNION ALL SELECT 'rule', rulename FROM pg_rewrite JOIN pg_class c ON c.oid = ev_class WHERE c.relnamespace = 'public'::regnamespace
  UNION ALL SELECT 'event trigger', evtname FROM pg_event_trigger
  UNION ALL SELECT 'extension', extname FROM pg_extension WHERE extname <> 'plpgsql') AS other ORDER BY kind, name`;

type Column = [string, string, string | null, boolean, string, string, string | null, boolean, string, string[] | null];

interface TableRow {
  readonly name: string;
  readonly unlogged: boolean;
  readonly options: string[] | null;
  readonly columns: Column[];
  readonly constraints: [string, string][];
  readonly indexes: string[];
  readonly triggers: string[];
  readonly row_security: boolean;
}

function showColumn(column: Column): string {
  const [name, type, value, notNull, identity, generated, collation, ownStorage, compression, options] = column;
  const parts = [
    `${name} ${type}`,
    collation === null ? '' : `COLLATE "${collation}"`,
    generated === '' ? '' : `GENERATED (${generated})`,
    identity === '' ? '' : `GENERATED ${identity === 'a' ? 'ALWAYS' : 'BY DEFAULT'} AS IDENTITY`,
    value === null ? '' : `DEFAULT ${value}`,
    notNull ? 'NOT NULL' : '',
    ownStorage ? '/* own storage */' : '',
    compression === '' ? '' : `COMPRESSION ${compression}`,
    options === null ? '' : `/* ${options.join(', ')} */`,
  ];
  return `  ${parts.filter((part) => part !== '').join(' ')}`;
}

function showTable(table: TableRow): string {
  const { name, columns, constraints, indexes, triggers } = table;
  const lines = [...columns.map(showColumn), ...constraints.map(([own, text]) => `  CONSTRAINT ${own} ${text}`)];
  const options = table.options === null ? '' : ` WITH (${table.options.join(', ')})`;
  const statements = [...indexes, ...triggers].map((text) => `${text.replaceAll('public.', '')};`);
  return [
    `CREATE ${table.unlogged ? 'UNLOGGED ' : ''}TABLE ${name} (\n${lines.join(',\n')}\n)${options};`,
    ...(table.row_security ? [`ALTER TABLE ${name} ENABLE ROW LEVEL SECURITY;`] : []),
    ...statements,
  ].join('\n');
}

/** Tables, indexes, constraints and triggers of the public schema as SQL text, the same for the same schema. */
export async function readTables(client: Client): Promise<string> {
  const { rows: tables } = await client.query<TableRow>(TABLES);
  const { rows: others } = await client.query<{ line: string }>(OTHERS);
  return `${tables.map(showTable).join('\n\n')}\n\n${others.map(({ line }) => line).join('\n')}\n`;
}

/** The functions of the public schema as SQL text, by name. */
export async function readFunctions(client: Client): Promise<string> {
  const { rows } = await client.query<{ text: string; name: string; shut: boolean }>(
    `SELECT pg_get_functiondef(oid) AS text, oid::regprocedure::text AS name,
       NOT has_function_privilege('public', oid, 'EXECUTE') AS shut
     FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prokind = 'f' ORDER BY proname, oid::regprocedure::text`,
  );
  const show = ({ text, name, shut }: (typeof rows)[number]): string =>
    `${text.replaceAll('public.', '').trimEnd()};\n${shut ? `REVOKE ALL ON FUNCTION ${name} FROM PUBLIC;\n` : ''}`;
  return rows.map(show).join('\n');
}
