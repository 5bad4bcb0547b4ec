import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { SharedPrints } from '#src/results/print-report.ts';

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

test('one report is made for all who ask for the same, and for nobody after it', async () => {
  const prints = new SharedPrints<string>();
  const begun: string[] = [];
  const report = held('report', begun);
  const asked = Array.from({ length: 50 }, () => prints.print('same', STAYS, report.work));
  report.end();
  expect(new Set(await Promise.all(asked))).toEqual(new Set(['report']));
  expect(await prints.print('same', STAYS, async () => 'next')).toBe('next');
  expect(begun).toEqual(['report']);
});

test('what nobody waits for any more is broken off, and made again for who asks then', async () => {
  const prints = new SharedPrints<string>();
  const leaver = new AbortController();
  let own: AbortSignal | undefined;
  const asked = prints.print('same', leaver.signal, (signal) => {
    own = signal;
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('broken off'))));
  });
  await setImmediate();
  leaver.abort();
  await expect(asked).rejects.toThrow('broken off');
  expect(own?.aborted).toBe(true);
  expect(await prints.print('same', STAYS, async () => 'made')).toBe('made');
});

test('a report goes on for those who stay when one of them leaves', async () => {
  const prints = new SharedPrints<string>();
  const report = held('report', []);
  const leaver = new AbortController();
  const asked = [prints.print('same', leaver.signal, report.work), prints.print('same', STAYS, report.work)];
  leaver.abort();
  report.end();
  expect(await Promise.all(asked)).toEqual(['report', 'report']);
});

test('a report that failed is made again for the next who asks', async () => {
  const prints = new SharedPrints<string>();
  await expect(prints.print('same', STAYS, () => Promise.reject(new Error('no paper')))).rejects.toThrow('no paper');
  expect(await prints.print('same', STAYS, async () => 'made')).toBe('made');
});
