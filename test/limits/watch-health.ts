import { get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';

// A thread of `HealthWatch`.

const HEALTH_EVERY_MS = 20;
const NO_ANSWER_MICROSECONDS = 999_000_000;

async function watchHealth({ url, worst }: { readonly url: string; readonly worst: Int32Array }): Promise<void> {
  for (;;) {
    const begin = performance.now();
    const answered = await new Promise<boolean>((resolve) =>
      get(url, (response) => response.resume().once('end', () => resolve(true))).once('error', () => resolve(false)),
    );
    // No answer at all is shown as the worst there is.
    const took = answered ? Math.round((performance.now() - begin) * 1_000) : NO_ANSWER_MICROSECONDS;
    if (took > Atomics.load(worst, 0)) Atomics.store(worst, 0, took);
    await delay(HEALTH_EVERY_MS);
  }
}

await watchHealth(workerData);
