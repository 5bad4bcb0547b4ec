import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type Database, isAway } from '#src/database/client.ts';
import { HOUR_MS, MINUTE_MS, MOST_CLOCK_DIFFERENCE_MS, monotonicMs, systemClock } from '#src/platform/clock.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { asker } from '#src/platform/turns.ts';
import { orLate, within } from '#src/platform/within.ts';
import { type AnyJob, GivenUp, type JobGroup, type JobRun, PutOff, type RecurringJob, runIdOf } from './queue.ts';

/** How many jobs of a group a runner runs at a time: the group's places. */
export const JOB_PLACES: Readonly<Record<JobGroup, number>> = {
  mails: 6,
  deletions: 2,
  payments: 3,
  letters: 2,
  other: 4,
};
/** How many of these places one account may use: a mail server that is slow for one account must not delay the mails of others. */
const mostOfAccount = (group: JobGroup): number => JOB_PLACES[group] - 1;
/** How often a runner records that it is alive and queries for jobs; it queries earlier for a notification, a due job or a free place. */
const BEAT_MS = 3_000;
/** Pause when a due job could not be claimed, because another runner is claiming it, or when the queue does not answer. */
const AGAIN_MS = 1_000;
/** A runner that was not seen for this long is dead. Three beats, so that a slow statement does not make a living runner look dead. */
const DEAD_AFTER_MS = 9_000;
/** The queue should answer every beat. After the first time without an answer `isWell` is false, after the second an alarm is raised. */
const UNWELL_AFTER_MS = 8_000;
const STALLED_AFTER_MS = 15_000;
/** Pause between attempts to record the end of a job, whose place stays occupied until an attempt succeeds. */
const END_AGAIN_MS = 500;

type Work = (payload: unknown, run: JobRun) => Promise<void>;

interface Task {
  readonly group: JobGroup;
  readonly work: Work;
  /** The next scheduled time after a given time, both in Unix ms; only for recurring jobs. */
  readonly next: ((afterMs: number) => number) | undefined;
}

type TakenJob = {
  readonly id: string;
  readonly name: string;
  readonly key: string | null;
  readonly payload: unknown;
  readonly account: string;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly mark: string;
  readonly taken_at: string;
};

/** One row per claimed job, or one row without a job. Each has the milliseconds until the next unclaimed job is due. */
type Taken = { readonly freed: string; readonly wait_ms: string | null } & (TakenJob | { readonly id: null });

// The first argument of `take_jobs` depends on `freed`: so PostgreSQL runs it after `free_dead_jobs`, and it claims the freed jobs.
// `until_next_job` runs after both, because it depends on the number of their rows.
const TAKE = `
  WITH taken AS MATERIALIZED (
    SELECT f.freed, t.* FROM (SELECT CASE WHEN $6 THEN free_dead_jobs($1, $7::bigint[], $8) ELSE 0 END AS freed) AS f
    LEFT JOIN LATERAL take_jobs(CASE WHEN f.freed >= 0 THEN $1 END, $2, $3, $4, $9, $5, $10, $11) AS t ON true
  )
  SELECT t.*, (SELECT until_next_job($2, $5) FROM (SELECT count(*) FROM taken) AS n WHERE n.count > 0) AS wait_ms FROM taken AS t`;

/** A running job, until its end is recorded. */
interface Run {
  readonly id: string;
  readonly group: JobGroup;
  readonly account: string;
  readonly work: Promise<void>;
  readonly ended: Promise<void>;
}

/** The failure of a job that runs longer than `TIME_LIMITS.jobMs`: its place becomes free, although its work may go on. */
class JobTooLong extends Error {
  override readonly name = 'JobTooLong';
}

/** The text that the queue stores for an error, without addresses and payload. */
function storedWords(name: string, fault: unknown): string {
  if (fault instanceof GivenUp) return `${name} given up: ${fault.message}`;
  const { name: kind, code, reply } = summariseFault(fault);
  return `${name} failed: ${[kind, code, reply].filter((word) => word !== undefined).join(' ')}`;
}

/** Recurring jobs never run out of attempts: otherwise a recurring job whose process was killed would never run again. */
const MOST_ATTEMPTS = 2_147_483_647;

