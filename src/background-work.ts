import type { Deps } from '#src/deps.ts';
import type { RecurringJob } from '#src/jobs/queue.ts';
import { type JobRunner, runJobs } from '#src/jobs/run-jobs.ts';
import { summariseFault } from '#src/platform/log.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { within } from '#src/platform/within.ts';
import { WebhookSender } from '#src/webhooks/deliver.ts';
import { ThreadPoster } from '#src/webhooks/thread-poster.ts';
import { allJobs } from '#src/work.ts';

/** How long running webhook deliveries may take when the process stops. Another process repeats interrupted deliveries later. */
const SENDER_GRACE_MS = 3_000;

interface Running {
  readonly worker: JobRunner;
  readonly sender: WebhookSender;
}

/** Starts and stops the jobs and webhooks of a process, any number of times, one transition at a time. */
export class BackgroundWork {
  readonly #deps: Deps;
  readonly #recurring: readonly RecurringJob[];
  #wanted = false;
  #running: Running | undefined;
  #turning: Promise<void> | undefined;

  constructor(deps: Deps, recurring: readonly RecurringJob[]) {
    this.#deps = deps;
    this.#recurring = recurring;
  }

  isWell(): boolean {
    return this.#running?.worker.isWell() === true;
  }

  wake(): void {
    this.#running?.worker.wake();
  }

  async start(): Promise<void> {
    this.#wanted = true;
    await this.#turn();
  }

  async stop(): Promise<void> {
    this.#wanted = false;
    await this.#turn();
  }

  /** Starts or stops the work, and does not wait. An error is logged, and the next call tries again. */
  want(wanted: boolean): void {
    if (wanted === this.#wanted && wanted === (this.#running !== undefined)) return;
    this.#wanted = wanted;
    this.#turn().catch((fault: unknown) =>
      this.#deps.log.error({ fault: summariseFault(fault) }, 'jobs could not be begun or ended'),
    );
  }

  async #turn(): Promise<void> {
    while (this.#turning !== undefined) await this.#turning.catch(() => undefined);
    if (this.#wanted === (this.#running !== undefined)) return;
    this.#turning = this.#wanted ? this.#begin() : this.#end();
    try {
      await this.#turning;
    } finally {
      this.#turning = undefined;
    }
  }

  async #begin(): Promise<void> {
    const deps = this.#deps;
    const { deletions, webhooks } = deps.jobDatabases;
    const worker = await runJobs(deletions, deps.log, allJobs(deps), this.#recurring);
    const poster = new ThreadPoster(deps.webhookReach);
    const sender = new WebhookSender({ ...deps, db: webhooks }, poster);
    sender.start();
    this.#running = { worker, sender };
  }

  async #end(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await Promise.all([
      within(running?.worker.stop(), TIME_LIMITS.jobGraceMs + TIME_LIMITS.closeMs),
      within(running?.sender.stop(SENDER_GRACE_MS), TIME_LIMITS.shutdownGraceMs),
    ]);
  }
}
