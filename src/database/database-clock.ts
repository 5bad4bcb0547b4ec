import { sql } from 'drizzle-orm';
import { type Clock, monotonicMs, systemClock } from '#src/platform/clock.ts';
import { type Executor, valuesOf } from './client.ts';

/** Maximum drift between two working clocks: 100 parts per million, so the possible error of a measurement grows by 6 ms a minute. */
const DRIFT = 1e-4;

/** A measurement of the database's clock: how far it is ahead of `monotonicMs`, with the possible error `doubt`, measured at `at`. */
interface Look {
  readonly ahead: number;
  readonly doubt: number;
  readonly at: number;
}

/**
 * This process's estimate of the database's time: its best measurement plus the monotonic time since, so that processes whose own
 * clocks differ agree about the times that they show and write. A decision about a time window must read the database's clock in its
 * transaction (`readNow`). Before the first measurement, the estimate is this machine's clock.
 */
export class DatabaseClock implements Clock {
  #look: Look | undefined;

  now(): number {
    return this.#look === undefined ? systemClock.now() : Math.round(monotonicMs() + this.#look.ahead);
  }

  /**
   * Adds a measurement; a slow answer has a larger error, because the clock was read at an unknown moment of the round trip. Keeps the
   * previous measurement, whose error grows with age, if it is still more exact and agrees (it disagrees if a clock was set).
   * @param databaseMs the database's time, Unix ms
   * @param askedAt when the query was sent, by `monotonicMs`
   * @param answeredAt when the answer came, by `monotonicMs`
   */
  follow(databaseMs: number, askedAt: number, answeredAt: number): void {
    const look = { ahead: databaseMs - (askedAt + answeredAt) / 2, doubt: (answeredAt - askedAt) / 2, at: answeredAt };
    const before = this.#look;
    if (before !== undefined) {
      const doubt = before.doubt + (look.at - before.at) * DRIFT;
      if (look.doubt > doubt && Math.abs(look.ahead - before.ahead) <= look.doubt + doubt + 1) return;
    }
    this.#look = look;
  }
}

/** The database's time now, Unix ms. Every decision about a time window must read it, in its own transaction. */
export const readNow = async (executor: Executor): Promise<number> =>
  Number((await valuesOf<string>(executor, sql`SELECT now_ms()`))[0]);
