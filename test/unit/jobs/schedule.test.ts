import { expect, test } from 'vitest';
import { readSchedule } from '#src/jobs/run-jobs.ts';

const at = (text: string): number => Date.parse(`2026-11-26T${text}Z`);
const nextOf = (schedule: string, after: string): string =>
  new Date(readSchedule(schedule)(at(after))).toISOString().slice(8, 16);

test.each([
  ['* * * * *', '10:00:00', '26T10:01'],
  ['* * * * *', '10:00:59.999', '26T10:01'],
  ['*/10 * * * *', '10:00:00', '26T10:10'],
  ['*/10 * * * *', '23:50:01', '27T00:00'],
  ['23 * * * *', '10:22:59', '26T10:23'],
  ['23 * * * *', '10:23:00', '26T11:23'],
  ['37 2 * * *', '02:36:00', '26T02:37'],
  ['37 2 * * *', '02:37:00', '27T02:37'],
])('%s comes after %s at %s', (schedule, after, next) => {
  expect(nextOf(schedule, after)).toBe(next);
});

test.each(['', '* * * *', '1-5 * * * *', '* * 1 * *', '*/10 * * * * *'])('%j is no schedule', (schedule) => {
  expect(() => readSchedule(schedule)).toThrow(RangeError);
});