/** The key of a recurring job's only row. */
const clockKey = (name: string): string => `clock:${name}`;

/** Claims jobs from the queue and runs them until stopped. Each group has places of its own. */
export class JobRunner {
  readonly #db: Database;
  readonly #log: Log;
  readonly #tasks: ReadonlyMap<string, Task>;
  /** Stored in `held_by` of the jobs that this runner has claimed. */
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

  /** Resolves after the first query for jobs, even if it failed, or after `UNWELL_AFTER_MS`. */
  async start(): Promise<void> {
    const asked = Promise.withResolvers<void>();
    const take = (): Promise<number> => this.#takeAll().finally(asked.resolve);
    this.#loops = Promise.all([this.#repeat(take, true), this.#repeat(() => this.#plan(), false)]);
    await within(asked.promise, UNWELL_AFTER_MS);
  }

  /** Whether jobs make progress: every place of all groups is taken, or the queue answered recently. */
  isWell(): boolean {
    return this.#places().every(({ places }) => places === 0) || monotonicMs() - this.#answeredAt < UNWELL_AFTER_MS;
  }

  /** Makes the runner query for jobs at once; call when a job was added. */
  wake(): void {
    this.#waking.resolve();
  }

  /** Claims no more jobs, waits a limited time for running jobs, and releases the rest. */
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
   * Repeats work until the runner stops; after a failure it runs again after `AGAIN_MS`.
   * @param work returns the milliseconds until its next run
   * @param wakes whether `wake` starts the next run earlier
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

  /** Raises an alarm if a reachable database does not serve the queue. An unreachable database or a fail-over is reported elsewhere. */
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

