import type { DatabaseClock } from '#src/database/database-clock.ts';
import { systemClock } from '#src/platform/clock.ts';

let offsetMs = 0;

// Every part of the service was handed this very object, some long before a driver could put another into its place.
systemClock.now = () => Date.now() + offsetMs;

/** How far this process's time is ahead of the real one. */
export function setTimeOffset(ms: number): void {
  offsetMs = ms;
}

export const driverNow = (): number => systemClock.now();

/** Gives a service the driver's time: a measurement of the database's clock from before a leap would take the service back for a moment. */
export const leadClock = (clock: DatabaseClock): void =>
  void Object.assign(clock, { now: driverNow, follow: () => undefined });
