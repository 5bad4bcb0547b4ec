/** Time in Unix milliseconds. Passed through `Deps`, so that tests can set the time. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** Milliseconds since this process started, independent of changes of the wall clock: for waits and rates, not for dates. */
export const monotonicMs = (): number => performance.now();

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** Processes whose clocks differ by more would disagree on which events are open. */
export const MOST_CLOCK_DIFFERENCE_MS = 5 * SECOND_MS;
/** Number of consecutive measurements that change the verdict: a delay may distort a single measurement. */
const LOOKS = 3;

/** Decides whether this machine's clock is right, from measurements of its difference to the database's clock. */
export class ClockDrift {
  #right = true;
  #others = 0;

  get isRight(): boolean {
    return this.#right;
  }

  /** @param differenceMs this machine's clock less the database's @returns whether the verdict has changed */
  look(differenceMs: number): boolean {
    const right = Math.abs(differenceMs) <= MOST_CLOCK_DIFFERENCE_MS;
    this.#others = right === this.#right ? 0 : this.#others + 1;
    if (this.#others < LOOKS) return false;
    this.#right = right;
    this.#others = 0;
    return true;
  }
}
