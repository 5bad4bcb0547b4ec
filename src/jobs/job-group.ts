import { EventEmitter } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Runner, RunnerOptions, WorkerEvents } from 'graphile-worker';
import type { Pool } from 'pg';
import { run } from '#src/database/queue-library.ts';
import { monotonicMs } from '#src/platform/clock.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';
import { orLate } from '#src/platform/within.ts';
import { type ForgivingPool, forgivingPool } from './forgiving-pool.ts';
import type { LivingRunners } from './living-runners.ts';

/** Before a runner is started again that was given up. */
const RESTART_PAUSE_MS = 1_000;
const WATCH_EVERY_MS = 500;
/** A runner with a free place looks for a job several times a second. */
const UNWELL_AFTER_MS = 8_000;
const GIVE_UP_AFTER_MS = 15_000;
/** How late the process may come to its looks at a runner, and for how long a greater delay shows in what the runner does. */
const OWN_LAG_MS = 1_000;
const LATE_FOR_MS = 60_000;
/** What a runner gets that stops by itself. */
const STOP_BY_ITSELF_MS = 5_000;
/** What a runner gets to start: a few statements. */
const START_MS = 15_000;

type GroupOptions = Omit<RunnerOptions, 'events' | 'pgPool'> & { readonly concurrency: number };

/** One runner of the library, and what its events say of it. */
interface Running {
  readonly runner: Runner;
  readonly connections: ForgivingPool;
  readonly id: string;
  readonly ended: Promise<void>;
  /** Jobs under way. */
  busy: number;
  /** When it last got an answer to "is there a job?". */
  lookedAt: number;
  /** Since when it stops by itself, as it does when the end of a job could not be written down. */
  stoppingSince: number | undefined;
}

/**
 * The jobs that share places, and the library's runner that runs them. The library cannot be relied on to go on, nor to
 * end: when the ends of two jobs cannot be written down at about the same time, it stops and waits for ever for both.
 * A runner is therefore judged by what it does: one with a free place that finds no answer is given up without waiting
 * for its stop, what it held is freed, and another takes its place.
 */
export class JobGroupRunner {
  readonly #name: string;
  readonly #pool: Pool;
  readonly #options: GroupOptions;
  readonly #living: LivingRunners;
  readonly #log: Log;
  readonly #stopping = Promise.withResolvers<void>();
  #stopped = false;
  /** When the process itself was last late. */
  #lateAt = Number.NEGATIVE_INFINITY;
  #running: Running | undefined;
  #kept: Promise<void> | undefined;

  constructor(name: string, pool: Pool, options: GroupOptions, living: LivingRunners, log: Log) {
    this.#name = name;
    this.#pool = pool;
    this.#options = options;
    this.#living = living;
    this.#log = log;
  }

  /** Resolves once the first runner began, or failed to: it is tried again then. */
  async start(): Promise<void> {
    await this.#begin();
    this.#kept = this.#keepRunning();
  }

  /** Whether jobs make progress: every place is taken, or the queue answered a moment ago. */
  isWell(): boolean {
    const running = this.#running;
    if (running === undefined || running.stoppingSince !== undefined) return false;
    return running.busy >= this.#options.concurrency || monotonicMs() - running.lookedAt < UNWELL_AFTER_MS;
  }

