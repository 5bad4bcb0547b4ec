import { parentPort, workerData } from 'node:worker_threads';
import { createPoster, type PostOutcome } from './guarded-post.ts';

/** A message to send, as it is posted to the thread. */
export interface Posted {
  readonly number: number;
  readonly sent: readonly [url: string, headers: Readonly<Record<string, string>>, body: string];
}

export interface Answered {
  readonly number: number;
  readonly outcome: PostOutcome;
}

const poster = createPoster(workerData);

parentPort?.on('message', async ({ number, sent }: Posted) => {
  parentPort?.postMessage({ number, outcome: await poster.post(...sent) } satisfies Answered);
});
