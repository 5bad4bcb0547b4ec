import type { Task, TaskList } from 'graphile-worker';
import type { Database } from '#src/database/client.ts';
import { Logger } from '#src/database/queue-library.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { orLate } from '#src/platform/within.ts';
import { JobGroupRunner } from './job-group.ts';
import { LivingRunners } from './living-runners.ts';
import { type AnyJob, GivenUp, type JobGroup, type JobRun, type RecurringJob } from './queue.ts';

/** How many jobs of a group run at a time. */
export const JOB_PLACES: Readonly<Record<JobGroup, number>> = { mails: 5, deletions: 2, payments: 3, other: 4 };
/** A new job is announced; this finds those whose time has come. */
const POLL_INTERVAL_MS = 1_000;

export interface JobRunner {
  /** Whether jobs of every group make progress. */
  isWell(): boolean;
  /** Takes no more jobs, lets those under way finish for a while, and hands back the rest. Ends whatever hangs. */
  stop(): Promise<void>;
}

/** Connections of each group; those of `other` where a group has none of its own. */
type JobDatabases = Readonly<Partial<Record<JobGroup, Database>> & Record<'other', Database>>;

type Work = (payload: unknown, run: JobRun) => Promise<void>;

/** A job takes longer than any job may: its place is needed. */
class JobTooLong extends Error {
  override readonly name = 'JobTooLong';
}

/** What the queue stores of a fault: words that name no address and no payload. */
function storedWords(name: string, fault: unknown): string {
  if (fault instanceof GivenUp) return `${name} given up: ${fault.message}`;
  const { name: kind, code, reply } = summariseFault(fault);
  return `${name} failed: ${[kind, code, reply].filter((word) => word !== undefined).join(' ')}`;
}

/** Runs jobs until stopped; a failing job is tried again with growing pauses. Each group has a runner of its own. */
export async function runJobs(
  databases: JobDatabases,
  log: Log,
  jobs: readonly AnyJob[],
  recurring: readonly RecurringJob[],
): Promise<JobRunner> {
  // A job whose runner was given up here is free to be taken while it still runs: the second run then waits for the first.
  const underWay = new Map<string, Promise<void>>();
  const taskOf =
    (name: string, work: Work): Task =>
    async (payload, { job, query }) => {
      const id = `${job.id}/${job.created_at.getTime()}`;
      const run = { id, attempt: job.attempts, last: job.attempts >= job.max_attempts };
      const running = underWay.get(job.id) ?? orLate(work(payload, run), TIME_LIMITS.jobMs, () => new JobTooLong());
      underWay.set(job.id, running);
      try {
        await running;
      } catch (fault) {
        const again = run.last || fault instanceof GivenUp ? 'is given up' : 'will be tried again';
        log.error(
          { job: name, jobId: job.id, attempt: run.attempt, fault: summariseFault(fault) },
          `a job failed and ${again}`,
        );
        // The library has no word for this: a job that has used up its attempts is not taken again.
        if (fault instanceof GivenUp)
          await query('UPDATE graphile_worker._private_jobs SET attempts = max_attempts WHERE id = $1', [job.id]);
        throw new Error(storedWords(name, fault));
      } finally {
        underWay.delete(job.id);
      }
    };
  const groupOf = (group: JobGroup): JobGroupRunner => {
    const own = jobs.filter((job) => (job.group ?? 'other') === group);
    const byClock = recurring.filter((job) => (job.group ?? 'other') === group);
    const taskList: TaskList = Object.fromEntries([
      ...own.map((job) => [job.name, taskOf(job.name, (payload, run) => job.work(job.payload.parse(payload), run))]),
      ...byClock.map((job) => [job.name, taskOf(job.name, () => job.work())]),
    ]);
    const options = {
      taskList,
      crontab: byClock.map((job) => `${job.schedule} ${job.name} ?max=1`).join('\n'),
      concurrency: JOB_PLACES[group],
      pollInterval: POLL_INTERVAL_MS,
      noHandleSignals: true,
      // Written down one by one, the end of a job that meets a fault of the database is an unhandled rejection, and ends the process.
      preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
      logger: new Logger(() => () => undefined),
    };
    return new JobGroupRunner(group, (databases[group] ?? databases.other).$client, options, living, log);
  };
  const living = new LivingRunners((databases.deletions ?? databases.other).$client, log, (id) => underWay.has(id));
  const used = new Set([...jobs, ...recurring].map((job) => job.group ?? 'other'));
  const groups = [...used].map(groupOf);
  await living.start();
  await Promise.all(groups.map((group) => group.start()));
  return {
    isWell: () => groups.every((group) => group.isWell()),
    async stop() {
      const held = await Promise.all(groups.map((group) => group.stop(TIME_LIMITS.jobGraceMs)));
      living.stop();
      await living
        .remove(held.flat())
        .catch((fault: unknown) => log.warn({ fault: summariseFault(fault) }, 'jobs were not handed back'));
    },
  };
}
