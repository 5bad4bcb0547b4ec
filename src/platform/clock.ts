/** Time in Unix milliseconds. Handed in through `Deps`, so that tests can stand on a fixed day. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** Milliseconds of this process alone, which no setting of the clock moves: for waits and rates, never for a date. */
export const monotonicMs = (): number => performance.now();

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** Processes whose clocks differ by more would disagree about what is open. */
export const MOST_CLOCK_DIFFERENCE_MS = 5 * SECOND_MS;
/** One look may have been held up; so many in a row were not. */
const LOOKS = 3;

/** Says whether this machine's clock is right, from looks at its difference to the database's. */
export class ClockDrift {
  #right = true;
  #others = 0;

  get isRight(): boolean {
    return this.#right;
  }

  /**
   * @param differenceMs this machine's clock less the database's
   * @returns whether the verdict has changed with this look
   */
  look(differenceMs: number): boolean {
    const right = Math.abs(differenceMs) <= MOST_CLOCK_DIFFERENCE_MS;
    this.#others = right === this.#right ? 0 : this.#others + 1;
    if (this.#others < LOOKS) return false;
    this.#right = right;
    this.#others = 0;
    return true;
  }
}
