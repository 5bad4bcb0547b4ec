import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type Database, isAway } from '#src/database/client.ts';
import { MINUTE_MS, MOST_CLOCK_DIFFERENCE_MS, monotonicMs, systemClock } from '#src/platform/clock.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { orLate, within } from '#src/platform/within.ts';
import { type AnyJob, GivenUp, type JobGroup, type JobRun, type RecurringJob } from './queue.ts';
import { readSchedule } from './schedule.ts';

/** How many jobs of a group run at a time. */
export const JOB_PLACES: Readonly<Record<JobGroup, number>> = { mails: 5, deletions: 2, payments: 3, other: 4 };
/** A runner shows itself and asks for jobs as often, and earlier where a job is announced, due, or was waiting for a place. */
const BEAT_MS = 3_000;
/** While what is due cannot be had: another runner is about to take it, or the queue gives no answer. */
const AGAIN_MS = 1_000;
/** A runner that was not seen for so long is dead. A few beats more than one, so that a slow statement makes no living runner look dead. */
const DEAD_AFTER_MS = 9_000;
/** The queue answers with each beat: after so long without an answer jobs make no progress, and after the second that is an alarm. */
const UNWELL_AFTER_MS = 8_000;
const STALLED_AFTER_MS = 15_000;
/** The end of a job is written again and again until that succeeds: its place is taken meanwhile. */
const END_AGAIN_MS = 500;

export interface JobRunner {
  /** Whether jobs make progress: in each group every place is taken, or the queue answered a moment ago. */
  isWell(): boolean;
  /** A job was added. */
  wake(): void;
  /** Takes no more jobs, lets those under way finish for a while, and hands back the rest. Ends whatever hangs. */
  stop(): Promise<void>;
}

type Work = (payload: unknown, run: JobRun) => Promise<void>;

interface Task {
  readonly group: JobGroup;
  readonly work: Work;
  /** When it runs after a moment, in Unix ms; of jobs of the clock. */
  readonly next: ((afterMs: number) => number) | undefined;
}

type TakenJob = {
  readonly id: string;
  readonly name: string;
  readonly key: string | null;
  readonly payload: unknown;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly created_at: string;
  readonly taken_at: string;
};

/** One row for each job that was taken; where none was, one that says when to ask again. */
type Taken = { readonly freed: string } & (
  | (TakenJob & { readonly wait_ms: null })
  | { readonly id: null; readonly wait_ms: string | null }
);

// The runner's ID comes by way of what was freed: freed jobs are taken in the same statement.
const TAKE = `
  SELECT f.freed, t.*, CASE WHEN t.id IS NULL THEN until_next_job($2, $5) END AS wait_ms
  FROM (SELECT CASE WHEN $6 THEN free_dead_jobs($1, $7::bigint[], $8) ELSE 0 END AS freed) AS f
  LEFT JOIN LATERAL take_jobs(CASE WHEN f.freed >= 0 THEN $1 END, $2, $3, $4, $5) AS t ON true`;

/** A job under way, until its end is written. */
interface Run {
  readonly id: string;
  readonly group: JobGroup;
  readonly work: Promise<void>;
  readonly ended: Promise<void>;
}

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

/** The key of the one row of a job of the clock. */
const clockKey = (name: string): string => `clock:${name}`;

/** Takes jobs out of the queue and does them, until it is stopped. Each group has places of its own. */
class Runner implements JobRunner {
  readonly #db: Database;
  readonly #log: Log;
  readonly #tasks: ReadonlyMap<string, Task>;
  /** What the rows of its jobs name as their holder. */
  readonly #id = randomBytes(12).toString('hex');
  readonly #underWay = new Set<Run>();
  readonly #stopping = new AbortController();
  #waking = Promise.withResolvers<void>();
  #beatAt = Number.NEGATIVE_INFINITY;
  #answeredAt = Number.NEGATIVE_INFINITY;
  readonly #startedAt = monotonicMs();
  #isStalled = false;
  #loops: Promise<unknown> | undefined;

  constructor(db: Database, log: Log, tasks: ReadonlyMap<string, Task>) {
    this.#db = db;
    this.#log = log;
    this.#tasks = tasks;
  }

  /** Resolves once the queue was asked, whatever it answered: it is asked again. */
  async start(): Promise<void> {
    const asked = Promise.withResolvers<void>();
    const take = (): Promise<number> => this.#takeAll().finally(asked.resolve);
    this.#loops = Promise.all([this.#repeat(take, true), this.#repeat(() => this.#plan(), false)]);
    await within(asked.promise, UNWELL_AFTER_MS);
  }

