import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import type { Database } from '#src/database/client.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';

/** Between two messages of an event about its ballots (completions 8.1). */
const PAUSE_MS = 5_000;
const LOOK_EVERY_MS = 1_000;

/** Writes `ballot.confirmed` for every event whose count grew, at most once in 5 s an event. */
export async function publishBallots(db: Database): Promise<void> {
  await db.execute(sql`SELECT announce_ballots(${PAUSE_MS}::integer)`);
}

/**
 * Looks once a second for events whose ballots are to be announced: the queue's own clock counts minutes. Several processes
 * may do so at once.
 */
export class BallotPublisher {
  readonly #db: Database;
  readonly #log: Log;
  readonly #stopping = new AbortController();
  #looking: Promise<void> | undefined;

  constructor(db: Database, log: Log) {
    this.#db = db;
    this.#log = log;
  }

  start(): void {
    this.#looking = this.#keepLooking();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#looking;
  }

  async #keepLooking(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await publishBallots(this.#db).catch((fault: unknown) =>
        this.#log.warn({ fault: summariseFault(fault) }, 'confirmed ballots were not announced yet'),
      );
      // Ended by the stop, and by nothing else.
      await delay(LOOK_EVERY_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
}
