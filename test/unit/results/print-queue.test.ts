import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { PLACES, PrintQueue } from '#src/results/print-report.ts';

const STAYS = new AbortController().signal;

/** Work that ends when it is told to, and remembers that it began. */
function held(name: string, begun: string[]) {
  const { promise, resolve } = Promise.withResolvers<string>();
  return {
    end: () => resolve(name),
    work: (): Promise<string> => {
      begun.push(name);
      return promise;
    },
  };
}

describe('the queue of reports', () => {
  test('makes one report for all who ask for the same', async () => {
    const queue = new PrintQueue<string>();
    const begun: string[] = [];
    const report = held('report', begun);
    const asked = Array.from({ length: 50 }, () => queue.print('acc', 'same', STAYS, report.work));
    report.end();
    expect(new Set(await Promise.all(asked))).toEqual(new Set(['report']));
    expect(begun).toEqual(['report']);
  });

  test('gives an account a few places, and takes accounts in turn', async () => {
    const queue = new PrintQueue<string>();
    const begun: string[] = [];
    const works = Array.from({ length: PLACES }, (_, index) => held(`busy ${index}`, begun));
    const asked = works.map(({ work }, index) => queue.print('busy', `b${index}`, STAYS, work));
    await expect(queue.print('busy', 'one more', STAYS, async () => 'never')).rejects.toMatchObject({
      code: 'rate_limited',
      retryAfterSeconds: expect.any(Number),
    });
    const other = held('other', begun);
    asked.push(queue.print('other', 'o', STAYS, other.work));
    for (const { end } of [...works, other]) end();
    await Promise.all(asked);
    expect(begun.indexOf('other')).toBe(1);
  });

  test('holds sixty reports of all accounts together, and asks whoever comes then to come back', async () => {
    const queue = new PrintQueue<string>();
    const works = Array.from({ length: 60 }, (_, index) => held(`report ${index}`, []));
    const asked = works.map(({ work }, index) =>
      queue.print(`acc ${Math.floor(index / PLACES)}`, `r${index}`, STAYS, work),
    );
    await expect(queue.print('late', 'late', STAYS, async () => 'never')).rejects.toMatchObject({
      code: 'internal',
      retryAfterSeconds: expect.any(Number),
    });
    for (const { end } of works) end();
    await Promise.all(asked);
    expect(await queue.print('late', 'late', STAYS, async () => 'made')).toBe('made');
  });

  test('does not make what nobody waits for any more, and breaks it off where it was begun', async () => {
    const queue = new PrintQueue<string>();
    const begun: string[] = [];
    const callers = Array.from({ length: PLACES }, () => new AbortController());
    const signals: AbortSignal[] = [];
    const asked = callers.map(({ signal }, index) =>
      queue.print('acc', `r${index}`, signal, (own) => {
        begun.push(`r${index}`);
        signals.push(own);
        return new Promise<string>((_, reject) => own.addEventListener('abort', () => reject(new Error('broken off'))));
      }),
    );
    const ended = Promise.allSettled(asked);
    await setImmediate();
    for (const caller of callers) caller.abort();
    await ended;
    expect(begun).toEqual(['r0']);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    // Every place is free again at once.
    expect(await queue.print('acc', 'r0', STAYS, async () => 'made')).toBe('made');
  });

  test('goes on for those who stay when one of them leaves', async () => {
    const queue = new PrintQueue<string>();
    const report = held('report', []);
    const leaver = new AbortController();
    const [gone, stays] = [
      queue.print('acc', 'same', leaver.signal, report.work),
      queue.print('acc', 'same', STAYS, report.work),
    ];
    leaver.abort();
    report.end();
    expect(await stays).toBe('report');
    expect(await gone).toBe('report');
  });

  test('goes on with the next after one that failed', async () => {
    const queue = new PrintQueue<string>();
    const failed = queue.print('acc', 'bad', STAYS, async () => {
      throw new Error('no paper');
    });
    await expect(failed).rejects.toThrow('no paper');
    expect(await queue.print('acc', 'good', STAYS, async () => 'made')).toBe('made');
  });
});
