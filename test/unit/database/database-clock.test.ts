import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DatabaseClock } from '#src/database/database-clock.ts';
import { monotonicMs } from '#src/platform/clock.ts';

/** What the clock says while the database's clock stands `ms` ahead of this process. */
const lead = (clock: DatabaseClock): number => clock.now() - monotonicMs();

/** This process's time stands still: two reads of a running clock may round to different milliseconds. */
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

test('an answer that took long does not move a clock that is known better', () => {
  const clock = new DatabaseClock();
  clock.follow(50_000, 0, 2);
  clock.follow(51_000, 1_000, 1_900);
  expect(lead(clock)).toBe(49_999);
});

test('a look that grows old gives way to a newer one that is a little less sure', () => {
  const clock = new DatabaseClock();
  clock.follow(50_000, 0, 2);
  clock.follow(650_040, 600_000, 600_060);
  expect(lead(clock)).toBe(50_010);
});

test('the clock follows the database when its time was set, however long the answer took', () => {
  const clock = new DatabaseClock();
  clock.follow(50_000, 0, 2);
  clock.follow(3_651_000, 1_000, 1_900);
  expect(lead(clock)).toBe(3_649_550);
  clock.follow(52_000, 2_000, 2_002);
  expect(lead(clock)).toBe(49_999);
});
