import { Duplex } from 'node:stream';
import type { SQL } from 'drizzle-orm';
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import type { PgTransactionConfig } from 'drizzle-orm/pg-core';
import type pg from 'pg';
import type { LeaseLimits } from '#src/platform/leases.ts';
import type { Log } from '#src/platform/log.ts';
import { summariseFault } from '#src/platform/log.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { FairPool } from './fair-pool.ts';
import { requireSchemaNumber } from './schema-number.ts';
import { WriterClient } from './writer.ts';

/** Runs statements outside of a transaction. */
export type Database = NodePgDatabase & { $client: FairPool };
/** Runs statements inside of a transaction. */
export type Transaction = Parameters<Parameters<Database['transaction']>[0]>[0];
/** Either: the first parameter of a repository's function that works in and outside of a transaction. */
export type Executor = Database | Transaction;

export interface ConnectOptions {
  readonly url: string;
  readonly log: Log;
  readonly maxConnections: number;
  /** How many connections an account may hold while another account is present; all by default. */
  readonly beside?: LeaseLimits['beside'];
  /** Time limit for getting a connection; the limit of a request (`databaseConnectMs`) by default. */
  readonly connectMs?: number;
  /** The set in which the pool keeps its connections. Pools that `setSilent` cuts together share one set. */
  readonly connections?: Set<pg.ClientBase>;
}

const connectionsOf = new WeakMap<pg.Pool, Set<pg.ClientBase>>();

// The driver returns int8 as text. Columns of Drizzle tables convert it: to bigint if values may pass 2^53, else to number.
// In raw SQL it stays text, and the caller converts it.

/** Opens a pool to the server that takes writes. */
export const connectDatabase = (options: ConnectOptions): Database =>
  makePool(options, (config) => new FairPool({ ...config, Client: WriterClient }, options.beside));

/** Opens a pool. Every client gets an error listener, because an unhandled error of an idle connection would end the process. */
export function makePool(options: ConnectOptions, open: (config: pg.PoolConfig) => FairPool): Database {
  const { connections = new Set() } = options;
  const pool = open({
    connectionString: options.url,
    max: options.maxConnections,
    // Keeps connections through a pause of some seconds, because each new connection first reads the schema number.
    idleTimeoutMillis: TIME_LIMITS.databaseIdleMs,
    connectionTimeoutMillis: options.connectMs ?? TIME_LIMITS.databaseConnectMs,
    query_timeout: TIME_LIMITS.databaseQueryMs,
    statement_timeout: TIME_LIMITS.databaseStatementMs,
    lock_timeout: TIME_LIMITS.databaseLockMs,
    idle_in_transaction_session_timeout: TIME_LIMITS.databaseIdleInTransactionMs,
    application_name: 'voting-service',
    // Not `verify`: pg-pool would never release a connection whose caller gives up during that check.
    onConnect: async (client) => {
      connections.add(client);
      client.once('end', () => connections.delete(client));
      await requireSchemaNumber(client);
    },
  });
  // Lost connections of an ending pool are not logged: the server may stop at the same time.
  const warn = (fault: Error, words: string): void => {
    if (!pool.ending) options.log.warn({ fault: summariseFault(fault) }, words);
  };
  pool.on('error', (fault) => warn(fault, 'an idle database connection was lost'));
  connectionsOf.set(pool, connections);
  pool.on('connect', (client) => client.on('error', (fault) => warn(fault, 'a database connection was lost')));
  return drizzle(pool);
}

/** Sets whether the database answers. If not, refuses callers and cuts all connections, so that queries fail at once. */
export function setSilent({ $client }: Database, isSilent: boolean): void {
  $client.setSilent(isSilent);
  if (!isSilent) return;
  for (const client of connectionsOf.get($client) ?? []) {
    // The driver's own `end` waits for the server if no query is running.
    const stream: unknown = Reflect.get(Reflect.get(client, 'connection') ?? {}, 'stream');
    if (stream instanceof Duplex) stream.destroy(new Error('Connection terminated: the database gives no answer'));
  }
}

/** Runs `work` on a new connection outside of every pool. */
export async function withClient<T>(
  config: pg.ClientConfig,
  work: (client: pg.Client) => Promise<T>,
  Client: typeof WriterClient = WriterClient,
): Promise<T> {
  const client = new Client(config);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end();
  }
}

const RETRIES = 3;
const SERIALIZATION_FAILURE = '40001';
export const DEADLOCK = '40P01';
/** A lock that another transaction holds was waited for until `lock_timeout`. */
export const LOCKED = '55P03';
export const DISK_FULL = '53100';

/** The SQLSTATE of an error or of the first of its causes that has one. */
export function databaseErrorCode(fault: unknown): string | undefined {
  for (let error: unknown = fault; error instanceof Error; error = error.cause) {
    const code: unknown = Reflect.get(error, 'code');
    // A SQLSTATE contains a digit, unlike system codes of five letters such as EPIPE.
    if (typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code)) return code;
  }
  return undefined;
}

/** SQLSTATEs of a refused or ended connection, and of a server that starts, stops or has become a standby. */
const AWAY = /^(?:08|57P|25006$)/;

