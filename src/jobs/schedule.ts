import { HOUR_MS, MINUTE_MS } from '#src/platform/clock.ts';

const SCHEDULE = /^(?:\*\/(?<every>\d+)|(?<minute>\d+|\*)) (?<hour>\d+|\*) \* \* \*$/;

/** Parses a schedule of `RecurringJob`. @returns the next time after a given time, both in Unix ms @throws RangeError for a bad schedule */
export function readSchedule(schedule: string): (afterMs: number) => number {
  const { every, minute, hour } = SCHEDULE.exec(schedule)?.groups ?? {};
  if (hour === undefined) throw new RangeError(`no schedule: ${schedule}`);
  const isMet = (ms: number): boolean => {
    const [minutes, hours] = [Math.floor(ms / MINUTE_MS) % 60, Math.floor(ms / HOUR_MS) % 24];
    const isMinute = every === undefined ? minute === '*' || minutes === Number(minute) : minutes % Number(every) === 0;
    return isMinute && (hour === '*' || hours === Number(hour));
  };
  return (afterMs) => {
    let ms = (Math.floor(afterMs / MINUTE_MS) + 1) * MINUTE_MS;
    while (!isMet(ms)) ms += MINUTE_MS;
    return ms;
  };
}
