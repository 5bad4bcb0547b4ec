import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { migrate } from '#src/database/migrate.ts';
import { startOwnDatabase } from '#test/harness/own-database.ts';
import { runStatements } from '#test/harness/test-database.ts';

interface Server {
  readonly url: string;
  stop(): Promise<void>;
}

function withDatabase(url: string, name: string): string {
  const address = new URL(url);
  address.pathname = `/${name}`;
  return address.href;
}

async function startServer(): Promise<Server> {
  const given = process.env['TEST_DATABASE_URL'];
  if (given !== undefined && given !== '') return { url: given, stop: async () => undefined };
  return startOwnDatabase('model', false);
}

interface Template {
  readonly server: Server;
  readonly name: string;
  /** Drivers that use it: the last one takes it down. */
  users: number;
}

let template: Promise<Template> | undefined;

/** One server and one migrated template for every driver of this process. */
async function takeTemplate(): Promise<Template> {
  template ??= (async () => {
    const server = await startServer();
    const name = `voting_model_template_${randomBytes(4).toString('hex')}`;
    await runStatements(server.url, [`CREATE DATABASE ${name}`]);
    await migrate(withDatabase(server.url, name));
    return { server, name, users: 0 };
  })();
  const taken = await template;
  taken.users += 1;
  return taken;
}

async function letGo(taken: Template): Promise<void> {
  taken.users -= 1;
  if (taken.users > 0) return;
  template = undefined;
  await runStatements(taken.server.url, [`DROP DATABASE IF EXISTS ${taken.name} WITH (FORCE)`]);
  await taken.server.stop();
}

/**
 * The database's time becomes the real one plus an offset that stands in a table. The names stand before the built-in ones
 * on the search path, so that every statement that asks for the time gets this one: the service's own and the queue's.
 * `now_ms` was compiled against the built-in clock, so it is replaced. This is before anybody has a plan with the old ones in it.
 */
export const SHIFTED_TIME: readonly string[] = [
  'CREATE SCHEMA driver',
  'CREATE TABLE driver.time (ms bigint NOT NULL)',
  'INSERT INTO driver.time VALUES (0)',
  `CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
    RETURN pg_catalog.clock_timestamp() + (SELECT ms FROM driver.time) * interval '1 millisecond'`,
  `CREATE FUNCTION public.now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
    RETURN pg_catalog.now() + (SELECT ms FROM driver.time) * interval '1 millisecond'`,
  `CREATE OR REPLACE FUNCTION public.now_ms() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE
    RETURN (extract(epoch FROM public.clock_timestamp()) * 1000)::bigint`,
];

/** Without the schema number, which every connection asks for first. */
const TABLES = `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
  WHERE schemaname = 'public' AND tablename NOT IN ('schema_number', 'service_identity')`;

const TRUNCATE_EVERY = 50;

export class DriverDatabase {
  readonly url: string;
  /** The driver's own connection: what it asks must not wait for a place in a pool. */
  readonly client: pg.Client;
  readonly #taken: Template;
  readonly #name: string;
  #emptied = 0;

  private constructor(taken: Template, name: string, url: string, client: pg.Client) {
    this.#taken = taken;
    this.#name = name;
    this.url = url;
    this.client = client;
  }

  static async create(): Promise<DriverDatabase> {
    const taken = await takeTemplate();
    const name = `voting_model_${randomBytes(6).toString('hex')}`;
    const url = withDatabase(taken.server.url, name);
    await runStatements(taken.server.url, [
      `CREATE DATABASE ${name} TEMPLATE ${taken.name}`,
      `ALTER DATABASE ${name} SET search_path = public, pg_catalog`,
    ]);
    await runStatements(url, SHIFTED_TIME);
    const client = new pg.Client({ connectionString: url });
    // A query on a lost connection fails by itself.
    client.on('error', () => undefined);
    await client.connect();
    return new DriverDatabase(taken, name, url, client);
  }

  async setOffset(ms: number): Promise<void> {
    // A statement that is under way must not see two times: what processes share of rate limits is reckoned against this clock.
    const { rows } = await this.client.query<{ name: string }>(`${TABLES} AND tablename LIKE '%rate%'`);
    const lock = rows.length === 0 ? '' : `LOCK TABLE ${rows.map(({ name }) => name).join()};`;
    await this.client.query(`BEGIN; ${lock} UPDATE driver.time SET ms = ${Math.round(ms)}; COMMIT`);
  }

  /** Removes every row: nothing that a history left may slow the next one down, or become due in it. */
  async empty(): Promise<void> {
    const { rows } = await this.client.query<{ name: string }>(TABLES);
    // Few rows are deleted sooner than files are made; now and then the files are made all the same, as what is deleted takes room.
    this.#emptied += 1;
    const names = rows.map(({ name }) => name);
    const remove =
      this.#emptied % TRUNCATE_EVERY === 0
        ? `TRUNCATE ${names.join()};`
        : names.map((name) => `DELETE FROM ${name};`).join(' ');
    for (let attempt = 1; ; attempt += 1) {
      try {
        // What may only grow is guarded by triggers, which are silent for a replica.
        await this.client.query(`BEGIN; SET LOCAL session_replication_role = replica;
          ${remove} COMMIT`);
        return;
      } catch (fault) {
        await this.client.query('ROLLBACK');
        // Something that looks around by itself held a lock the other way round.
        if (attempt === 5 || !(fault instanceof pg.DatabaseError) || fault.code !== '40P01') throw fault;
      }
    }
  }

  async drop(): Promise<void> {
    await this.client.end();
    await runStatements(this.#taken.server.url, [`DROP DATABASE IF EXISTS ${this.#name} WITH (FORCE)`]);
    await letGo(this.#taken);
  }
}
