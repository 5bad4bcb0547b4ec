import { readFileSync } from 'node:fs';
import path from 'node:path';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate as applyMigrations } from 'drizzle-orm/node-postgres/migrator';
import pg from 'pg';
import { z } from 'zod';
import { runMigrations } from './queue-library.ts';

const MIGRATIONS_FOLDER = path.resolve(import.meta.dirname, '../../migrations');
/** Held while migrating, so that processes that start together take turns. */
const MIGRATION_LOCK = 7_316_002;

/** What a database holds beside what this version needs. */
export interface SchemaState {
  /** Names of migrations that are not applied, oldest first. */
  readonly pending: readonly string[];
  /** No table at all. */
  readonly empty: boolean;
  /** Tables, and none of them this service's. */
  readonly foreign: boolean;
  /** A later version of the service has migrated it. */
  readonly newer: boolean;
  /** Whether this role may change the schema. */
  readonly mayMigrate: boolean;
}

/** The list that the migrator itself goes by. */
const journalShape = z.object({ entries: z.array(z.object({ tag: z.string(), when: z.number() })) });

function knownMigrations(): readonly { readonly tag: string; readonly when: number }[] {
  const journal = path.join(MIGRATIONS_FOLDER, 'meta/_journal.json');
  return journalShape.parse(JSON.parse(readFileSync(journal, 'utf8'))).entries;
}

/** Reads what is applied, and changes nothing. */
export async function readSchemaState(client: pg.Client): Promise<SchemaState> {
  const { rows } = await client.query<{ tables: number; migrated: boolean; owner: boolean }>(`
    SELECT (SELECT count(*)::int FROM pg_tables WHERE schemaname = 'public') AS tables,
      to_regclass('drizzle.__drizzle_migrations') IS NOT NULL AS migrated,
      CASE WHEN to_regclass('public.voting_events') IS NULL
          THEN has_schema_privilege('public', 'CREATE') AND has_database_privilege(current_database(), 'CREATE')
        ELSE pg_has_role((SELECT relowner FROM pg_class WHERE oid = to_regclass('public.voting_events')), 'USAGE') END AS owner`);
  const { tables = 0, migrated = false, owner = false } = rows[0] ?? {};
  const known = knownMigrations();
  if (!migrated)
    return {
      ...{ pending: known.map(({ tag }) => tag), empty: tables === 0, foreign: tables > 0 },
      ...{ newer: false, mayMigrate: owner },
    };
  const { rows: applied } = await client.query<{ newest: string | null }>(
    'SELECT max(created_at) AS newest FROM drizzle.__drizzle_migrations',
  );
  const newest = Number(applied[0]?.newest ?? 0);
  return {
    pending: known.filter(({ when }) => when > newest).map(({ tag }) => tag),
    ...{ empty: false, foreign: newest === 0 && tables > 0 },
    newer: newest > (known.at(-1)?.when ?? 0),
    mayMigrate: owner,
  };
}

/** A database that this version of the service must not be run on, in words for the operator. */
export class SchemaRefused extends Error {}

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
    if (state.pending.length === 0) return;
    await applyMigrations(drizzle(client), { migrationsFolder: MIGRATIONS_FOLDER });
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

function requireOwn({ foreign }: SchemaState): void {
  if (foreign) throw new SchemaRefused('the database holds tables of another program, and none of this service');
}

/** Names of the migrations that a database lacks, oldest first. */
export async function listPending(databaseUrl: string): Promise<readonly string[]> {
  return (await readStateOf(databaseUrl)).pending;
}

/** @throws SchemaRefused where migrations are left to apply: commands that read change nothing */
export async function requireMigrated(databaseUrl: string): Promise<void> {
  const state = await readStateOf(databaseUrl);
  requireOwn(state);
  const { pending, empty } = state;
  if (pending.length === 0) return;
  const words = empty ? 'the database is empty' : `the schema lacks ${pending.length} migrations of this version`;
  throw new SchemaRefused(`${words}. Run \`npm run --silent cli -- migrate\`, or start the service, first`);
}
