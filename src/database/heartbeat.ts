import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import type pg from 'pg';
import { monotonicMs } from '#src/platform/clock.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { requireSchemaNumber, type SchemaNumber, SchemaRefused, whyNotServed } from './schema-number.ts';
import { WriterClient } from './writer.ts';

interface Beat {
  /** The database's time, Unix ms. */
  readonly databaseMs: number;
  /** By the clock of `monotonicMs`. */
  readonly askedAt: number;
  readonly answeredAt: number;
}

interface HeartbeatOptions {
  readonly url: string;
  readonly log: Log;
  /** Names this process among all that share the database, 16 bytes. */
  readonly processId: Buffer;
  readonly onBeat: (beat: Beat) => void;
  /** Hears that the database gives no answer, again and again for as long as it gives none. */
  readonly onSilence: () => void;
  /** Hears why this build must end, in one line, once another one is to serve the database. */
  readonly onReplaced: (reason: string) => void;
}

const BEAT = `
  INSERT INTO service_processes (id, seen_at) VALUES ($1, now_ms())
  ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at
  RETURNING seen_at, (SELECT to_jsonb(s) FROM schema_number s) AS schema`;
/** Rows of processes that were killed; they count for nothing after two seconds. */
const FORGET = 'DELETE FROM service_processes WHERE seen_at < now_ms() - 3600000';

class Silence extends Error {
  override readonly name = 'DatabaseSilent';
}

/** Waits for an answer as long as the database may be silent. What has come already and was not read yet is no silence. */
async function withinPatience<T>(answer: Promise<T>): Promise<T> {
  const ended = new AbortController();
  const silence = async (): Promise<never> => {
    await delay(TIME_LIMITS.databaseSilenceMs, undefined, { signal: ended.signal, ref: false });
    // A process that was busy finds the time over before it has looked at its sockets.
    for (let look = 0; look < 3; look += 1) await setImmediate();
    throw new Silence('the database gives no answer');
  };
  const waiting = silence();
  // Once the answer is there, nothing is waited for.
  waiting.catch(() => undefined);
  try {
    return await Promise.race([answer, waiting]);
  } finally {
    ended.abort();
  }
}

/**
 * Shows the other processes that this one is alive, and asks the database for its time, twice a second on a connection of
 * its own. A database that neither answers nor breaks its connections is noticed within a second and a half: everything
 * that waits for it would wait for minutes otherwise.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #stopping = new AbortController();
  readonly #first = Promise.withResolvers<void>();
  #beating: Promise<void> | undefined;
  #client: pg.Client | undefined;
  #silent = false;
  #pausing = new AbortController();

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  /** Whether the database gives no answer at the moment. */
  get isSilent(): boolean {
    return this.#silent;
  }

  /** Resolves after the first answer, or the first time that none came. */
  async start(): Promise<void> {
    this.#beating = this.#keepBeating();
    await this.#first.promise;
  }

  /** Asks at once what the next beat would ask. */
  beatNow(): void {
    this.#pausing.abort();
  }

  /** Takes this process off the list: what it had begun is free at once. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.beatNow();
    await this.#beating;
  }

  async #keepBeating(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      try {
        await this.#beatOnOneConnection();
      } catch (fault) {
        this.#noteFault(fault);
      } finally {
        this.#first.resolve();
        // One that is silent is cut off; its end is not waited for.
        this.#client?.end().catch(() => undefined);
        this.#client = undefined;
      }
      await this.#pause();
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
      this.#options.log.warn({ fault: summariseFault(fault) }, 'the database could not be asked for its time');
    }
  }

  async #beatOnOneConnection(): Promise<void> {
    const client = new WriterClient({
      connectionString: this.#options.url,
      application_name: 'voting-service heartbeat',
      // Longer than what is waited for here: a row that is locked is no silence.
      statement_timeout: TIME_LIMITS.databaseStatementMs,
    });
    this.#client = client;
    await withinPatience(client.connect());
    await withinPatience(requireSchemaNumber(client));
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
      this.#silent = false;
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
