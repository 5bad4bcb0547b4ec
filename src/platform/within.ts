import { type Log, summariseFault } from './log.ts';

/** Waits at most `ms` for the end of work that may hang. Errors of the work are ignored. */
export async function within(work: Promise<unknown> | undefined, ms: number): Promise<void> {
  await orLate(Promise.allSettled([work]), ms, () => new Error('late')).catch(() => undefined);
}

/** Returns the result of `work`, or throws `late()` after `ms`; the work itself goes on. */
export async function orLate<T>(work: Promise<T>, ms: number, late: () => Error): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(late()), ms);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Runs work every `ms` until the signal aborts. */
export function every(ms: number, signal: AbortSignal, work: () => void): void {
  const timer = setInterval(work, ms).unref();
  signal.addEventListener('abort', () => clearInterval(timer));
}

/** Starts asynchronous work every `ms` until the signal aborts, unless the last run goes on. @param failed log message of a failed run */
export function repeat(ms: number, signal: AbortSignal, log: Log, failed: string, work: () => Promise<unknown>): void {
  let running = false;
  every(ms, signal, async () => {
    if (running) return;
    running = true;
    await work().catch((fault: unknown) => log.warn({ fault: summariseFault(fault) }, failed));
    running = false;
  });
}