  /** Takes no more jobs, and waits for those under way no longer than `graceMs`. Returns what must be freed. */
  async stop(graceMs: number): Promise<string[]> {
    this.#stopped = true;
    this.#stopping.resolve();
    const running = this.#running;
    if (running === undefined) return [];
    this.#stopRunner(running);
    const abort = new AbortController();
    await Promise.race([
      Promise.allSettled([running.ended, this.#kept]),
      pause(graceMs, undefined, { signal: abort.signal }).catch(() => undefined),
    ]);
    abort.abort();
    return [running.id];
  }

  async #keepRunning(): Promise<void> {
    while (!this.#stopped) {
      const running = this.#running;
      if (running !== undefined) {
        await Promise.race([running.ended, this.#stuck(running), this.#stopping.promise]);
        if (this.#stopped) return;
        this.#giveUp(running);
      }
      await Promise.race([pause(RESTART_PAUSE_MS), this.#stopping.promise]);
      if (!this.#stopped) await this.#begin();
    }
  }

  async #begin(): Promise<void> {
    const connections = forgivingPool(this.#pool);
    const starting = startRunner(this.#options, connections);
    try {
      // A connection that breaks meanwhile may leave the library waiting for ever.
      const running = await orLate(
        starting,
        START_MS,
        () => new Error(`the queue did not start within ${START_MS} ms`),
      );
      this.#living.add(running.id);
      this.#running = running;
      // Asked to stop while it started.
      if (this.#stopped) this.#stopRunner(running);
    } catch (fault) {
      this.#log.error({ group: this.#name, fault: summariseFault(fault) }, 'jobs could not be started');
      connections.close();
      // One that starts after all is not wanted any more. One that failed was logged here.
      starting.then(
        (late) => this.#stopRunner(late),
        () => undefined,
      );
    }
  }

  async #stuck(running: Running): Promise<void> {
    let [before, lag, lookedAt] = [running.lookedAt, 0, running.lookedAt];
    while (this.#running === running && !this.#stopped) {
      const now = monotonicMs();
      // A process that is late here is late everywhere: for that time it had no way to hear of an answer.
      lag = (running.lookedAt === lookedAt ? lag : 0) + Math.max(0, now - before - WATCH_EVERY_MS);
      if (lag > OWN_LAG_MS) this.#lateAt = now;
      [before, lookedAt] = [now, running.lookedAt];
      if (running.stoppingSince !== undefined && now - running.stoppingSince - lag > STOP_BY_ITSELF_MS) return;
      if (running.busy < this.#options.concurrency && now - lookedAt - lag > GIVE_UP_AFTER_MS) return;
      await pause(WATCH_EVERY_MS, undefined, { ref: false });
    }
  }

  #giveUp(running: Running): void {
    const words = 'a runner of jobs makes no progress and is replaced';
    // Connections do not outlive a standstill of the process, and the library is at a loss without them: that is no alarm of its own.
    if (monotonicMs() - this.#lateAt < LATE_FOR_MS) this.#log.warn({ group: this.#name }, words);
    else this.#log.error({ alarm: 'jobs_stalled', group: this.#name }, words);
    this.#running = undefined;
    this.#stopRunner(running);
    running.connections.close();
    this.#living
      .remove([running.id])
      .catch((fault: unknown) =>
        this.#log.warn({ fault: summariseFault(fault) }, 'what a runner held was not freed yet'),
      );
  }

  /** Not waited for. One that has stopped already says so by failing. */
  #stopRunner({ runner }: Running): void {
    runner.stop().catch((fault: unknown) => this.#log.debug({ fault: summariseFault(fault) }, 'jobs stopped badly'));
  }
}

async function startRunner(options: GroupOptions, connections: ForgivingPool): Promise<Running> {
  const events: WorkerEvents = new EventEmitter();
  const seen = { id: '', busy: 0, lookedAt: monotonicMs(), stoppingSince: undefined as number | undefined };
  const looked = (): void => {
    seen.lookedAt = monotonicMs();
  };
  events.on('pool:create', ({ workerPool }) => {
    seen.id = workerPool.id;
  });
  events.on('worker:getJob:empty', looked);
  events.on('job:start', () => {
    looked();
    seen.busy += 1;
  });
  events.on('job:complete', () => {
    looked();
    seen.busy -= 1;
  });
  events.on('pool:gracefulShutdown', () => {
    seen.stoppingSince ??= monotonicMs();
  });
  const runner = await run({ ...options, pgPool: connections.pool, events });
  const ended = runner.promise.catch(() => undefined);
  return Object.assign(seen, { runner, connections, ended });
}
