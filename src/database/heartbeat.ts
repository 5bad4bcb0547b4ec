import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import pg from 'pg';
import { monotonicMs } from '#src/platform/clock.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { databaseErrorCode, LOCKED } from './client.ts';
import { requireSchemaNumber, type SchemaNumber, SchemaRefused, whyNotServed } from './schema-number.ts';
import { WriterClient } from './writer.ts';

interface HeartbeatOptions {
  readonly url: string;
  readonly log: Log;
  /** Identifies this process among all processes of the database, 16 bytes. */
  readonly processId: Buffer;
  /** Called with each answer, also if a lock kept the beat from being written. */
  readonly onAnswer: () => void;
  /** `databaseMs`: the database's time, Unix ms. `askedAt`, `answeredAt`: when the query was sent and answered, by `monotonicMs`. */
  readonly onBeat: (beat: Record<'databaseMs' | 'askedAt' | 'answeredAt', number>) => void;
  /** By channel, what to do with the payload of a notification of another process. */
  readonly onNotification: Readonly<Record<string, (payload: string) => void>>;
  /** Called on every new connection, because notifications may have been missed. */
  readonly onGap: () => void;
  /** Called repeatedly while the database does not answer. */
  readonly onSilence: () => void;
  /** Called with the reason, in one line, when another build will serve the database and this process must end. */
  readonly onReplaced: (reason: string) => void;
}

const BEAT = `
  INSERT INTO service_processes (id, seen_at) VALUES ($1, now_ms())
  ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at
  RETURNING seen_at, (SELECT to_jsonb(s) FROM schema_number s) AS schema`;
/** Deletes rows of killed processes after an hour. A process counts as dead after two seconds without a beat. */
const FORGET = 'DELETE FROM service_processes WHERE seen_at < now_ms() - 3600000';

/** How many processes of the service run on a database. A killed process counts for another two seconds. */
export async function countLivingProcesses(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query('SELECT 1 FROM service_processes WHERE is_process_alive(id)');
  return rows.length;
}

/** After so many failed beats in a row, which take two seconds, the database counts as refusing. */
const REFUSED_BEATS = 4;

class Silence extends Error {
  override readonly name = 'DatabaseSilent';
}

/** Waits for an answer for as long as the database may be silent. An answer that has arrived but was not read yet counts. */
async function withinPatience<T>(answer: Promise<T>): Promise<T> {
  const ended = new AbortController();
  const silence = async (): Promise<never> => {
    await delay(TIME_LIMITS.databaseSilenceMs, undefined, { signal: ended.signal, ref: false });
    // In a process that was busy, the timer fires before the sockets are read: give them three turns of the event loop.
    for (let look = 0; look < 3; look += 1) await setImmediate();
    throw new Silence('the database gives no answer');
  };
  const waiting = silence();
  // After the answer, the aborted timer rejects and must not be an unhandled rejection.
  waiting.catch(() => undefined);
  try {
    return await Promise.race([answer, waiting]);
  } finally {
    ended.abort();
  }
}

/**
 * Records that this process is alive and reads the database's time, twice a second on a connection of its own, which also listens
 * to the other processes. Detects within a second and a half a database that neither answers nor closes its connections,
 * earlier than the time limit of queries (`databaseQueryMs`).
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #stopping = new AbortController();
  readonly #first = Promise.withResolvers<void>();
  #beating: Promise<void> | undefined;
  #client: pg.Client | undefined;
  #silent = false;
  /** Beats that failed since the last one that succeeded. */
  #failed = 0;
  #pausing = new AbortController();

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  /** Whether the database gives no answer at the moment, or takes no writes, and so no votes, as one that is read-only. A full disk takes the beat. */
  get isAway(): boolean {
    return this.#silent || this.#failed >= REFUSED_BEATS;
  }

  /** Resolves after the first answer or the first failure. */
  async start(): Promise<void> {
    this.#beating = this.#keepBeating();
    await this.#first.promise;
  }

  /** Ends the pause before the next beat. */
  beatNow(): void {
    this.#pausing.abort();
  }

  /** Deletes this process's row, so that other processes can take over its work at once. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.beatNow();
    await this.#beating;
  }

  async #keepBeating(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      let wasSilent = false;
      try {
        await this.#beatOnOneConnection();
      } catch (fault) {
        wasSilent = fault instanceof Silence;
        this.#noteFault(fault);
      } finally {
        this.#first.resolve();
        // Not awaited, because a silent server never confirms the end.
        this.#client?.end().catch(() => undefined);
        this.#client = undefined;
      }
      // Callers of a silent database are refused, so do not pause: if only this connection was lost, an answer comes in some milliseconds.
      if (!wasSilent) await this.#pause();
    }
  }

  #noteFault(fault: unknown): void {
    if (fault instanceof Silence) {
      if (!this.#silent) this.#options.log.warn('the database gives no answer: what waits for it is refused');
      this.#silent = true;
      this.#options.onSilence();
    } else if (fault instanceof SchemaRefused) {
      this.#options.onReplaced(fault.message);
    } else if (!this.#stopping.signal.aborted) {
      // Somebody holds the table of beats. The database takes votes as before, so this process must not be taken out of service.
      if (databaseErrorCode(fault) === LOCKED) this.#noteAnswer();
      else this.#failed += 1;
      this.#options.log.warn({ fault: summariseFault(fault) }, 'the database could not be asked for its time');
    }
  }

  #noteAnswer(): void {
    this.#silent = false;
    this.#options.onAnswer();
  }

  async #beatOnOneConnection(): Promise<void> {
    const client = new WriterClient({
      connectionString: this.#options.url,
      application_name: 'voting-service heartbeat',
      // Longer than `databaseSilenceMs`: a slow statement counts as silence before this limit ends it.
      statement_timeout: TIME_LIMITS.databaseStatementMs,
      // Shorter than `databaseSilenceMs`: a held lock is an answer.
      lock_timeout: TIME_LIMITS.heartbeatMs,
    });
    this.#client = client;
    const { onNotification, onGap } = this.#options;
    client.on('notification', ({ channel, payload = '' }) => onNotification[channel]?.(payload));
    await withinPatience(client.connect());
    await withinPatience(requireSchemaNumber(client));
    for (const channel of Object.keys(onNotification))
      await withinPatience(client.query(`LISTEN ${pg.escapeIdentifier(channel)}`));
    onGap();
    await withinPatience(client.query(FORGET));
    while (!this.#stopping.signal.aborted) {
      const askedAt = monotonicMs();
      const { rows } = await withinPatience(
        client.query<{ seen_at: string; schema: SchemaNumber }>({
          name: 'beat',
          text: BEAT,
          values: [this.#options.processId],
        }),
      );
      this.#noteAnswer();
      this.#failed = 0;
      this.#options.onBeat({ databaseMs: Number(rows[0]?.seen_at), askedAt, answeredAt: monotonicMs() });
      this.#first.resolve();
      const replaced = whyNotServed(rows[0]?.schema);
      if (replaced !== undefined) this.#options.onReplaced(replaced);
      await this.#pause();
    }
    await withinPatience(client.query('DELETE FROM service_processes WHERE id = $1', [this.#options.processId]));
  }

  async #pause(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    this.#pausing = new AbortController();
    await delay(TIME_LIMITS.heartbeatMs, undefined, { signal: this.#pausing.signal }).catch(() => undefined);
  }
}
