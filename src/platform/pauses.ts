import { setImmediate } from 'node:timers/promises';

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
