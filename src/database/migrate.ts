import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { z } from 'zod';
import { monotonicMs } from '#src/platform/clock.ts';
import { databaseErrorCode, withClient } from './client.ts';
import { endOtherProcesses } from './end-other-processes.ts';
import { explainDatabaseFault } from './explain-database-fault.ts';
import { applyFunctions, dropGoneFunctions, listDiffering, readFunctionSources } from './function-sources.ts';
import {
  mayReplace,
  readSchemaNumber,
  SCHEMA,
  type SchemaNumber,
  SchemaRefused,
  whyNotServed,
} from './schema-number.ts';

/** Held while migrating, so that processes that start together take turns. */
const MIGRATION_LOCK = 7_316_002;
/** A little more than the second after which the server ends an autovacuum that is in the way. */
const LOCK_MS = 2_000;
/** How long a lock that another program holds is waited for: votes pause meanwhile. */
const LOCKED_MS = 60_000;
const LOCKED_PAUSE_MS = 500;
const LOOK_EVERY_MS = 100;
/** A migration asks its session for something far more often, unless a statement runs: it was stopped, or its machine is gone. */
const SILENT_MS = 30_000;
/** Deadlock, lock not available. */
const LOCKED = ['40P01', '55P03'];

interface SchemaState {
  readonly schema: SchemaNumber | undefined;
  /** Migrations that are not applied, oldest first. */
  readonly pending: readonly Migration[];
  /** Names of functions that differ from their sources. */
  readonly functions: readonly string[];
  /** No table at all. */
  readonly empty: boolean;
  /** Whether this role may change the schema. */
  readonly mayMigrate: boolean;
}

/** Reads what is applied, and changes nothing. */
export async function readSchemaState(client: pg.Client): Promise<SchemaState> {
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
    pending: listMigrations().filter(({ when }) => when > newest),
    functions: await listDiffering(client, readFunctionSources()),
    empty: tables === 0,
    mayMigrate: owner,
  };
}

/** What a database lacks and what is to be done, in one line; undefined where it is as it should be. */
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

async function applyMigrations(client: pg.Client, migrations: readonly Migration[]): Promise<void> {
  for (const migration of migrations) await client.query(readMigration(migration));
}

/** Tables, then functions, then the triggers that call them, then the number: all of it or nothing. */
async function applyAll(client: pg.Client, { pending }: SchemaState): Promise<void> {
  const sources = readFunctionSources();
  await client.query(`BEGIN; SET LOCAL lock_timeout = ${LOCK_MS}`);
  await applyMigrations(
    client,
    pending.filter(({ afterFunctions }) => !afterFunctions),
  );
  await applyFunctions(client, sources);
  await applyMigrations(
    client,
    pending.filter(({ afterFunctions }) => afterFunctions),
  );
  await dropGoneFunctions(client, sources);
  await client.query('DELETE FROM schema_number');
  await client.query('INSERT INTO schema_number (number, digest, newest, migrating) VALUES ($1, $2, $3, false)', [
    ...[SCHEMA.number, SCHEMA.digest, listMigrations().at(-1)?.when],
  ]);
  await client.query('NOTIFY schema_number_changed; COMMIT');
}

/** Tries as a whole again, holding nothing in between, what meets a lock of another program. */
async function whileLocked(client: pg.Client, work: () => Promise<void>, say: (line: string) => void): Promise<void> {
  const since = monotonicMs();
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work();
    } catch (fault) {
      // On a connection that is lost nothing is left to roll back: the fault says so.
      await client.query('ROLLBACK').catch(() => undefined);
      if (!LOCKED.includes(databaseErrorCode(fault) ?? '') || monotonicMs() - since > LOCKED_MS) throw fault;
      if (attempt === 0) say('Another program holds a lock on a table; trying again until it is free …');
      await delay(LOCKED_PAUSE_MS);
    }
  }
}

/** Migrates a database that another build has served, and leaves it to that build where this fails. */
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

/** Waits for other migrations of the database, says so after half a second, and ends the session of one that is silent. */
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
  /** As `mayReplace` has it. */
  readonly insists?: boolean;
  /** Hears of each step, in a line for the operator. */
  readonly say?: (line: string) => void;
}

/**
 * Brings a database to the schema of this build, and ends the processes of other builds before.
 * Safe to run at every start and by many at once. A role that may not change the schema can start on one that is as it should be.
 * @throws SchemaRefused where this build may not, or could not
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

/**
 * What an operator's `migrate` would do: the schema numbers, what is lacking in one line, and the names of the migrations and
 * functions that it would apply, in their order.
 * @throws SchemaRefused where it would refuse
 */
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

/** @throws SchemaRefused where the database is not as this build needs it: commands that read change nothing */
export async function requireMigrated(databaseUrl: string): Promise<void> {
  const lacking = whatIsLacking(await readStateOf(databaseUrl));
  if (lacking !== undefined) throw new SchemaRefused(lacking);
}

const FOLDER = path.resolve(import.meta.dirname, '../../migrations');

/** A file of statements that changes tables or triggers, applied once to each database. */
export interface Migration {
  readonly tag: string;
  /** Orders migrations: a database stores that of the newest one that was applied. */
  readonly when: number;
  /** Triggers call functions, and so come after them; all else comes before. */
  readonly afterFunctions: boolean;
  readonly file: string;
}

const journalShape = z.object({ entries: z.array(z.object({ tag: z.string(), when: z.number() })) });

/** What makes an empty database the present one, oldest first. The list is that of drizzle-kit, which adds to it. */
export function listMigrations(): readonly Migration[] {
  const journal: unknown = JSON.parse(readFileSync(path.join(FOLDER, 'meta/_journal.json'), 'utf8'));
  return journalShape.parse(journal).entries.map(({ tag, when }) => ({
    ...{ tag, when, afterFunctions: tag.endsWith('_triggers'), file: path.join(FOLDER, `${tag}.sql`) },
  }));
}

export const readMigration = ({ file }: Migration): string => readFileSync(file, 'utf8');