  isWell(): boolean {
    return this.#places().every(({ places }) => places === 0) || monotonicMs() - this.#answeredAt < UNWELL_AFTER_MS;
  }

  wake(): void {
    this.#waking.resolve();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.wake();
    const left = async (): Promise<void> => {
      await this.#loops;
      await Promise.all([...this.#underWay].map(({ ended }) => ended));
    };
    await within(left(), TIME_LIMITS.jobGraceMs);
    const statement = `WITH gone AS (DELETE FROM job_runners WHERE id = $1)
      UPDATE jobs SET held_by = NULL, held_at = NULL WHERE held_by = $1`;
    await orLate(
      this.#db.$client.query(statement, [this.#id]),
      TIME_LIMITS.closeMs,
      () => new Error('no answer'),
    ).catch((fault: unknown) => this.#log.warn({ fault: summariseFault(fault) }, 'jobs were not handed back'));
  }

  /**
   * Does something again and again; what fails is tried again soon.
   * @param work answers after how many milliseconds it is to be done again
   * @param wakes whether it is done earlier when a job was added or a place is free
   */
  async #repeat(work: () => Promise<number>, wakes: boolean): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const waking = Promise.withResolvers<void>();
      if (wakes) this.#waking = waking;
      const waitMs = await orLate(work(), DEAD_AFTER_MS, () => new Error('the queue gives no answer')).catch(
        (fault: unknown) => {
          this.#noteFault(fault);
          return AGAIN_MS;
        },
      );
      if (waitMs > 0) await Promise.race([pause(waitMs, undefined, { signal }).catch(() => undefined), waking.promise]);
    }
  }

  /** A database that is away or fails over is no fault of the queue, and shows itself otherwise; one that answers and holds the queue back is an alarm. */
  #noteFault(fault: unknown): void {
    if (this.#stopping.signal.aborted) return;
    this.#log.warn({ fault: summariseFault(fault) }, 'the queue of jobs could not be asked');
    const isLate = monotonicMs() - Math.max(this.#answeredAt, this.#startedAt) > STALLED_AFTER_MS;
    if (isLate && !this.#isStalled && !isAway(fault)) {
      this.#isStalled = true;
      this.#log.error({ alarm: 'jobs_stalled' }, 'jobs make no progress: the queue cannot be read');
    }
  }

  /** Free places of each group that has a task. */
  #places(): { readonly group: JobGroup; readonly places: number }[] {
    const busy = [...this.#underWay];
    return [...new Set([...this.#tasks.values()].map(({ group }) => group))].map((group) => ({
      group,
      places: Math.max(0, JOB_PLACES[group] - busy.filter((one) => one.group === group).length),
    }));
  }

  /** Beats, frees the jobs of dead runners, and takes due jobs. @returns after how many ms to ask again */
  async #takeAll(): Promise<number> {
    const free = new Map(this.#places().map(({ group, places }) => [group, places]));
    const asked = [...this.#tasks].filter(([, { group }]) => (free.get(group) ?? 0) > 0);
    const startedAt = monotonicMs();
    const untilBeat = this.#beatAt + BEAT_MS - startedAt;
    if (asked.length === 0 && untilBeat > 0) return untilBeat;
    const { rows } = await this.#db.$client.query<Taken>({
      name: 'take_jobs',
      text: TAKE,
      values: [
        this.#id,
        asked.map(([name]) => name),
        asked.map(([, { group }]) => group),
        asked.map(([, { group }]) => free.get(group)),
        systemClock.now() + MOST_CLOCK_DIFFERENCE_MS,
        untilBeat <= 0,
        [...this.#underWay].map(({ id }) => id),
        DEAD_AFTER_MS,
      ],
    });
    if (untilBeat <= 0) this.#beatAt = startedAt;
    this.#answeredAt = monotonicMs();
    this.#isStalled = false;
    if (rows.some(({ freed }) => freed !== '0')) this.#log.warn('jobs that were held and not run are free again');
    let waitMs = Math.max(0, this.#beatAt + BEAT_MS - this.#answeredAt);
    for (const row of rows) {
      if (row.id !== null) {
        this.#begin(row);
        waitMs = 0;
      } else if (row.wait_ms !== null) {
        const dueIn = Number(row.wait_ms);
        waitMs = Math.min(waitMs, dueIn > 0 ? dueIn : AGAIN_MS);
      }
    }
    return waitMs;
  }

  /** Gives each job of the clock its row, where it has none. By the clock of the database, which every process has. */
  async #plan(): Promise<number> {
    const byClock = [...this.#tasks].flatMap(([name, { next }]) => (next === undefined ? [] : [{ name, next }]));
    const { rows } = await this.#db.$client.query<{ at: string }>('SELECT now_ms() AS at');
    const at = Number(rows[0]?.at);
    const names = byClock.map(({ name }) => name);
    await this.#db.$client.query(
      `INSERT INTO jobs (name, key, payload, last, run_at, max_attempts, created_at)
       SELECT n, k, '{}', false, t, 1, now_ms() FROM unnest($1::text[], $2::text[], $3::bigint[]) AS c (n, k, t) ON CONFLICT (key) DO NOTHING`,
      [names, names.map(clockKey), byClock.map(({ next }) => next(at))],
    );
    return MINUTE_MS;
  }

  #begin(job: TakenJob): void {
    const task = this.#tasks.get(job.name);
    if (task === undefined) throw new Error(`a job ${job.name} was taken that was not asked for`);
    const { id, attempts: attempt, max_attempts: most } = job;
    const run = { id: `${id}/${job.created_at}`, attempt, last: attempt >= most };
    // A job that another runner freed, and that came back, waits for its first run.
    const before = [...this.#underWay].find((one) => one.id === id)?.work;
    const work = before ?? orLate(task.work(job.payload, run), TIME_LIMITS.jobMs, () => new JobTooLong());
    const ended = work
      .then(
        () => this.#writeEnd(job, task),
        (fault: unknown) => this.#writeEnd(job, task, { fault, isLast: run.last || fault instanceof GivenUp }),
      )
      .then((comesAgain) => {
        const isWaitedFor = this.#places().some(({ group, places }) => group === task.group && places === 0);
        this.#underWay.delete(one);
        if (isWaitedFor || comesAgain) this.wake();
      });
    const one: Run = { id, group: task.group, work, ended };
    this.#underWay.add(one);
  }

  /** Has an effect only while the job is this run's. @returns whether the job is tried again soon */
  async #writeEnd(
    { id, name, key, attempts, taken_at }: TakenJob,
    { next }: Task,
    failed?: { readonly fault: unknown; readonly isLast: boolean },
  ): Promise<boolean> {
    if (failed !== undefined)
      this.#log.error(
        { job: name, jobId: id, attempt: attempts, fault: summariseFault(failed.fault) },
        `a job failed and ${failed.isLast ? 'is given up' : 'will be tried again'}`,
      );
    const words = failed === undefined ? null : storedWords(name, failed.fault);
    const own = 'WHERE id = $1 AND held_by = $2 AND attempts = $3';
    const free = 'UPDATE jobs SET held_by = NULL, held_at = NULL';
    const [text, ...more]: [string, ...unknown[]] =
      next !== undefined && key === clockKey(name)
        ? [`${free}, attempts = 0, run_at = $4, last_error = $5 ${own}`, next(Number(taken_at)), words]
        : failed === undefined
          ? [`DELETE FROM jobs ${own}`]
          : [
              `${free}, last_error = $4, attempts = CASE WHEN $5 THEN max_attempts ELSE attempts END,
                 run_at = greatest(run_at, now_ms()) + (1000 * exp(least(attempts, 10)))::bigint ${own}`,
              words,
              failed.fault instanceof GivenUp,
            ];
    for (;;) {
      try {
        await this.#db.$client.query(text, [id, this.#id, attempts, ...more]);
        return failed?.isLast === false;
      } catch (fault) {
        this.#log.warn({ job: name, fault: summariseFault(fault) }, 'the end of a job was not written down yet');
        if (this.#stopping.signal.aborted) return false;
        await pause(END_AGAIN_MS);
      }
    }
  }
}

/**
 * Runs jobs until stopped; a failing job is tried again with growing pauses.
 * @param db for the queue alone: its connections are never waited for because of anything else
 */
export async function runJobs(
  db: Database,
  log: Log,
  jobs: readonly AnyJob[],
  recurring: readonly RecurringJob[],
): Promise<JobRunner> {
  const tasks = new Map<string, Task>();
  for (const { name, group = 'other', payload, work } of jobs)
    tasks.set(name, { group, work: async (given, run) => work(payload.parse(given), run), next: undefined });
  for (const { name, group = 'other', schedule, work } of recurring)
    tasks.set(name, { group, work, next: readSchedule(schedule) });
  const runner = new Runner(db, log, tasks);
  await runner.start();
  return runner;
}
