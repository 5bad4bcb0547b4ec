import { systemClock } from '#src/platform/clock.ts';

let offsetMs = 0;

// Every part of the service was handed this very object, some long before a driver could put another into its place.
systemClock.now = () => Date.now() + offsetMs;

/** How far this process's time is ahead of the real one. */
export function setTimeOffset(ms: number): void {
  offsetMs = ms;
}

export const driverNow = (): number => systemClock.now();
