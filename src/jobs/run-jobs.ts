import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type Database, isAway } from '#src/database/client.ts';
import { MINUTE_MS, monotonicMs, systemClock } from '#src/platform/clock.ts';
import { MOST_CLOCK_DIFFERENCE_MS } from '#src/platform/clock-drift.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { orLate, within } from '#src/platform/within.ts';
import { type AnyJob, GivenUp, type JobGroup, type JobRun, type RecurringJob } from './queue.ts';
import { readSchedule } from './schedule.ts';

/** How many jobs of a group run at a time. */
export const JOB_PLACES: Readonly<Record<JobGroup, number>> = { mails: 5, deletions: 2, payments: 3, other: 4 };
/** A new job is announced; this finds those whose time has come. */
const POLL_MS = 1_000;
const BEAT_MS = 2_000;
/** A runner that was not seen for so long is dead. A few beats more than one, so that a slow statement makes no living runner look dead. */
const DEAD_AFTER_MS = 10_000;
/** The queue answers several times a second: after so long without an answer jobs make no progress, and after the second that is an alarm. */
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
    const take = (): Promise<boolean> => this.#takeAll().finally(asked.resolve);
    this.#loops = Promise.all([
      this.#repeat(POLL_MS, take, true),
      this.#repeat(BEAT_MS, () => this.#beat(), false),
      this.#repeat(MINUTE_MS, () => this.#plan(), false),
    ]);
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
   * Does something again and again, at once where it answers true; what fails is tried the next time.
   * @param wakes whether it is done earlier when a job was added or ended
   */
  async #repeat(everyMs: number, work: () => Promise<unknown>, wakes: boolean): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const waking = Promise.withResolvers<void>();
      if (wakes) this.#waking = waking;
      const again = await orLate(work(), DEAD_AFTER_MS, () => new Error('the queue gives no answer')).catch(
        (fault: unknown) => this.#noteFault(fault),
      );
      if (again === true) continue;
      await Promise.race([pause(everyMs, undefined, { signal }).catch(() => undefined), waking.promise]);
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

  /** @returns whether there may be more to take at once */
  async #takeAll(): Promise<boolean> {
    const free = new Map(this.#places().map(({ group, places }) => [group, places]));
    const asked = [...this.#tasks].filter(([, { group }]) => (free.get(group) ?? 0) > 0);
    if (asked.length === 0) return false;
    const { rows } = await this.#db.$client.query<TakenJob>({
      name: 'take_jobs',
      text: 'SELECT * FROM take_jobs($1, $2, $3, $4, $5)',
      values: [
        this.#id,
        asked.map(([name]) => name),
        asked.map(([, { group }]) => group),
        asked.map(([, { group }]) => free.get(group)),
        systemClock.now() + MOST_CLOCK_DIFFERENCE_MS,
      ],
    });
    this.#answeredAt = monotonicMs();
    this.#isStalled = false;
    for (const job of rows) this.#begin(job);
    return rows.length > 0;
  }

  async #beat(): Promise<void> {
    const { rows } = await this.#db.$client.query<{ freed: string }>(
      'SELECT free_dead_jobs($1, $2::bigint[], $3) AS freed',
      [this.#id, [...this.#underWay].map(({ id }) => id), DEAD_AFTER_MS],
    );
    if (rows[0]?.freed !== '0') this.#log.warn('jobs that were held and not run are free again');
  }

  /** Gives each job of the clock its row, where it has none. By the clock of the database, which every process has. */
  async #plan(): Promise<void> {
    const byClock = [...this.#tasks].flatMap(([name, { next }]) => (next === undefined ? [] : [{ name, next }]));
    const { rows } = await this.#db.$client.query<{ at: string }>('SELECT now_ms() AS at');
    const at = Number(rows[0]?.at);
    const names = byClock.map(({ name }) => name);
    await this.#db.$client.query(
      `INSERT INTO jobs (name, key, payload, last, run_at, max_attempts, created_at)
       SELECT n, k, '{}', false, t, 1, now_ms() FROM unnest($1::text[], $2::text[], $3::bigint[]) AS c (n, k, t) ON CONFLICT (key) DO NOTHING`,
      [names, names.map(clockKey), byClock.map(({ next }) => next(at))],
    );
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
      .finally(() => {
        this.#underWay.delete(one);
        this.wake();
      });
    const one: Run = { id, group: task.group, work, ended };
    this.#underWay.add(one);
  }

  /** Has an effect only while the job is this run's. */
  async #writeEnd(
    { id, name, key, attempts, taken_at }: TakenJob,
    { next }: Task,
    failed?: { readonly fault: unknown; readonly isLast: boolean },
  ): Promise<void> {
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
        return;
      } catch (fault) {
        this.#log.warn({ job: name, fault: summariseFault(fault) }, 'the end of a job was not written down yet');
        if (this.#stopping.signal.aborted) return;
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
