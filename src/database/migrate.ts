import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { z } from 'zod';
import { monotonicMs } from '#src/platform/clock.ts';
import { DEADLOCK, databaseErrorCode, LOCKED, withClient } from './client.ts';
import { endOtherProcesses } from './end-other-processes.ts';
import { explainDatabaseFault } from './explain-database-fault.ts';
import { applyFunctions, dropGoneFunctions, listDiffering, readFunctionSources } from './function-sources.ts';
import { mayReplace, readSchemaNumber, SCHEMA, SchemaRefused, whyNotServed } from './schema-number.ts';

/** Key of the advisory lock of a migration, so that processes that start together take turns. */
const MIGRATION_LOCK = 7_316_002;
/** A lock timeout longer than `deadlock_timeout` (1 s), after which the server cancels an autovacuum that blocks the lock. */
const LOCK_MS = 2_000;
/** How long a migration retries while another program holds a lock; votes pause meanwhile. */
const LOCKED_MS = 60_000;
const LOCKED_PAUSE_MS = 500;
const LOOK_EVERY_MS = 100;
/** A migration whose session is idle for this long is dead (process stopped, machine gone): a live migration queries far more often. */
const SILENT_MS = 30_000;
/** SQLSTATEs: deadlock, lock not available. */
const TRY_AGAIN = [DEADLOCK, LOCKED];

type SchemaState = Awaited<ReturnType<typeof readSchemaState>>;

/** Reads what is applied, and changes nothing. */
export async function readSchemaState(client: pg.Client) {
  const { rows } = await client.query<{ tables: number; owner: boolean }>(`
    SELECT (SELECT count(*)::int FROM pg_tables WHERE schemaname = 'public') AS tables,
      CASE WHEN to_regclass('public.voting_events') IS NULL
          THEN has_schema_privilege('public', 'CREATE') AND has_database_privilege(current_database(), 'CREATE')
        ELSE pg_has_role((SELECT relowner FROM pg_class WHERE oid = to_regclass('public.voting_events')), 'USAGE') END AS owner`);
  const { tables = 0, owner = false } = rows[0] ?? {};
  const schema = await readSchemaNumber(client);
  const newest = schema?.newest ?? 0;
  return {
    schema,
    /** Migrations that are not applied yet, oldest first. */
    pending: listMigrations().filter(({ when }) => when > newest),
    functions: await listDiffering(client, readFunctionSources()),
    empty: tables === 0,
    /** Whether this role may change the schema. */
    mayMigrate: owner,
  };
}

/** What a database lacks and what to do, in one line; undefined if it fits this build. */
export function whatIsLacking({ schema, empty, functions }: SchemaState): string | undefined {
  if (empty) return 'the database is empty: run `migrate`, or start the service';
  if (schema === undefined)
    return 'the database holds tables of another program, and none of this service: check DATABASE_URL';
  const other = whyNotServed(schema);
  if (other !== undefined || functions.length === 0) return other;
  return `functions of the database differ: ${functions.join(', ')}: run \`migrate\``;
}

function requireReplaceable({ schema, empty }: SchemaState, lacking: string, insists: boolean): void {
  if (!empty && (schema === undefined || !mayReplace(schema, insists))) throw new SchemaRefused(lacking);
}

/** Applies tables, functions, the triggers that call them, and the schema number, in one transaction. */
async function applyAll(client: pg.Client, { pending }: SchemaState): Promise<void> {
  const sources = readFunctionSources();
  const applyMigrations = async (after: boolean): Promise<void> => {
    for (const one of pending) if (one.afterFunctions === after) await client.query(readMigration(one));
  };
  await client.query(`BEGIN; SET LOCAL lock_timeout = ${LOCK_MS}`);
  await applyMigrations(false);
  await applyFunctions(client, sources);
  await applyMigrations(true);
  await dropGoneFunctions(client, sources);
  await client.query('DELETE FROM schema_number');
  await client.query('INSERT INTO schema_number (number, digest, newest, migrating) VALUES ($1, $2, $3, false)', [
    ...[SCHEMA.number, SCHEMA.digest, listMigrations().at(-1)?.when],
  ]);
  await client.query('NOTIFY schema_number_changed; COMMIT');
}

/** Retries the whole work while another program holds a needed lock. Holds no lock between the tries. */
async function whileLocked(client: pg.Client, work: () => Promise<void>, say: (line: string) => void): Promise<void> {
  const since = monotonicMs();
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work();
    } catch (fault) {
      // On a lost connection the ROLLBACK fails too, but the server has rolled back already; `fault` is thrown below.
      await client.query('ROLLBACK').catch(() => undefined);
      if (!TRY_AGAIN.includes(databaseErrorCode(fault) ?? '') || monotonicMs() - since > LOCKED_MS) throw fault;
      if (attempt === 0) say('Another program holds a lock on a table; trying again until it is free …');
      await delay(LOCKED_PAUSE_MS);
    }
  }
}

