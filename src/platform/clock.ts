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
