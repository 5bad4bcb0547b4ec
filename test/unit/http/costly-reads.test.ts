import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Answer } from '#src/http/answer.ts';
import { CostlyReads } from '#src/http/costly-reads.ts';
import { ApiError } from '#src/platform/errors.ts';

const DONE: Answer = { status: 200, body: {} };

/** A read that ends when it is told to. */
function longRead() {
  const end = Promise.withResolvers<Answer>();
  return { end: () => end.resolve(DONE), read: () => end.promise };
}

describe('costly reads', () => {
  test('of one account are two at a time; a third waits its turn, and is refused after two seconds', async () => {
    const reads = new CostlyReads();
    const [first, second] = [longRead(), longRead()];
    const running = [reads.run('a', false, first.read), reads.run('a', false, second.read)];
    const begin = performance.now();
    const refused = await reads.run('a', false, async () => DONE).catch((fault: unknown) => fault);
    expect(refused).toBeInstanceOf(ApiError);
    expect(refused).toMatchObject({ code: 'rate_limited', retryAfterSeconds: 1 });
    expect(performance.now() - begin).toBeGreaterThan(1_900);
    const third = reads.run('a', false, async () => DONE);
    first.end();
    expect(await third).toBe(DONE);
    second.end();
    await Promise.all(running);
  });

  test('of one account that wait are fifty at most: whatever comes then is refused at once', async () => {
    const reads = new CostlyReads();
    const long = [longRead(), longRead()];
    const running = long.map(({ read }) => reads.run('a', false, read));
    const waiting = Array.from({ length: 50 }, () => reads.run('a', false, async () => DONE).catch(() => undefined));
    const begin = performance.now();
    await expect(reads.run('a', false, async () => DONE)).rejects.toMatchObject({ code: 'rate_limited' });
    expect(performance.now() - begin).toBeLessThan(500);
    for (const { end } of long) end();
    await Promise.all(running);
    expect(await Promise.all(waiting)).toEqual(Array.from({ length: 50 }, () => DONE));
  });

  test('of one account keep no other waiting', async () => {
    const reads = new CostlyReads();
    const long = Array.from({ length: 60 }, longRead);
    const running = long.map(({ read }) => reads.run('a', false, read).catch(() => DONE));
    const begin = performance.now();
    expect(await reads.run('b', false, async () => DONE)).toBe(DONE);
    expect(performance.now() - begin).toBeLessThan(200);
    for (const { end } of long) end();
    await Promise.all(running);
  });

  test('keep their place until their stream ends or is given up, and free it when they fail', async () => {
    const reads = new CostlyReads();
    async function* pieces(): AsyncGenerator<Uint8Array> {
      yield new Uint8Array(1);
      yield new Uint8Array(1);
    }
    const answerStream: Answer = { status: 200, stream: { open: pieces, type: 'text/csv' } };
    const streams = await Promise.all([1, 2].map(() => reads.run('a', false, async () => answerStream)));
    let turn = false;
    const third = reads
      .run('a', false, async () => DONE)
      .then(() => {
        turn = true;
      });
    const opened = streams[0]?.stream?.open()[Symbol.asyncIterator]();
    await opened?.next();
    await setImmediate();
    expect(turn).toBe(false);
    await opened?.return?.(undefined);
    await third;
    for (let times = 0; times < 3; times += 1)
      await expect(reads.run('a', false, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await reads.run('a', false, async () => DONE)).toBe(DONE);
  });
});
