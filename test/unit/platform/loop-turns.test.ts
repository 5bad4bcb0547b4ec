import { describe, expect, test } from 'vitest';
import { LoopTurns } from '#src/platform/loop-turns.ts';

describe('turns of the event loop', () => {
  test('one who asks once is next, however many others have asked for', async () => {
    const turns = new LoopTurns();
    const done: string[] = [];
    const ask = (name: string): Promise<number> => turns.take(name, () => done.push(name));
    const flood = Array.from({ length: 1_000 }, (_, index) => ask(`flood ${index % 3}`));
    await flood[10];
    await ask('other');
    expect(done.indexOf('other')).toBeLessThan(15);
    await Promise.all(flood);
    expect(done).toHaveLength(1_001);
  });

  test('work that fails ends its own turn alone', async () => {
    const turns = new LoopTurns();
    const failing = turns.take('one', () => {
      throw new Error('broken');
    });
    const next = turns.take('one', () => 'done');
    await expect(failing).rejects.toThrow('broken');
    expect(await next).toBe('done');
    expect(await turns.take('one', () => 'and later')).toBe('and later');
  });
});