/** Migrates a database that another build has served. If this fails, the other build can serve the database again. */
async function replaceBuild(client: pg.Client, apply: () => Promise<void>, say: (line: string) => void): Promise<void> {
  const askedAt = monotonicMs();
  try {
    await endOtherProcesses(client, say);
    await apply();
  } catch (fault) {
    const isGivenBack = await client.query('UPDATE schema_number SET next = NULL, migrating = false').then(
      () => true,
      () => false,
    );
    const reason = fault instanceof SchemaRefused ? fault.message : explainDatabaseFault(fault);
    if (reason === undefined) throw fault;
    const after = isGivenBack ? 'the release before can be started again' : 'run `migrate` again';
    throw new SchemaRefused(`the database was not migrated: ${reason}. Nothing was changed; ${after}`, {
      cause: fault,
    });
  }
  say(
    `Migrated to schema number ${SCHEMA.number}; votes paused for ${((monotonicMs() - askedAt) / 1_000).toFixed(1)} s`,
  );
}

/** Waits for other migrations of the database (says so after half a second), and terminates the session of a silent migration. */
async function takeTurn(client: pg.Client, say: (line: string) => void): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    const { rows } = await client.query<{ got: boolean }>('SELECT pg_try_advisory_lock($1) AS got', [MIGRATION_LOCK]);
    if (rows[0]?.got === true) return;
    if (attempt === 5) say('Another process is migrating this database; waiting for its end …');
    const { rows: silent } = await client.query(
      `SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a JOIN pg_locks l USING (pid)
       WHERE a.datname = current_database() AND l.locktype = 'advisory' AND l.granted AND l.objid = $1 AND l.classid = 0
         AND a.state LIKE 'idle%' AND a.state_change < clock_timestamp() - $2 * interval '1 ms'`,
      [MIGRATION_LOCK, SILENT_MS],
    );
    if (silent.length > 0) say(`It did nothing for ${SILENT_MS / 1_000} s, and its database session is ended.`);
    await delay(LOOK_EVERY_MS);
  }
}

interface MigrateOptions {
  /** See `mayReplace`. */
  readonly insists?: boolean;
  /** Called for each step, with a line for the operator. */
  readonly say?: (line: string) => void;
}

/**
 * Migrates a database to the schema of this build, after ending the processes of other builds.
 * Safe at every start and concurrently. If the schema fits already, the role needs no right to change it.
 * @throws SchemaRefused if this build may not migrate the database, or if that failed
 */
export async function migrate(databaseUrl: string, options: MigrateOptions = {}): Promise<void> {
  const { insists = false, say = () => undefined } = options;
  const config = { connectionString: databaseUrl, application_name: 'migration of voting-service' };
  await withClient(config, async (client) => {
    await takeTurn(client, say);
    const state = await readSchemaState(client);
    const lacking = whatIsLacking(state);
    if (lacking === undefined) return;
    requireReplaceable(state, lacking, insists);
    if (!state.mayMigrate)
      throw new SchemaRefused(`${lacking}, as the owner of the schema: this role may not change it`);
    const apply = () => whileLocked(client, () => applyAll(client, state), say);
    if (state.schema === undefined || whyNotServed(state.schema) === undefined) await apply();
    else await replaceBuild(client, apply, say);
  });
}

const readStateOf = (databaseUrl: string): Promise<SchemaState> =>
  withClient({ connectionString: databaseUrl, application_name: 'check of voting-service' }, readSchemaState);

/** What `migrate` would do, as names in order. @throws SchemaRefused if it would refuse */
export async function listPending(databaseUrl: string) {
  const state = await readStateOf(databaseUrl);
  const { schema, pending, empty, functions } = state;
  const lacking = whatIsLacking(state);
  if (lacking !== undefined) requireReplaceable(state, lacking, true);
  return {
    ...{ database: schema?.number ?? null, build: SCHEMA.number, lacking },
    pending: [...pending.map(({ tag }) => tag), ...(empty ? [] : functions.map((name) => `function ${name}`))],
  };
}

/** For commands and further processes, which never migrate. @throws SchemaRefused if the database does not fit this build */
export async function requireMigrated(databaseUrl: string): Promise<void> {
  const lacking = whatIsLacking(await readStateOf(databaseUrl));
  if (lacking !== undefined) throw new SchemaRefused(lacking);
}

const FOLDER = path.resolve(import.meta.dirname, '../../migrations');

/** A file of statements that changes tables or triggers, applied once to each database. */
type Migration = ReturnType<typeof listMigrations>[number];

/** `when` orders migrations: a database stores that of its newest applied migration. */
const journalShape = z.object({ entries: z.array(z.object({ tag: z.string(), when: z.number() })) });

/**
 * All migrations, oldest first, from the journal that drizzle-kit maintains. Triggers are created after the functions that they call;
 * all other changes come before the functions.
 */
export function listMigrations() {
  const journal: unknown = JSON.parse(readFileSync(path.join(FOLDER, 'meta/_journal.json'), 'utf8'));
  return journalShape.parse(journal).entries.map(({ tag, when }) => ({
    ...{ tag, when, afterFunctions: tag.endsWith('_triggers'), file: path.join(FOLDER, `${tag}.sql`) },
  }));
}

export const readMigration = ({ file }: Migration): string => readFileSync(file, 'utf8');
