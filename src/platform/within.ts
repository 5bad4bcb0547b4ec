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
