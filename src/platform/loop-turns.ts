import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import { monotonicMs } from './clock.ts';
import { Turns } from './turns.ts';

/**
 * Runs work that may block the event loop, one piece at a time. The next piece is of the name whose last turn is longest ago, so
 * that thousands of pieces of one name do not delay another name. After each piece, the loop is free for as long as the piece took,
 * for new connections too: Node accepts one per iteration.
 */
export class LoopTurns {
  readonly #turns = new Turns();
  /** Waiting pieces of work by name, in the order of their arrival. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isRunning = false;

  /** @param name the account or the address for which the work is done */
  take<Value>(name: string, work: () => Value): Promise<Value> {
    const { promise, resolve } = Promise.withResolvers<Value>();
    const waiting = this.#waiting.get(name) ?? [];
    this.#waiting.set(name, waiting);
    waiting.push(() => resolve(Promise.try(work)));
    if (!this.#isRunning) {
      this.#isRunning = true;
      queueMicrotask(() => void this.#run());
    }
    return promise;
  }

  async #run(): Promise<void> {
    for (let name = this.#next(); name !== undefined; name = this.#next()) {
      const waiting = this.#waiting.get(name) ?? [];
      const begin = waiting.shift();
      if (waiting.length === 0) this.#waiting.delete(name);
      this.#turns.took(name);
      const from = monotonicMs();
      begin?.();
      const ms = monotonicMs() - from;
      await (ms < 1 ? setImmediate() : delay(ms));
    }
    this.#isRunning = false;
  }

  #next(): string | undefined {
    return this.#turns.next(this.#waiting.keys());
  }
}

/** Milliseconds of work after which the event loop gets its turn. */
const TURN_MS = 10;

/** Interrupts long work so that the event loop handles timers, sockets and other requests in between. */
export class Pauses {
  #began = performance.now();

  /** Await after each step: pauses if 10 ms have passed since the last pause. */
  async take(): Promise<void> {
    if (performance.now() - this.#began < TURN_MS) return;
    await setImmediate();
    this.#began = performance.now();
  }
}

/** All rows of a list, held a page at a time. @param read returns up to `limit` rows after an ID, empty at first */
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
