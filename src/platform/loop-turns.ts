import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import { monotonicMs } from './clock.ts';

/**
 * Turns for what may hold the event loop, one after the other. After each, the loop has as long for everything else, new connections
 * among it: Node takes one of them each time round.
 */
export class LoopTurns {
  #last: Promise<unknown> = Promise.resolve();

  take<Value>(work: () => Value): Promise<Value> {
    let ms = 0;
    const done = this.#last.then(() => {
      const begin = monotonicMs();
      try {
        return work();
      } finally {
        ms = monotonicMs() - begin;
      }
    });
    const rest = (): Promise<unknown> => (ms < 1 ? setImmediate() : delay(ms));
    this.#last = done.then(rest, rest);
    return done;
  }
}
