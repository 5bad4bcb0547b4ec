import { Duplex } from 'node:stream';
import type { SQL } from 'drizzle-orm';
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import type { PgTransactionConfig } from 'drizzle-orm/pg-core';
import type pg from 'pg';
import type { Log } from '#src/platform/log.ts';
import { summariseFault } from '#src/platform/log.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { FairPool } from './fair-pool.ts';
import { requireSchemaNumber } from './schema-number.ts';
import { WriterClient } from './writer.ts';

/** Runs statements outside of a transaction. */
export type Database = NodePgDatabase & { $client: pg.Pool };
/** Runs statements inside of a transaction. */
export type Transaction = Parameters<Parameters<Database['transaction']>[0]>[0];
/** Either: what a repository's function takes as its first parameter when both make sense. */
export type Executor = Database | Transaction;

export interface ConnectOptions {
  readonly url: string;
  readonly log: Log;
  readonly maxConnections: number;
  /** What is waited for a connection; what a request waits unless said otherwise. */
  readonly connectMs?: number;
  /** Where its connections are kept: of pools that are cut together, one. */
  readonly connections?: Set<pg.PoolClient>;
}

const connectionsOf = new WeakMap<pg.Pool, Set<pg.PoolClient>>();

// int8 comes back as text by default. Ours are milliseconds, millionths and counts: bigint where they may pass 2^53,
// which the tables' own columns say; everything selected raw stays text and is converted where it is read.

/** Opens a pool to the server that takes writes. */
export const connectDatabase = (options: ConnectOptions): Database =>
  makePool(options, (config) => new FairPool({ ...config, Client: WriterClient }));

/** Opens a pool. Every client has an error listener: a connection that dies idle must not take the process along. */
export function makePool(options: ConnectOptions, open: (config: pg.PoolConfig) => pg.Pool): Database {
  const pool = open({
    connectionString: options.url,
    max: options.maxConnections,
    // A pause of some seconds has no new connections made: each asks for the schema's number first.
    idleTimeoutMillis: TIME_LIMITS.databaseIdleMs,
    connectionTimeoutMillis: options.connectMs ?? TIME_LIMITS.databaseConnectMs,
    query_timeout: TIME_LIMITS.databaseQueryMs,
    statement_timeout: TIME_LIMITS.databaseStatementMs,
    lock_timeout: TIME_LIMITS.databaseLockMs,
    idle_in_transaction_session_timeout: TIME_LIMITS.databaseIdleInTransactionMs,
    application_name: 'voting-service',
    verify: (client, done) => {
      requireSchemaNumber(client).then(() => done(), done);
    },
  });
  // A pool that ends waits for no goodbye of the server, which may stop right after it.
  const warn = (fault: Error, words: string): void => {
    if (!pool.ending) options.log.warn({ fault: summariseFault(fault) }, words);
  };
  pool.on('error', (fault) => warn(fault, 'an idle database connection was lost'));
  const { connections = new Set() } = options;
  connectionsOf.set(pool, connections);
  pool.on('remove', (client) => connections.delete(client));
  pool.on('connect', (client) => {
    connections.add(client);
    client.on('error', (fault) => warn(fault, 'a database connection was lost'));
  });
  return drizzle(pool);
}

/**
 * Cuts every connection of a pool to a database that gives no answer: what waits on one fails at once, and may be tried
 * again. The pool makes new ones when it is asked.
 */
export function cutConnections({ $client }: Database): void {
  for (const client of connectionsOf.get($client) ?? []) {
    // The library's own way to end a connection waits for the server where no query is under way.
    const stream: unknown = Reflect.get(Reflect.get(client, 'connection') ?? {}, 'stream');
    if (stream instanceof Duplex) stream.destroy(new Error('Connection terminated: the database gives no answer'));
  }
}

/** Works on a connection of its own, outside of every pool. */
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
const DEADLOCK = '40P01';

/** The SQLSTATE of a fault, wherever in its causes it stands. */
export function databaseErrorCode(fault: unknown): string | undefined {
  for (let error: unknown = fault; error instanceof Error; error = error.cause) {
    const code: unknown = Reflect.get(error, 'code');
    // Each has a digit, which EPIPE and its like have not.
    if (typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code)) return code;
  }
  return undefined;
}

/** A connection that is refused or ended, a server that starts, stops or has become a standby. */
const AWAY = /^(?:08|57P|25006$)/;

/** Whether a fault says that the server is away, or that another one takes writes now, as in a fail-over: no answer to what was asked. */
export const isAway = (fault: unknown): boolean => AWAY.test(databaseErrorCode(fault) ?? '08');

/** The name of the constraint that a fault names, for telling which of several uniqueness rules was broken. */
export function violatedConstraint(fault: unknown): string | undefined {
  for (let error: unknown = fault; error instanceof Error; error = error.cause) {
    const constraint: unknown = Reflect.get(error, 'constraint');
    if (typeof constraint === 'string') return constraint;
  }
  return undefined;
}

/**
 * One transaction on a connection of the pool, which gets it back whatever fails. The library's own way keeps it for ever where
 * `begin` fails, as it does on a connection that was just broken off: after a few, nothing of the pool is left.
 */
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
    // What became of a `begin` without an answer is not known: such a connection is closed.
    client.release(!begun);
  }
}

/** One transaction, READ COMMITTED unless `config` says otherwise; serialisation failures and deadlocks are tried again, up to 3 times, with jitter. */
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

/** The values of a statement whose rows have one column. */
export async function valuesOf<Value>(executor: Executor, statement: SQL): Promise<Value[]> {
  const { rows } = await executor.execute<Record<string, Value>>(statement);
  return rows.flatMap((row) => Object.values(row).slice(0, 1));
}

/** Whether a statement answers `true`. */
export const isTrue = async (executor: Executor, statement: SQL): Promise<boolean> =>
  (await valuesOf<boolean>(executor, statement))[0] === true;

/** Reads that belong together, all as of one moment. */
export const atOneMoment = <T>(db: Database, read: (tx: Transaction) => Promise<T>): Promise<T> =>
  inTransaction(db, read, { isolationLevel: 'repeatable read', accessMode: 'read only' });

/** Gives a connection of the pool to work that changes its settings: it is closed afterwards. For what no transaction can hold. */
export async function onOwnConnection<T>(
  { $client }: Database,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await $client.connect();
  try {
    return await work(client);
  } finally {
    client.release(true);
  }
}

/** What is not noted by then is left to the job's next attempt. */
const PATIENCE_MS = 30_000;
const PATIENT_PAUSE_MS = 50;
/** Data that is wrong, a rule that is broken, a statement that is wrong: another try would meet the same. */
const LASTING_FAULT = /^(?:22|23|42)/;

/**
 * Writes down what cannot be undone, such as a mail that has left: a row that somebody else holds, a pool without a free connection
 * and a connection that is lost are waited for. Never for a request: it may take half a minute.
 * @param work leaves the same behind if it runs once more after a commit whose answer was lost
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
 * A hot statement: named, so that it is parsed and planned once for each connection. The plan may be kept from a time when
 * tables were empty: where several indexes fit a look-up, the statement says by its order which one it means.
 * Rows come back as the driver gives them; the repository that calls this turns them into its types.
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