  /** Records that this runner is alive, releases the jobs of dead runners, and claims due jobs. @returns ms until the next call */
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
        asked.map(([, { group }]) => mostOfAccount(group)),
        [...this.#underWay].map(({ group }) => group),
        [...this.#underWay].map(({ account }) => account),
      ],
    });
    if (untilBeat <= 0) this.#beatAt = startedAt;
    this.#answeredAt = monotonicMs();
    this.#isStalled = false;
    if (rows.some(({ freed }) => freed !== '0')) this.#log.warn('jobs that were held and not run are free again');
    const taken = rows.filter((row) => row.id !== null);
    for (const job of taken) this.#begin(job);
    const untilNext = Number(rows[0]?.wait_ms ?? BEAT_MS);
    // An unclaimed job may be due: its group has no free place, or another runner is claiming it.
    const dueIn = untilNext > 0 ? untilNext : taken.length > 0 ? 0 : AGAIN_MS;
    return Math.max(0, Math.min(dueIn, this.#beatAt + BEAT_MS - this.#answeredAt));
  }

  /** Inserts the row of each recurring job that has none, scheduled by the database's clock, which all processes share. */
  async #plan(): Promise<number> {
    const byClock = [...this.#tasks].flatMap(([name, { next }]) => (next === undefined ? [] : [{ name, next }]));
    const { rows } = await this.#db.$client.query<{ at: string }>('SELECT now_ms() AS at');
    const at = Number(rows[0]?.at);
    const names = byClock.map(({ name }) => name);
    await this.#db.$client.query(
      `INSERT INTO jobs (name, key, payload, last, run_at, max_attempts, created_at)
       SELECT n, k, '{}', false, t, $4, now_ms() FROM unnest($1::text[], $2::text[], $3::bigint[]) AS c (n, k, t) ON CONFLICT (key) DO NOTHING`,
      [names, names.map(clockKey), byClock.map(({ next }) => next(at)), MOST_ATTEMPTS],
    );
    return MINUTE_MS;
  }

  #begin(job: TakenJob): void {
    const task = this.#tasks.get(job.name);
    if (task === undefined) throw new Error(`a job ${job.name} was taken that was not asked for`);
    const { id, account, attempts: attempt, max_attempts: most } = job;
    const run = { id: runIdOf(job), attempt, last: attempt >= most };
    // If another runner took this runner for dead and released the job, the new claim waits for the work that still runs here.
    const before = [...this.#underWay].find((one) => one.id === id)?.work;
    const begin = (): Promise<void> => task.work(job.payload, run);
    // Jobs that it enqueues are of the same account.
    const ofAccount = account === '' ? begin : () => asker.run({ account }, begin);
    const work = before ?? orLate(ofAccount(), TIME_LIMITS.jobMs, () => new JobTooLong());
    const ended = work
      .then(
        () => this.#writeEnd(job, task),
        (fault: unknown) => this.#writeEnd(job, task, { fault, isLast: run.last || fault instanceof GivenUp }),
      )
      .then((comesAgain) => {
        const inGroup = [...this.#underWay].filter(({ group }) => group === task.group);
        const isFull = inGroup.length >= JOB_PLACES[task.group];
        const hadItsShare = inGroup.filter((other) => other.account === account).length >= mostOfAccount(task.group);
        this.#underWay.delete(one);
        if (isFull || hadItsShare || comesAgain) this.wake();
      });
    const one: Run = { id, group: task.group, account, work, ended };
    this.#underWay.add(one);
  }

  /** Records the end of a run, unless the job was claimed again meanwhile. @returns whether the job will be retried */
  async #writeEnd(
    { id, name, key, attempts, taken_at }: TakenJob,
    { next }: Task,
    failed?: { readonly fault: unknown; readonly isLast: boolean },
  ): Promise<boolean> {
    const fault = failed?.fault;
    if (failed !== undefined && !(fault instanceof PutOff))
      this.#log.error(
        { job: name, jobId: id, attempt: attempts, fault: summariseFault(fault) },
        `a job failed and ${failed.isLast ? 'is given up' : 'will be tried again'}`,
      );
    const words = failed === undefined ? null : storedWords(name, fault);
    const own = 'WHERE id = $1 AND held_by = $2 AND attempts = $3';
    const free = 'UPDATE jobs SET held_by = NULL, held_at = NULL';
    const [text, ...more]: [string, ...unknown[]] =
      next !== undefined && key === clockKey(name)
        ? [`${free}, attempts = 0, run_at = $4, last_error = $5 ${own}`, next(Number(taken_at)), words]
        : failed === undefined
          ? [`DELETE FROM jobs ${own}`]
          : fault instanceof PutOff
            ? [`${free}, attempts = attempts - 1, run_at = $4 ${own}`, fault.untilMs]
            : [
                `${free}, last_error = $4, attempts = CASE WHEN $5 THEN max_attempts ELSE attempts END,
                 run_at = greatest(run_at, now_ms()) + (1000 * exp(least(attempts, 10)))::bigint ${own}`,
                words,
                fault instanceof GivenUp,
              ];
    for (;;) {
      try {
        if (failed !== undefined && key !== null) {
          // A later job took this job's key (`add_job`) and does its work, so this job is deleted.
          const replaced = await this.#db.$client.query(`DELETE FROM jobs ${own} AND key IS NULL`, [
            id,
            this.#id,
            attempts,
          ]);
          if (replaced.rowCount === 1) return false;
        }
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

const SCHEDULE = /^(?:\*\/(?<every>\d+)|(?<minute>\d+|\*)) (?<hour>\d+|\*) \* \* \*$/;

/** Parses a schedule of `RecurringJob`. @returns the next time after a given time, both in Unix ms @throws RangeError for a bad schedule */
export function readSchedule(schedule: string): (afterMs: number) => number {
  const { every, minute, hour } = SCHEDULE.exec(schedule)?.groups ?? {};
  if (hour === undefined) throw new RangeError(`no schedule: ${schedule}`);
  const isMet = (ms: number): boolean => {
    const [minutes, hours] = [Math.floor(ms / MINUTE_MS) % 60, Math.floor(ms / HOUR_MS) % 24];
    const isMinute = every === undefined ? minute === '*' || minutes === Number(minute) : minutes % Number(every) === 0;
    return isMinute && (hour === '*' || hours === Number(hour));
  };
  return (afterMs) => {
    let ms = (Math.floor(afterMs / MINUTE_MS) + 1) * MINUTE_MS;
    while (!isMet(ms)) ms += MINUTE_MS;
    return ms;
  };
}

/** Runs jobs until stopped. @param db has connections to spare, so that running jobs leave some to the queue */
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
  const runner = new JobRunner(db, log, tasks);
  await runner.start();
  return runner;
}