/** Whether an error means that the server is unreachable or no longer the primary (fail-over), not that it refused the query. */
export const isAway = (fault: unknown): boolean => AWAY.test(databaseErrorCode(fault) ?? '08');

/** The name of the violated constraint, to distinguish several unique constraints. */
export function violatedConstraint(fault: unknown): string | undefined {
  for (let error: unknown = fault; error instanceof Error; error = error.cause) {
    const constraint: unknown = Reflect.get(error, 'constraint');
    if (typeof constraint === 'string') return constraint;
  }
  return undefined;
}

/** Drizzle's own `transaction` never releases the connection if `begin` fails: a few such failures use up the pool. */
async function onceInTransaction<T>(
  { $client }: Database,
  work: (tx: Transaction) => Promise<T>,
  config?: PgTransactionConfig,
): Promise<T> {
  const client = await $client.connect();
  let begun = false;
  try {
    const run = (tx: Transaction): Promise<T> => {
      begun = true;
      return work(tx);
    };
    return await drizzle(client).transaction(run, config);
  } finally {
    // A connection whose `begin` got no answer is in an unknown state, and is closed.
    client.release(!begun);
  }
}

/** One transaction, READ COMMITTED unless `config` says otherwise; retries serialisation failures and deadlocks 3 times, with jitter. */
export async function inTransaction<T>(
  db: Database,
  work: (tx: Transaction) => Promise<T>,
  config?: PgTransactionConfig,
): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await onceInTransaction(db, work, config);
    } catch (fault) {
      const code = databaseErrorCode(fault);
      if (attempt >= RETRIES || (code !== SERIALIZATION_FAILURE && code !== DEADLOCK)) throw fault;
      await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 25 * 2 ** attempt));
    }
  }
}

export const firstOf = async <Row>(rows: PromiseLike<readonly Row[]>): Promise<Row | undefined> => (await rows)[0];

export async function valuesOf<Value>(executor: Executor, statement: SQL): Promise<Value[]> {
  const { rows } = await executor.execute<Record<string, Value>>(statement);
  return rows.flatMap((row) => Object.values(row).slice(0, 1));
}

/** The first value that a statement returns, as a number; 0 if there is none. */
export const readNumber = async (executor: Executor, statement: SQL): Promise<number> =>
  Number((await valuesOf<string | number | null>(executor, statement))[0] ?? 0);

/** Whether the first value that a statement returns is `true`. */
export const isTrue = async (executor: Executor, statement: SQL): Promise<boolean> =>
  (await valuesOf<boolean>(executor, statement))[0] === true;

/** Runs several reads on one snapshot. */
export const atOneMoment = <T>(db: Database, read: (tx: Transaction) => Promise<T>): Promise<T> =>
  inTransaction(db, read, { isolationLevel: 'repeatable read', accessMode: 'read only' });

/** Sends a statement without the time limits of requests. */
export type SendLong = <Row extends pg.QueryResultRow>(
  text: string,
  values?: unknown[],
) => Promise<pg.QueryResult<Row>>;

/** Time limit of a statement that reads or vacuums a whole table: minutes for the largest. */
const LONG_MS = 3_600_000;

/** Runs `work` on a connection of its own, with what sends statements that read whole tables. The connection is closed afterwards. */
export async function withLongStatements<T>({ $client }: Database, work: (send: SendLong) => Promise<T>): Promise<T> {
  const client = await $client.connect();
  try {
    await client.query('SET statement_timeout = 0');
    // `query_timeout` is an option of the driver that its types lack.
    return await work((text, values = []) => client.query(Object.assign({ text, values }, { query_timeout: LONG_MS })));
  } finally {
    client.release(true);
  }
}

/** How long a patient transaction is retried. Then the transaction fails, and the job's next attempt repeats the work. */
const PATIENCE_MS = 30_000;
const PATIENT_PAUSE_MS = 50;
/** SQLSTATEs that a retry cannot change: invalid data, violated constraints, wrong statements. */
const LASTING_FAULT = /^(?:22|23|42)/;

/**
 * Records what cannot be undone, such as a sent mail: retries while a row is locked, no connection is free or the connection is lost.
 * Not for requests, because it may take half a minute.
 * @param work must be idempotent: it runs again after a commit whose answer was lost
 */
export async function inPatientTransaction<T>(db: Database, work: (tx: Transaction) => Promise<T>): Promise<T> {
  const sinceMs = performance.now();
  for (;;) {
    try {
      return await inTransaction(db, work);
    } catch (fault) {
      const isLasting = LASTING_FAULT.test(databaseErrorCode(fault) ?? '');
      if (isLasting || performance.now() - sinceMs >= PATIENCE_MS) throw fault;
      await new Promise((resolve) => setTimeout(resolve, PATIENT_PAUSE_MS));
    }
  }
}

/**
 * Runs a hot statement by name, so that it is parsed and planned once per connection. The cached plan may date from when tables
 * were empty: if several indexes fit a look-up, the statement needs an ORDER BY that forces the right index.
 * Returns rows as the driver gives them; the calling repository converts them.
 */
export async function runNamed<Row extends pg.QueryResultRow>(
  pool: pg.Pool | pg.PoolClient,
  name: string,
  text: string,
  values: unknown[],
): Promise<Row[]> {
  const result = await pool.query<Row>({ name, text, values });
  return result.rows;
}
