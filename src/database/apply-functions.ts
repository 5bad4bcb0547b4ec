import pg from 'pg';
import type { FunctionSource } from './function-sources.ts';

type Client = Pick<pg.Client, 'query'>;

interface Installed {
  readonly oid: number;
  readonly name: string;
  /** With the types of its parameters, as DROP FUNCTION wants it. */
  readonly signature: string;
  /** MD5 of its present definition. */
  readonly digest: string;
  readonly mark: string | null;
}

/**
 * Each function carries a comment that says which source made it, and what the definition was then: `voting-service`, the
 * hash of the source, the digest of the definition. It needs no table, goes with the function, and shows a change by hand too.
 */
const MARK = /^voting-service ([0-9a-f]{16}) ([0-9a-f]{32})$/;

const INSTALLED = `
  SELECT p.oid::int8::text AS oid, p.proname AS name, p.oid::regprocedure::text AS signature,
    md5(replace(pg_get_functiondef(p.oid), 'public.', '')) AS digest, obj_description(p.oid, 'pg_proc') AS mark
  FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.prokind = 'f'
    AND ($1::text IS NULL OR p.proname = $1)`;

async function listInstalled(client: Client, name: string | null = null): Promise<Installed[]> {
  const { rows } = await client.query<Omit<Installed, 'oid'> & { oid: string }>(INSTALLED, [name]);
  return rows.map((row) => ({ ...row, oid: Number(row.oid) }));
}

function isAsIn(source: FunctionSource, own: readonly Installed[]): boolean {
  const [only, ...others] = own;
  const [, hash, digest] = MARK.exec(only?.mark ?? '') ?? [];
  return others.length === 0 && hash === source.hash && digest === only?.digest;
}

/** Names of functions that are missing, differ from their source, or have none any more. Nothing is changed. */
export async function listDiffering(client: Client, sources: readonly FunctionSource[]): Promise<string[]> {
  const installed = await listInstalled(client);
  const changed = sources.filter(
    (source) =>
      !isAsIn(
        source,
        installed.filter(({ name }) => name === source.name),
      ),
  );
  return [...changed, ...listGone(installed, sources)].map(({ name }) => name);
}

/** Functions that a build of the service made and this one does not have. Others are not ours to drop. */
function listGone(installed: readonly Installed[], sources: readonly FunctionSource[]): Installed[] {
  const names = new Set(sources.map(({ name }) => name));
  return installed.filter(({ name, mark }) => MARK.test(mark ?? '') && !names.has(name));
}

/** CREATE OR REPLACE refuses another result or other names of parameters with this. */
const INVALID_FUNCTION_DEFINITION = '42P13';

async function replace(client: Client, { text }: FunctionSource, before: readonly Installed[]): Promise<void> {
  await client.query('SAVEPOINT one_function');
  try {
    await client.query(text);
  } catch (fault) {
    if (!(fault instanceof pg.DatabaseError && fault.code === INVALID_FUNCTION_DEFINITION)) throw fault;
    await client.query('ROLLBACK TO one_function');
    for (const { signature } of before) await client.query(`DROP FUNCTION ${signature}`);
    await client.query(text);
  }
  await client.query('RELEASE one_function');
}

async function applyOne(client: Client, source: FunctionSource): Promise<void> {
  const before = await listInstalled(client, source.name);
  if (isAsIn(source, before)) return;
  await replace(client, source, before);
  const after = await listInstalled(client, source.name);
  const known = new Set(before.map(({ oid }) => oid));
  // Other types of parameters make a second function of the same name: the earlier one goes.
  const made = after.find(({ oid }) => !known.has(oid)) ?? after[0];
  if (made === undefined) throw new Error(`the source of ${source.name} made no function of this name`);
  for (const { oid, signature } of after) if (oid !== made.oid) await client.query(`DROP FUNCTION ${signature}`);
  const mark = `voting-service ${source.hash} ${made.digest}`;
  await client.query(`COMMENT ON FUNCTION ${made.signature} IS '${mark}'`);
}

/** Makes the functions of a database those of the sources. Within a transaction; what triggers use stays in its place. */
export async function applyFunctions(client: Client, sources: readonly FunctionSource[]): Promise<void> {
  for (const source of sources) await applyOne(client, source);
}

/** Drops what has no source any more. After the triggers that used it are gone. */
export async function dropGoneFunctions(client: Client, sources: readonly FunctionSource[]): Promise<void> {
  for (const { signature } of listGone(await listInstalled(client), sources))
    await client.query(`DROP FUNCTION ${signature}`);
}
