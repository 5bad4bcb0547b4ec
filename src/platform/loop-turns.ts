import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import { monotonicMs } from './clock.ts';
import { Turns } from './turns.ts';

/**
 * Turns for what may hold the event loop, one after the other: the next is that of whose last turn is longest ago, so that one who
 * asks for thousands holds up no other. After each, the loop has as long for everything else, new connections among it: Node takes
 * one of them each time round.
 */
export class LoopTurns {
  readonly #turns = new Turns();
  /** In the order in which they came, by who asked. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isRunning = false;

  /** @param name who asks: an account, or an address */
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

/** Work after which the event loop has its turn. */
const TURN_MS = 10;

/** Lets the event loop have its turn in between long work: timers, sockets and other requests never wait for all of it. */
export class Pauses {
  #began = performance.now();

  /** To be awaited after each step: pauses where 10 ms have passed since the last pause. */
  async take(): Promise<void> {
    if (performance.now() - this.#began < TURN_MS) return;
    await setImmediate();
    this.#began = performance.now();
  }
}

/**
 * All rows of a list that is read a page at a time, so that few are held however long it is.
 * @param read up to `limit` rows whose IDs come after the one that is given, which is empty at first
 */
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
