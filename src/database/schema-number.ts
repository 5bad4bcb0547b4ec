import pg from 'pg';

/**
 * The schema that this build serves (completions 9.7). The digest covers all tables, triggers and functions, and
 * test/architecture.test.ts compares it with the sources; the first change after a release also raises the number. The
 * number orders builds; the digest distinguishes builds with the same number.
 */
export const SCHEMA = { number: 1, digest: 'cedbdd1ee7064625' } as const;

export interface SchemaNumber {
  readonly number: number;
  readonly digest: string;
  /** `when` of the newest applied migration. */
  readonly newest: number;
  /** Target number of a running migration; processes of other builds end when they read it. Null without a migration. */
  readonly next: number | null;
  /** While it is true, no process of the service runs a statement. */
  readonly migrating: boolean;
}

type Client = Pick<pg.Client | pg.Pool, 'query'>;

/** The database does not fit this build; the message is one line for the operator. */
export class SchemaRefused extends Error {}

const UNDEFINED_TABLE = '42P01';

/** Undefined in a database that was never migrated. */
export async function readSchemaNumber(client: Client): Promise<SchemaNumber | undefined> {
  try {
    const { rows } = await client.query<{ found: SchemaNumber }>('SELECT to_jsonb(s) AS found FROM schema_number s');
    return rows[0]?.found;
  } catch (fault) {
    if (fault instanceof pg.DatabaseError && fault.code === UNDEFINED_TABLE) return undefined;
    throw fault;
  }
}

export const isOwn = ({ number, digest }: SchemaNumber): boolean =>
  number === SCHEMA.number && digest === SCHEMA.digest;

/** Why this build must not use a database, in one line for the operator; undefined if it may. */
export function whyNotServed(found: SchemaNumber | undefined): string | undefined {
  const build = `this build serves ${SCHEMA.number}`;
  const migrate = 'run `migrate`, or start the service';
  if (found === undefined) return `the database has no schema number, ${build}: ${migrate}`;
  const { number, next } = found;
  if (next !== null && next > SCHEMA.number)
    return `the database is being migrated to schema number ${next}, ${build}: start the newer release`;
  if (number > SCHEMA.number) return `the database is at schema number ${number}, ${build}: start the newer release`;
  if (number < SCHEMA.number) return `the database is at schema number ${number}, ${build}: ${migrate}`;
  if (next !== null) return `another build with schema number ${next} is migrating the database: start that one`;
  if (isOwn(found)) return undefined;
  return `another build with schema number ${number} has migrated the database: start that one, or run \`migrate\``;
}

/**
 * Whether this build may migrate a database that another build has migrated.
 * @param insists set by an operator's `migrate`, which also replaces a build with the same number and finishes an interrupted migration
 */
export function mayReplace(found: SchemaNumber, insists: boolean): boolean {
  const { number, next } = found;
  const isNewest = (next ?? 0) <= SCHEMA.number;
  if (number < SCHEMA.number) return isNewest;
  if (isOwn(found)) return insists || next === null;
  return insists && number === SCHEMA.number && isNewest;
}

/** Prefixes the session's name, by which `migrate` finds sessions of the service even if DATABASE_URL sets another name. */
const NAME_SESSION = `
  SELECT set_config('application_name', 'voting-service ' || current_setting('application_name'), false)
  WHERE current_setting('application_name') NOT LIKE 'voting-service%'`;

/**
 * The first statements of each connection. The session is named before it reads the number: `migrate` first writes the number and then
 * looks for names, so that a session that it does not find reads the new number.
 * @throws SchemaRefused if the schema is not this build's. A `next` number alone is accepted: the process still finishes its requests
 */
export async function requireSchemaNumber(client: Client): Promise<void> {
  await client.query(NAME_SESSION);
  const found = await readSchemaNumber(client);
  if (found === undefined || found.migrating || !isOwn(found)) throw new SchemaRefused(whyNotServed(found));
}

export function findSchemaRefusal(fault: unknown): SchemaRefused | undefined {
  for (let error: unknown = fault; error instanceof Error; error = error.cause)
    if (error instanceof SchemaRefused) return error;
  return undefined;
}
