import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { SharedTurns } from '#src/platform/shared-turns.ts';

test('a lane rests after large work, however long small work takes in a slow process', async () => {
  const turns = new SharedTurns<string>({ rests: (result) => result === 'large' });
  const work = (result: string) => delay(60).then(() => result);
  const ended: string[] = [];
  const firsts = [turns.take('large', () => work('large')), turns.take('small', () => work('small'))];
  const failed = turns.take('failed', () => delay(60).then(() => Promise.reject(new Error('no'))));
  const next = ['large', 'small', 'failed'].map((lane) => turns.take(lane, async () => ended.push(lane).toString()));
  await expect(failed).rejects.toThrow('no');
  await Promise.all([...firsts, ...next]);
  expect(ended).toEqual(['small', 'failed', 'large']);
});
