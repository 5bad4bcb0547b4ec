import { type SQL, sql } from 'drizzle-orm';
import type { z } from 'zod';
import { type Executor, isTrue, readNumber, type Transaction } from '#src/database/client.ts';
import { asker } from '#src/platform/turns.ts';

/** Each group has its own limit of parallel jobs (`JOB_PLACES`), so that jobs that hang do not block other groups. */
export type JobGroup = 'mails' | 'deletions' | 'payments' | 'letters' | 'other';

/** An attempt at a job, as passed to its `work`. */
export interface JobRun {
  /** Identifies the job among all jobs ever, the same for each attempt: the number of its row, and its mark. */
  readonly id: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  readonly last: boolean;
}

/** The ID of a job's runs. It contains the random mark, because a restored database assigns the same row numbers again. */
export const runIdOf = (job: { readonly id: string; readonly mark: string }): string => `${job.id}/${job.mark}`;

/** What stays of a run's ID when its account moves to another database, where the row gets another number. */
export const markOf = ({ id }: Pick<JobRun, 'id'>): string => id.replace(/^.*\//, '');

/** SQL condition: row `j` of `jobs` belongs to the run. Always false for a run outside of the queue. */
export function isOfRun({ id }: Pick<JobRun, 'id'>): SQL {
  const [row, mark] = id.split('/');
  return mark === undefined ? sql`false` : sql`j.id = ${row}::bigint AND j.mark = ${mark}::uuid`;
}

/**
 * Ends a job in the transaction of its effect, so that a lost answer to the commit does not lead to a second effect.
 * @returns false if the job has already ended: its effect is committed, and the caller must not add another
 */
export async function endJob(tx: Transaction, run: JobRun): Promise<boolean> {
  if (!run.id.includes('/')) return true;
  const { rowCount } = await tx.execute(sql`DELETE FROM jobs j WHERE ${isOfRun(run)}`);
  return rowCount === 1;
}

/** When the job was enqueued, Unix ms; 0 outside of the queue. */
export const createdAt = (executor: Executor, run: JobRun): Promise<number> =>
  readNumber(executor, sql`SELECT j.created_at FROM jobs j WHERE ${isOfRun(run)}`);

/** Whether an attempt at the job was made before, also before an operator ran it again (`run_jobs_again`). */
export const wasTried = async (executor: Executor, run: JobRun): Promise<boolean> =>
  run.attempt > 1 || isTrue(executor, sql`SELECT j.last_error IS NOT NULL FROM jobs j WHERE ${isOfRun(run)}`);

/** A kind of job. Payloads are stored in plaintext, and must contain no secret. */
export interface Job<Payload> {
  readonly name: string;
  readonly payload: z.ZodType<Payload>;
  readonly maxAttempts: number;
  /** Default: `other`. */
  readonly group?: JobGroup;
  readonly work: (payload: Payload, run: JobRun) => Promise<void>;
}

/** A job that runs on a schedule. */
export interface RecurringJob {
  readonly name: string;
  /** The first fields of a crontab line, minute and hour in UTC, for every day: `*`, a number, or for minutes `*\/10`. */
  readonly schedule: string;
  readonly group?: JobGroup;
  readonly work: () => Promise<void>;
}

// biome-ignore lint/suspicious/noExplicitAny: jobs of different payloads stand in one list; each checks its own
export type AnyJob = Job<any>;

export function defineJob<Payload>(job: Job<Payload>): Job<Payload> {
  return job;
}

/** An error that no retry changes: the job fails at once. Operators see the message: no address or secret in it. */
export class GivenUp extends Error {}

/** Thrown by work that must wait, before it has done anything: the job runs again later, and the attempt does not count. */
export class PutOff extends Error {
  readonly untilMs: number;

  constructor(untilMs: number) {
    super('put off');
    this.untilMs = untilMs;
  }
}

interface EnqueueOptions {
  /** A job with the same key that is not running is replaced. */
  readonly key?: string;
  readonly runAtMs?: number;
  /** The account that the work belongs to; by default the account of the request or job that enqueues it. */
  readonly account?: string;
}

const askingAccount = (): string => asker.getStore()?.account ?? '';

/** Enqueues a job in the caller's transaction: it exists if and only if the transaction commits. */
export async function enqueue<Payload>(
  executor: Executor,
  { name, maxAttempts = 10 }: Pick<Job<Payload>, 'name'> & Partial<Pick<Job<Payload>, 'maxAttempts'>>,
  payload: Payload,
  options: EnqueueOptions = {},
): Promise<void> {
  const { runAtMs = null, key = null, account = askingAccount() } = options;
  await executor.execute(sql`
    SELECT add_job(${name}, ${JSON.stringify(payload)}::json, ${runAtMs}::bigint, ${maxAttempts}::integer, ${key}::text,
      p_account => ${account})`);
}

/** Enqueues many jobs in the caller's transaction, to run after all other due jobs of their group. */
export async function enqueueLast<Payload>(
  executor: Executor,
  { name, maxAttempts = 10 }: Pick<Job<Payload>, 'name'> & Partial<Pick<Job<Payload>, 'maxAttempts'>>,
  payloads: readonly Payload[],
): Promise<void> {
  const texts = sql.param(payloads.map((payload) => JSON.stringify(payload)));
  await executor.execute(sql`
    SELECT add_job(${name}, p::json, p_max_attempts => ${maxAttempts}, p_last => true, p_account => ${askingAccount()})
    FROM unnest(${texts}::text[]) AS p`);
}
