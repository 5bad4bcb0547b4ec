import { sql } from 'drizzle-orm';
import { type Clock, monotonicMs, systemClock } from '#src/platform/clock.ts';
import type { Executor } from './client.ts';

/** A look at the database's clock that took longer says too little of it. */
const LONGEST_LOOK_MS = 1_000;

/**
 * The database's time as this process knows it: what the database said last, plus what has passed since by a clock that no
 * setting moves. Processes whose own clocks differ so agree about what they show and write. What decides a window asks the
 * database itself, in the transaction (`readNow`). Before the database has said anything it is the clock of this machine.
 */
export class DatabaseClock implements Clock {
  #ahead: number | undefined;

  now(): number {
    return this.#ahead === undefined ? systemClock.now() : Math.round(monotonicMs() + this.#ahead);
  }

  /**
   * Takes over what the database said.
   * @param databaseMs its time, Unix ms
   * @param askedAt when it was asked, of `monotonicMs`
   * @param answeredAt when its answer came, of `monotonicMs`
   */
  follow(databaseMs: number, askedAt: number, answeredAt: number): void {
    if (answeredAt - askedAt > LONGEST_LOOK_MS && this.#ahead !== undefined) return;
    this.#ahead = databaseMs - (askedAt + answeredAt) / 2;
  }
}

/** The database's time in this very moment, Unix ms: for every decision about a window, in the transaction that it is for. */
export async function readNow(executor: Executor): Promise<number> {
  const { rows } = await executor.execute<{ now: string }>(sql`SELECT now_ms() AS now`);
  return Number(rows[0]?.now);
}
