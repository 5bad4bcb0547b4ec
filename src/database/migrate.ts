import pg from 'pg';
import { applyFunctions, dropGoneFunctions, readFunctionState } from './apply-functions.ts';
import { readFunctionSources } from './function-sources.ts';
import { listMigrations, type Migration, readMigration } from './migrations.ts';
import { runMigrations } from './queue-library.ts';

/** Held while migrating, so that processes that start together take turns. */
const MIGRATION_LOCK = 7_316_002;

/** What a database holds beside what this version needs. */
interface SchemaState {
  /** Names of migrations that are not applied, oldest first. */
  readonly pending: readonly string[];
  /** Names of functions that differ from their sources. */
  readonly functions: readonly string[];
  /** No table at all. */
  readonly empty: boolean;
  /** Tables, and none of them this service's. */
  readonly foreign: boolean;
  /** A later version of the service has migrated it. */
  readonly newer: boolean;
  /** Whether this role may change the schema. */
  readonly mayMigrate: boolean;
}

/** When the newest migration was made that a database has; 0 where it has none. */
async function readNewest(client: pg.Client): Promise<number> {
  const { rows: known } = await client.query<{ there: boolean }>(
    "SELECT to_regclass('drizzle.__drizzle_migrations') IS NOT NULL AS there",
  );
  if (known[0]?.there !== true) return 0;
  const { rows } = await client.query<{ newest: string | null }>(
    'SELECT max(created_at) AS newest FROM drizzle.__drizzle_migrations',
  );
  return Number(rows[0]?.newest ?? 0);
}

const listNewer = (newest: number): readonly Migration[] => listMigrations().filter(({ when }) => when > newest);

/** Reads what is applied, and changes nothing. */
export async function readSchemaState(client: pg.Client): Promise<SchemaState> {
  const { rows } = await client.query<{ tables: number; owner: boolean }>(`
    SELECT (SELECT count(*)::int FROM pg_tables WHERE schemaname = 'public') AS tables,
      CASE WHEN to_regclass('public.voting_events') IS NULL
          THEN has_schema_privilege('public', 'CREATE') AND has_database_privilege(current_database(), 'CREATE')
        ELSE pg_has_role((SELECT relowner FROM pg_class WHERE oid = to_regclass('public.voting_events')), 'USAGE') END AS owner`);
  const { tables = 0, owner = false } = rows[0] ?? {};
  const newest = await readNewest(client);
  const functions = await readFunctionState(client, readFunctionSources());
  const newer = newest > (listMigrations().at(-1)?.when ?? 0) || functions.newer;
  return {
    pending: listNewer(newest).map(({ tag }) => tag),
    functions: newer ? [] : functions.differing,
    empty: tables === 0,
    foreign: newest === 0 && tables > 0,
    newer,
    mayMigrate: owner,
  };
}

/** A database that this version of the service must not be run on, in words for the operator. */
export class SchemaRefused extends Error {}

async function applyMigrations(client: pg.Client, migrations: readonly Migration[]): Promise<void> {
  for (const migration of migrations) await client.query(readMigration(migration).text);
}

async function store(client: pg.Client, migrations: readonly Migration[]): Promise<void> {
  await client.query(`CREATE SCHEMA IF NOT EXISTS drizzle;
    CREATE TABLE IF NOT EXISTS drizzle.__drizzle_migrations (id serial PRIMARY KEY, hash text NOT NULL, created_at bigint)`);
  for (const migration of migrations)
    await client.query('INSERT INTO drizzle.__drizzle_migrations (hash, created_at) VALUES ($1, $2)', [
      readMigration(migration).hash,
      migration.when,
    ]);
}

/** Tables, then functions, then the triggers that call them: all of it or nothing. */
async function applyAll(client: pg.Client): Promise<void> {
  const migrations = listNewer(await readNewest(client));
  const sources = readFunctionSources();
  await client.query('BEGIN');
  await applyMigrations(
    client,
    migrations.filter(({ afterFunctions }) => !afterFunctions),
  );
  await applyFunctions(client, sources);
  await applyMigrations(
    client,
    migrations.filter(({ afterFunctions }) => afterFunctions),
  );
  await dropGoneFunctions(client, sources);
  await store(client, migrations);
  await client.query('COMMIT');
}

/**
 * Brings a database to the newest schema, our own and the job queue's. Safe to run at every start and by many at once. A role
 * that may not change the schema can start on one that is as it should be.
 * @throws SchemaRefused for a database of another program
 */
export async function migrate(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'voting-service migrate' });
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const state = await readSchemaState(client);
    requireOwn(state);
    await runMigrations({ connectionString: databaseUrl });
    if (state.newer || listLacking(state).length === 0) return;
    await applyAll(client);
  } finally {
    await client.end();
  }
}

async function readStateOf(databaseUrl: string): Promise<SchemaState> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'voting-service command' });
  await client.connect();
  try {
    return await readSchemaState(client);
  } finally {
    await client.end();
  }
}

/** What is wrong with a database that cannot be migrated, in one line. */
export function whyRefused({ foreign }: SchemaState): string | undefined {
  return foreign ? 'the database holds tables of another program, and none of this service' : undefined;
}

function requireOwn(state: SchemaState): void {
  const reason = whyRefused(state);
  if (reason !== undefined) throw new SchemaRefused(reason);
}

/** Everything that `migrate` would apply: migrations by name, and functions. */
function listLacking({ empty, pending, functions }: SchemaState): string[] {
  return [...pending, ...(empty ? [] : functions.map((name) => `function ${name}`))];
}

/** What a database lacks, in words; undefined where it is as it should be. */
export function whatIsLacking({ empty, pending, functions }: SchemaState): string | undefined {
  if (empty) return 'the database is empty';
  if (pending.length > 0) return `${pending.length} migrations are to be applied`;
  return functions.length > 0 ? `functions of the database differ: ${functions.join(', ')}` : undefined;
}

/** Names of the migrations and functions that a database lacks, in the order in which they are applied. */
export async function listPending(databaseUrl: string): Promise<readonly string[]> {
  return listLacking(await readStateOf(databaseUrl));
}

/** @throws SchemaRefused where something is left to apply: commands that read change nothing */
export async function requireMigrated(databaseUrl: string): Promise<void> {
  const state = await readStateOf(databaseUrl);
  requireOwn(state);
  const lacking = state.newer ? undefined : whatIsLacking(state);
  if (lacking === undefined) return;
  throw new SchemaRefused(`${lacking}. Run \`npm run --silent cli -- migrate\`, or start the service, first`);
}
