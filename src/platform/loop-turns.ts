import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import { monotonicMs } from './clock.ts';
import { RecentMap } from './recent-map.ts';

/** The least time in ms that a piece counts: names whose pieces take almost no time still alternate. */
const LEAST_MS = 0.1;
const REMEMBERED = 4_000;

/**
 * Runs work that may block the event loop, one piece at a time. Each piece has a name, such as its account. The name that has used the
 * least time is next (start-time fair queueing), so neither many nor long pieces of one name delay another name. After each turn the loop
 * is free for as long as the turn took, also for new connections: Node accepts one per iteration. With `together`, one turn of several
 * pieces runs in each iteration, without a longer pause: other work waits for these pieces.
 */
export class LoopTurns {
  /** How long the event loop has worked for each name, such as an account or an address; in ms. */
  readonly #spent = new RecentMap<number>(REMEMBERED);
  /** The time of the name that was served last. A new name starts with it: if it started with 0, it would be served before all others. */
  #least = 0;
  /** Waiting pieces of work by name, in the order of their arrival. */
  readonly #waiting = new Map<string, (() => void)[]>();
  readonly #turnMs: number;
  readonly #together: number;
  #isRunning = false;

  /**
   * @param turnMs pieces share a turn until it has taken this long; by default each piece has its own turn
   * @param together number of pieces that share a turn, however long they take
   */
  constructor({ turnMs = 0, together = 1 } = {}) {
    this.#turnMs = turnMs;
    this.#together = together;
  }

  /** @param name the account or the address for which the work is done */
  take<Value>(name: string, work: () => Value): Promise<Value> {
    const { promise, resolve } = Promise.withResolvers<Value>();
    const waiting = this.#waiting.get(name) ?? [];
    if (waiting.length === 0) this.#spent.set(name, Math.max(this.#least, this.#spent.get(name) ?? 0));
    this.#waiting.set(name, waiting);
    waiting.push(() => resolve(Promise.try(work)));
    if (!this.#isRunning) {
      this.#isRunning = true;
      queueMicrotask(() => void this.#run());
    }
    return promise;
  }

  async #run(): Promise<void> {
    while (this.#waiting.size > 0) {
      let [ms, pieces] = [0, 0];
      do {
        ms += this.#runPiece();
        pieces += 1;
      } while (this.#waiting.size > 0 && (pieces < this.#together || ms < this.#turnMs));
      await (ms < 1 || this.#together > 1 ? setImmediate() : delay(ms));
    }
    this.#isRunning = false;
  }

  /** @returns how long the piece took, ms */
  #runPiece(): number {
    const name = this.#next() ?? '';
    const waiting = this.#waiting.get(name) ?? [];
    const begin = waiting.shift();
    if (waiting.length === 0) this.#waiting.delete(name);
    this.#least = this.#timeOf(name);
    const from = monotonicMs();
    begin?.();
    const ms = monotonicMs() - from;
    this.#spent.set(name, this.#least + Math.max(ms, LEAST_MS));
    return ms;
  }

  #next(): string | undefined {
    let found: string | undefined;
    for (const name of this.#waiting.keys())
      if (found === undefined || this.#timeOf(name) < this.#timeOf(found)) found = name;
    return found;
  }

  #timeOf(name: string): number {
    return this.#spent.get(name) ?? this.#least;
  }
}

/** Milliseconds of work after which the event loop gets its turn. */
const TURN_MS = 3;

/** Interrupts long work so that the event loop handles timers, sockets and other requests in between. */
export class Pauses {
  #began = performance.now();

  /** Await after each step: pauses if 3 ms have passed since the last pause. */
  async take(): Promise<void> {
    if (performance.now() - this.#began < TURN_MS) return;
    await setImmediate();
    this.#began = performance.now();
  }
}

/** Yields all rows of a list, and holds one page at a time. @param read returns up to `limit` rows after an ID; the first ID is empty */
export async function* inPages<Row extends { readonly id: string }>(
  limit: number,
  read: (after: string, limit: number) => Promise<readonly Row[]>,
): AsyncGenerator<Row> {
  for (let after = ''; ; await setImmediate()) {
    const rows = await read(after, limit);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit) return;
    after = last.id;
  }
}
