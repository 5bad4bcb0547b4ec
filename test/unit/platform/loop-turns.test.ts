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

  test('one whose pieces are short is next, however many others have long ones', async () => {
    const turns = new LoopTurns();
    const work = (ms: number) => (): void => {
      for (const until = performance.now() + ms; performance.now() < until; );
    };
    const done: string[] = [];
    const ask = (name: string, ms: number) => turns.take(name, work(ms)).then(() => done.push(name));
    const flood = Array.from({ length: 60 }, (_, index) => ask(`flood ${index % 10}`, 3));
    for (let piece = 0; piece < 8; piece += 1) await ask('other', 0.1);
    // In round-robin turns each of its pieces would wait for ten long ones.
    expect(done.filter((name) => name !== 'other').length).toBeLessThan(25);
    await Promise.all(flood);
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
