import pg from 'pg';

/**
 * What this build serves (completions 9.7). A change of a table, a trigger or a function replaces the digest of all of them,
 * which test/architecture.test.ts compares with the sources; the first such change after a release raises the number. The
 * number orders builds, and the digest keeps apart two builds that have one number.
 */
export const SCHEMA = { number: 1, digest: '0873447359f1e8ac' } as const;

export interface SchemaNumber {
  readonly number: number;
  readonly digest: string;
  /** `when` of the newest migration that was applied. */
  readonly newest: number;
  /** The number that a migration leads to: processes of other builds end when they see it. Null where none has begun. */
  readonly next: number | null;
  /** While it is true, no process of the service runs a statement. */
  readonly migrating: boolean;
}

type Client = Pick<pg.Client | pg.Pool, 'query'>;

/** The database is not as this build needs it, in one line for the operator. */
export class SchemaRefused extends Error {}

const UNDEFINED_TABLE = '42P01';

/** Undefined where nothing was migrated yet. */
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

/** Why this build must not work on a database, in one line for the operator; undefined where it may. */
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
 * Whether this build may migrate a database that a build has migrated before.
 * @param insists an operator's `migrate` also replaces a build with the same number, and ends a migration that was broken off
 */
export function mayReplace(found: SchemaNumber, insists: boolean): boolean {
  const { number, next } = found;
  const isNewest = (next ?? 0) <= SCHEMA.number;
  if (number < SCHEMA.number) return isNewest;
  if (isOwn(found)) return insists || next === null;
  return insists && number === SCHEMA.number && isNewest;
}

/** `migrate` finds sessions of the service by this name, also where DATABASE_URL gives them one of its own. */
const NAME_SESSION = `
  SELECT set_config('application_name', 'voting-service ' || current_setting('application_name'), false)
  WHERE current_setting('application_name') NOT LIKE 'voting-service%'`;

/**
 * What each connection does first. It has its name before it reads the number: a session that `migrate` does not find
 * reads the number that `migrate` wrote before it looked.
 * @throws SchemaRefused where the database is not this build's. A process that is asked to end still finishes its requests.
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
