import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { monotonicMs } from '#src/platform/clock.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';
import { type ConnectOptions, connectDatabase, type Database, databaseErrorCode, isAway, makePool } from './client.ts';
import { FairPool } from './fair-pool.ts';
import { StandbyClient } from './writer.ts';

// DATABASE_READ_URL names a streaming standby ("copy") of the database for long or frequent reads. Before each read, the pool asks the
// primary ("writer") for its WAL position and waits until the standby has replayed it: a read sees every earlier commit.

/** Time limit for a connection to the standby; afterwards the primary answers. */
const CONNECT_MS = 500;
/** Number of polls of a standby that lags, with a pause in between; then the primary answers. */
const LOOKS = 6;
const PAUSE_MS = 20;
const LOOK_MS = 500;
/** After a failure of the standby, only the primary answers reads for this long. */
const REST_MS = 1_000;
const SERIALIZATION_FAILURE = '40001';

/** WAL positions compare within one cluster and timeline: after a promotion, a copy may be ahead by lost commits. */
const PLACE = "(SELECT system_identifier FROM pg_control_system()) || ' ' || current_database()";
const WRITER = `SELECT ${PLACE} AS place, pg_current_wal_flush_lsn()::text AS lsn,
  left(pg_walfile_name(pg_current_wal_flush_lsn()), 8) AS timeline`;
const COPY = `SELECT ${PLACE} AS place, pg_last_wal_replay_lsn()::text AS lsn,
  (SELECT upper(lpad(to_hex(received_tli), 8, '0')) FROM pg_stat_wal_receiver) AS timeline,
  coalesce(pg_last_wal_replay_lsn() >= $1::pg_lsn, false) AS "isThere"`;

interface Position {
  readonly place: string;
  readonly timeline: string | null;
  readonly lsn: string | null;
}
type Asked = Pick<pg.Client | pg.Pool, 'query'>;

/** The primary's WAL position. */
export async function askWriter(client: Asked): Promise<Position> {
  const { rows } = await client.query<Position>(WRITER);
  if (rows[0] === undefined) throw new Error('the writer does not say where it is');
  return rows[0];
}

/** The standby's WAL position, and whether the standby has replayed the primary's position. */
export async function askCopy(client: Asked, writer: Position): Promise<Position & { readonly isThere: boolean }> {
  const question = { name: 'ask_copy', text: COPY, values: [writer.lsn], query_timeout: LOOK_MS };
  const { rows } = await client.query<Position & { readonly isThere: boolean }>(question);
  if (rows[0] === undefined) throw new Error('the copy does not say where it is');
  const { place, timeline, isThere } = rows[0];
  return { ...rows[0], isThere: isThere && place === writer.place && timeline === writer.timeline };
}

class CopyBehind extends Error {
  override readonly name = 'CopyBehind';
}

/** Gives connections to the standby if it has caught up with the primary, otherwise to the primary. */
class ReadPool extends FairPool {
  readonly #writer: FairPool;
  readonly #log: Log;
  #restsUntil = Number.NEGATIVE_INFINITY;
  #isUsed = true;

  constructor(config: pg.PoolConfig, writer: FairPool, log: Log) {
    super(config);
    this.#writer = writer;
    this.#log = log;
    const [query, end] = [this.query.bind(this) as (...words: unknown[]) => Promise<unknown>, this.end.bind(this)];
    const again = writer.query.bind(writer) as typeof query;
    // A failed read has changed nothing: if the standby cancelled the read or is away, the primary repeats the read.
    this.query = ((...words: unknown[]) =>
      query(...words).catch((fault: unknown) => {
        if (!isAway(fault) && databaseErrorCode(fault) !== SERIALIZATION_FAILURE) throw fault;
        this.#rest(fault);
        return again(...words);
      })) as typeof this.query;
    this.end = (() => Promise.all([end(), writer.end()]).then(() => undefined)) as typeof this.end;
  }

  override get waiting(): number {
    return super.waiting + this.#writer.waiting;
  }

  override setSilent(isSilent: boolean): void {
    super.setSilent(isSilent);
    this.#writer.setSilent(isSilent);
  }

  protected override async take(): Promise<pg.PoolClient> {
    if (monotonicMs() < this.#restsUntil) return this.#writer.connect();
    const writer = await askWriter(this.#writer).catch((fault: unknown) => {
      if (isAway(fault)) throw fault;
      // For example, the role may not call the WAL functions. The primary still answers its reads.
      this.#rest(fault);
    });
    if (writer === undefined) return this.#writer.connect();
    let client: pg.PoolClient | undefined;
    try {
      client = await super.take();
      await waitFor(client, writer);
      if (!this.#isUsed) this.#log.info('the copy of the database answers reads again');
      this.#isUsed = true;
      return client;
    } catch (fault) {
      client?.release(!(fault instanceof CopyBehind));
      this.#rest(fault);
      return this.#writer.connect();
    }
  }

  #rest(fault: unknown): void {
    this.#restsUntil = monotonicMs() + REST_MS;
    if (this.#isUsed) this.#log.warn({ fault: summariseFault(fault) }, 'the copy of the database answers no reads');
    this.#isUsed = false;
  }
}

/** Waits until the standby has caught up with the primary. @throws CopyBehind */
async function waitFor(client: pg.PoolClient, writer: Position): Promise<void> {
  for (let look = 1; !(await askCopy(client, writer)).isThere; look += 1) {
    if (look === LOOKS) throw new CopyBehind('the copy is behind the writer');
    await pause(PAUSE_MS);
  }
}

/** A pool for reads: of the standby if `readUrl` is set, otherwise of the primary. Never use it for writes. */
export function connectReads(given: ConnectOptions, readUrl: string | undefined): Database {
  const options = { ...given, connections: new Set<pg.ClientBase>() };
  const writer = connectDatabase(options);
  if (readUrl === undefined) return writer;
  return makePool(
    { ...options, url: readUrl, connectMs: CONNECT_MS },
    (config) => new ReadPool({ ...config, Client: StandbyClient }, writer.$client, options.log),
  );
}
