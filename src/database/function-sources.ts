import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';

/** Source files of all database functions, in the order in which they are applied. */
export const FUNCTION_FILES = [
  'database/functions/clock.sql',
  'database/functions/figures.sql',
  'database/functions/fold-text.sql',
  'database/functions/sortable-ids.sql',
  'database/functions/append-only.sql',
  'database/functions/living-processes.sql',
  'jobs/jobs.sql',
  'http/idempotency.sql',
  'accounts/account-changes.sql',
  'webhooks/webhook-events.sql',
  'voting-events/event-status.sql',
  'voting-events/event-changes.sql',
  'voting-events/delete-event.sql',
  'voting-events/rehearsal.sql',
  'voters/roll-figures.sql',
  'voters/voter-key.sql',
  'voters/participation.sql',
  'voters/judge-cast.sql',
  'voters/disclosure.sql',
  'credits/credits.sql',
  'payments/give-back.sql',
  'ballots/box.sql',
  'ballots/cast.sql',
  'ballots/confirm.sql',
  'ballots/pending-ballot.sql',
  'ballots/announce.sql',
  'ballot-log/log-guards.sql',
  'ballot-log/scatter-roll.sql',
  'ballot-log/tend-log.sql',
] as const;

export type FunctionSource = ReturnType<typeof parseFunctions>[number];

/** A statement ends after its quoted body or, without one, with its `;`. A `REVOKE` that follows belongs to it. */
const STATEMENT =
  /^CREATE OR REPLACE FUNCTION (\w+)\((?:(?!\$\$|;).)*(?:\$\$.*?\$\$)?;\n(?:REVOKE ALL ON FUNCTION [^;]*;\n)?/gms;
const COMMENT_OR_BLANK = /^(?:--.*)?\n/gm;

/** Parses the functions of a file, which have distinct names. @throws Error for anything but functions and comments */
export function parseFunctions(file: string, text: string) {
  const rest = text.replace(STATEMENT, '').replace(COMMENT_OR_BLANK, '');
  if (rest !== '') throw new Error(`${file} holds more than functions: ${rest.split('\n')[0]}`);
  return [...text.matchAll(STATEMENT)].map(([statement, name = '']) => ({
    name,
    /** A `CREATE OR REPLACE FUNCTION` statement, with the `REVOKE` that may follow it. */
    text: statement,
    /** SHA-256 of the text, the first 16 hexadecimal digits. */
    hash: createHash('sha256').update(statement).digest('hex').slice(0, 16),
  }));
}

export function readFunctionSources(): FunctionSource[] {
  const root = path.resolve(import.meta.dirname, '..');
  return FUNCTION_FILES.flatMap((file) => parseFunctions(file, readFileSync(path.join(root, file), 'utf8')));
}

type Client = Pick<pg.Client, 'query'>;

interface Installed {
  readonly oid: string;
  readonly name: string;
  /** Name with parameter types, as DROP FUNCTION needs it. */
  readonly signature: string;
  /** MD5 of the present definition. */
  readonly digest: string;
  readonly mark: string | null;
}

/** The COMMENT of each function: hash of its source, and digest of the installed definition, which reveals a change by hand. */
const MARK = /^voting-service ([0-9a-f]{16}) ([0-9a-f]{32})$/;

const INSTALLED = `
  SELECT p.oid::int8::text AS oid, p.proname AS name, p.oid::regprocedure::text AS signature,
    md5(replace(pg_get_functiondef(p.oid), 'public.', '')) AS digest, obj_description(p.oid, 'pg_proc') AS mark
  FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.prokind = 'f'
    AND ($1::text IS NULL OR p.proname = $1)`;

async function listInstalled(client: Client, name: string | null = null): Promise<Installed[]> {
  return (await client.query<Installed>(INSTALLED, [name])).rows;
}

function isAsIn(source: FunctionSource, installed: readonly Installed[]): boolean {
  const [only, ...others] = installed.filter(({ name }) => name === source.name);
  const [, hash, digest] = MARK.exec(only?.mark ?? '') ?? [];
  return others.length === 0 && hash === source.hash && digest === only?.digest;
}

/** Names of functions that are missing, differ from their source, or no longer have a source. Changes nothing. */
export async function listDiffering(client: Client, sources: readonly FunctionSource[]): Promise<string[]> {
  const installed = await listInstalled(client);
  const changed = sources.filter((source) => !isAsIn(source, installed));
  return [...changed, ...listGone(installed, sources)].map(({ name }) => name);
}

/** Functions that another build of the service created and that this build does not have. Functions of other programs are ignored. */
function listGone(installed: readonly Installed[], sources: readonly FunctionSource[]): Installed[] {
  const names = new Set(sources.map(({ name }) => name));
  return installed.filter(({ name, mark }) => MARK.test(mark ?? '') && !names.has(name));
}

/** SQLSTATE with which CREATE OR REPLACE refuses a new result type or new parameter names. */
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
  // New parameter types create a second function of the same name: the old one is dropped.
  const made = after.find(({ oid }) => !known.has(oid)) ?? after[0];
  if (made === undefined) throw new Error(`the source of ${source.name} made no function of this name`);
  for (const { oid, signature } of after) if (oid !== made.oid) await client.query(`DROP FUNCTION ${signature}`);
  const mark = `voting-service ${source.hash} ${made.digest}`;
  await client.query(`COMMENT ON FUNCTION ${made.signature} IS '${mark}'`);
}

/** Replaces the functions of a database by those of the sources, in place because triggers use them. Call within a transaction. */
export async function applyFunctions(client: Client, sources: readonly FunctionSource[]): Promise<void> {
  for (const source of sources) await applyOne(client, source);
}

/** Drops functions that no longer have a source. Call after the triggers that used them were dropped. */
export async function dropGoneFunctions(client: Client, sources: readonly FunctionSource[]): Promise<void> {
  for (const { signature } of listGone(await listInstalled(client), sources))
    await client.query(`DROP FUNCTION ${signature}`);
}
