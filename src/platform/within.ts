import { setTimeout as delay } from 'node:timers/promises';
import { type Log, summariseFault } from './log.ts';

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

/** Does something every so many milliseconds until the signal comes. */
export function every(ms: number, signal: AbortSignal, work: () => void): void {
  const timer = setInterval(work, ms).unref();
  signal.addEventListener('abort', () => clearInterval(timer));
}

/** The same in the background, one run after the other. @param failed what the log says of a run that fails */
export function repeat(ms: number, signal: AbortSignal, log: Log, failed: string, work: () => Promise<unknown>): void {
  let running = false;
  every(ms, signal, async () => {
    if (running) return;
    running = true;
    await work().catch((fault: unknown) => log.warn({ fault: summariseFault(fault) }, failed));
    running = false;
  });
}
