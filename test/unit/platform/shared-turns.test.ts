import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { SharedTurns } from '#src/platform/shared-turns.ts';

test('a lane that rests begins its next work after twice the time of the last', async () => {
  const turns = new SharedTurns({ rests: true });
  let ended = 0;
  const long = turns.take('lane', () => delay(60).then(() => (ended = performance.now())));
  const next = turns.take('lane', async () => performance.now());
  await long;
  // Timers may fire a millisecond early.
  expect((await next) - ended).toBeGreaterThan(100);
});
