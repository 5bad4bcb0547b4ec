import path from 'node:path';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate as applyMigrations } from 'drizzle-orm/node-postgres/migrator';
import { runMigrations } from 'graphile-worker';
import pg from 'pg';

const MIGRATIONS_FOLDER = path.resolve(import.meta.dirname, '../../migrations');
/** Held while migrating, so that processes that start together take turns. */
const MIGRATION_LOCK = 7_316_002;

/** Asked first: a role that may not change the schema can then start on one that is as it should be. */
async function isUpToDate(client: pg.Client): Promise<boolean> {
  const { rows: found } = await client.query("SELECT to_regclass('drizzle.__drizzle_migrations') IS NOT NULL AS found");
  if (found[0]?.found !== true) return false;
  const { rows } = await client.query<{ newest: string | null }>(
    'SELECT max(created_at) AS newest FROM drizzle.__drizzle_migrations',
  );
  const newest = readMigrationFiles({ migrationsFolder: MIGRATIONS_FOLDER }).at(-1)?.folderMillis;
  return newest !== undefined && Number(rows[0]?.newest) >= newest;
}

/** Brings a database to the newest schema, our own and the job queue's. Safe to run at every start and by many at once. */
export async function migrate(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'voting-service migrate' });
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await runMigrations({ connectionString: databaseUrl });
    if (await isUpToDate(client)) return;
    await applyMigrations(drizzle(client), { migrationsFolder: MIGRATIONS_FOLDER });
  } finally {
    await client.end();
  }
}

/** Refuses a database that could lose a committed vote when the machine loses power (an acknowledged confirm is never lost). */
export async function assertDurable(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ name: string; setting: string }>(
    "SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit')",
  );
  const unsafe = rows.filter((row) => row.setting === 'off').map((row) => row.name);
  if (unsafe.length > 0) {
    throw new Error(`the database would lose confirmed votes in a power cut: switch on ${unsafe.join(', ')}`);
  }
}
