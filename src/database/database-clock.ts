import { sql } from 'drizzle-orm';
import { type Clock, monotonicMs, systemClock } from '#src/platform/clock.ts';
import { type Executor, valuesOf } from './client.ts';

/** What two sound clocks drift apart at most: 100 parts in a million, so a better look is replaced by one 6 ms worse after a minute. */
const DRIFT = 1e-4;

/** A look at the database's clock: how far it is ahead of `monotonicMs`, and by how much that may be wrong at `at`. */
interface Look {
  readonly ahead: number;
  readonly doubt: number;
  readonly at: number;
}

/**
 * The database's time as this process knows it: what the database said at its best look, plus what has passed since by a clock
 * that no setting moves. Processes whose own clocks differ so agree about what they show and write. What decides a window asks
 * the database itself, in the transaction (`readNow`). Before the first look it is the clock of this machine.
 */
export class DatabaseClock implements Clock {
  #look: Look | undefined;

  now(): number {
    return this.#look === undefined ? systemClock.now() : Math.round(monotonicMs() + this.#look.ahead);
  }

  /**
   * Takes over what the database said. A slow answer may have been made at its beginning or its end: it is taken only when it is
   * surer than the look before, which ages, or when both cannot be true because the database's clock was set.
   * @param databaseMs its time, Unix ms
   * @param askedAt when it was asked, of `monotonicMs`
   * @param answeredAt when its answer came, of `monotonicMs`
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

/** The database's time in this very moment, Unix ms: for every decision about a window, in the transaction that it is for. */
export const readNow = async (executor: Executor): Promise<number> =>
  Number((await valuesOf<string>(executor, sql`SELECT now_ms()`))[0]);
