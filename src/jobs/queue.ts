import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { Logger, type Runner, type RunnerOptions, run, type TaskList } from 'graphile-worker';
import type { z } from 'zod';
import type { Database, Executor } from '#src/database/client.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';

/** A kind of job. Payloads hold IDs only: a secret in a payload would stand in the database in clear. */
export interface Job<Payload> {
  readonly name: string;
  readonly payload: z.ZodType<Payload>;
  readonly maxAttempts: number;
  readonly work: (payload: Payload) => Promise<void>;
}

/** What runs again and again without being asked: a crontab line and the work. */
export interface RecurringJob {
  readonly name: string;
  /** Five crontab fields. */
  readonly schedule: string;
  readonly work: () => Promise<void>;
}

export function defineJob<Payload>(job: Job<Payload>): Job<Payload> {
  return job;
}

export interface EnqueueOptions {
  /** Another job with the same key that has not run yet is replaced. */
  readonly key?: string;
  readonly runAtMs?: number;
  readonly maxAttempts?: number;
}

/** Enqueues in the caller's transaction: the job exists if and only if the fact does. */
export async function enqueue<Payload>(
  executor: Executor,
  job: { readonly name: string; readonly maxAttempts?: number; readonly payload?: z.ZodType<Payload> },
  payload: Payload,
  options: EnqueueOptions = {},
): Promise<void> {
  const runAt =
    options.runAtMs === undefined ? sql`NULL` : sql`to_timestamp(${options.runAtMs}::double precision / 1000)`;
  await executor.execute(sql`
    SELECT graphile_worker.add_job(
      identifier => ${job.name}, payload => ${JSON.stringify(payload)}::json, run_at => ${runAt},
      max_attempts => ${options.maxAttempts ?? job.maxAttempts ?? 10}, job_key => ${options.key ?? null})`);
}

export interface JobRunner {
  stop(): Promise<void>;
}

const CONCURRENCY = 4;
const POLL_INTERVAL_MS = 500;
/** Before jobs are started again that stopped by themselves. */
const RESTART_PAUSE_MS = 1_000;
/** Failed looks for a job, one after the other, after which jobs are started anew: some seconds of them. */
const MOST_FAILED_LOOKS = 24;

// biome-ignore lint/suspicious/noExplicitAny: jobs of different payloads stand in one list; each checks its own
export type AnyJob = Job<any>;

/**
 * Starts the library's runner. It keeps a fault that it met while it learnt which jobs there are, and then never finds one
 * again, without ever giving up: one that only fails is stopped, and begun anew with options of its own, by which it keeps.
 */
async function startRunner(log: Log, options: RunnerOptions): Promise<Runner> {
  const runner = await run({ ...options });
  let failedLooks = 0;
  const wellAgain = (): void => {
    failedLooks = 0;
  };
  runner.events.on('worker:getJob:empty', wellAgain);
  runner.events.on('job:start', wellAgain);
  runner.events.on('worker:getJob:error', ({ error }) => {
    failedLooks += 1;
    if (failedLooks === 1) log.warn({ fault: summariseFault(error) }, 'the queue of jobs could not be read');
    if (failedLooks !== MOST_FAILED_LOOKS) return;
    runner.stop().catch((fault: unknown) => log.warn({ fault: summariseFault(fault) }, 'jobs stopped badly'));
  });
  return runner;
}

/** Runs jobs until stopped; a failing job is tried again with growing pauses. */
export async function runJobs(
  db: Database,
  log: Log,
  jobs: readonly AnyJob[],
  recurring: readonly RecurringJob[],
): Promise<JobRunner> {
  await freeAbandonedJobs(db);
  const taskList: TaskList = {};
  for (const job of jobs) {
    taskList[job.name] = async (payload) => {
      try {
        await job.work(job.payload.parse(payload));
      } catch (fault) {
        log.error({ job: job.name, fault: summariseFault(fault) }, 'a job failed and will be tried again');
        // The queue stores the message of what is thrown: one that says nothing of the payload.
        throw new Error(`${job.name} failed: ${summariseFault(fault).name}`);
      }
    };
  }
  for (const job of recurring) {
    taskList[job.name] = async () => {
      try {
        await job.work();
      } catch (fault) {
        log.error({ job: job.name, fault: summariseFault(fault) }, 'a recurring job failed');
        throw new Error(`${job.name} failed: ${summariseFault(fault).name}`);
      }
    };
  }
  const options: RunnerOptions = {
    pgPool: db.$client,
    taskList,
    crontab: recurring.map((job) => `${job.schedule} ${job.name} ?max=1`).join('\n'),
    concurrency: CONCURRENCY,
    pollInterval: POLL_INTERVAL_MS,
    noHandleSignals: true,
    // Written down one by one, the end of a job that meets a fault of the database is an unhandled rejection, and ends the process.
    preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
    logger: new Logger(() => () => undefined),
  };
  let runner = await startRunner(log, options);
  let stopping = false;
  const stopRunner = (): Promise<void> =>
    // One that gave up by itself has stopped already, and says so by failing.
    runner.stop().catch((fault: unknown) => log.warn({ fault: summariseFault(fault) }, 'jobs stopped badly'));
  // The library gives up for good when the end of one job cannot be written down, as while the database is away.
  const keepRunning = async (): Promise<void> => {
    for (;;) {
      await runner.promise.catch((fault: unknown) => log.error({ fault: summariseFault(fault) }, 'jobs have stopped'));
      if (stopping) return;
      await pause(RESTART_PAUSE_MS);
      if (stopping) return;
      try {
        runner = await startRunner(log, options);
      } catch (fault) {
        log.error({ fault: summariseFault(fault) }, 'jobs could not be started again');
      }
      // Told to stop while it started: nobody else would stop this one.
      if (stopping) await stopRunner();
    }
  };
  const kept = keepRunning();
  return {
    async stop() {
      stopping = true;
      await stopRunner();
      await kept;
    },
  };
}

/** A job runs for seconds; one that is held for longer belongs to a process that died with it. */
const ABANDONED_SECONDS = 60;

/** Frees the jobs of workers that were killed: the queue itself would wait for hours. */
export async function freeAbandonedJobs(db: Database): Promise<void> {
  await db.execute(sql`
    SELECT graphile_worker.force_unlock_workers(array_agg(DISTINCT locked_by)) FROM graphile_worker.jobs
    WHERE locked_by IS NOT NULL AND locked_at < now() - make_interval(secs => ${ABANDONED_SECONDS})
    HAVING count(*) > 0`);
}
