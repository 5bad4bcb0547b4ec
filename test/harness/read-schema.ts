import type pg from 'pg';

type Client = Pick<pg.Pool | pg.Client, 'query'>;

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
