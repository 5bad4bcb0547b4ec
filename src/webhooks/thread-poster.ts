import type { Worker } from 'node:worker_threads';
import { startThread } from '#src/platform/thread-pool.ts';
import type { Poster, PostOutcome } from './guarded-post.ts';
import type { Answered, Posted } from './post-thread.ts';
import type { WebhookReach } from './receiver-url.ts';

const MAX_HEAP_MB = 256;

const BROKEN_OFF: PostOutcome = { status: null, error: 'broken_off', body: null, retryAfter: null, durationMs: 0 };

/**
 * Posts from a separate thread. OpenSSL verifies all certificates that a receiver sends, trusted or not, without a pause: 72 certificates
 * with keys made for an attack took 0.4 s, in which the thread that answers requests would have been blocked.
 */
export class ThreadPoster implements Poster {
  readonly #reach: WebhookReach;
  #thread: Worker | undefined;
  #posts = 0;
  readonly #underWay = new Map<number, PromiseWithResolvers<PostOutcome>>();

  constructor(reach: WebhookReach) {
    this.#reach = reach;
  }

  /** Posts a message. @throws Error if the thread has ended meanwhile; the receiver may have the message */
  post(...sent: Posted['sent']): Promise<PostOutcome> {
    const [number, waiting] = [this.#posts++, Promise.withResolvers<PostOutcome>()];
    this.#underWay.set(number, waiting);
    this.#thread ??= this.#start();
    this.#thread.postMessage({ number, sent } satisfies Posted);
    return waiting.promise;
  }

  /** Breaks off all exchanges under way. */
  async close(): Promise<void> {
    for (const { resolve } of this.#underWay.values()) resolve(BROKEN_OFF);
    this.#underWay.clear();
    await this.#thread?.terminate();
  }

  #start(): Worker {
    const thread = startThread(new URL('./post-thread.ts', import.meta.url), this.#reach, MAX_HEAP_MB);
    thread.on('message', ({ number, outcome }: Answered) => {
      this.#underWay.get(number)?.resolve(outcome);
      this.#underWay.delete(number);
    });
    const end = (fault: unknown): void => {
      if (this.#thread !== thread) return;
      this.#thread = undefined;
      for (const { reject } of this.#underWay.values()) reject(fault);
      this.#underWay.clear();
    };
    thread.on('error', end);
    thread.on('exit', () => end(new Error('the thread of webhooks ended')));
    return thread;
  }
}
