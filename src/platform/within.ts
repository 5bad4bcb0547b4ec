import { setTimeout as delay } from 'node:timers/promises';

/** Waits no longer than a while for what may hang when it ends. What fails then is of no more use to anybody. */
export async function within(work: Promise<unknown> | undefined, ms: number): Promise<void> {
  const waited = new AbortController();
  await Promise.race([
    Promise.allSettled([work]),
    delay(ms, undefined, { signal: waited.signal }).catch(() => undefined),
  ]);
  waited.abort();
}

/** Passes on how work ends, or fails with `late()` where it takes longer. What it does meanwhile is not stopped by that. */
export async function orLate<T>(work: Promise<T>, ms: number, late: () => Error): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(late()), ms);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
