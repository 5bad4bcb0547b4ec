import { sql } from 'drizzle-orm';
import type { Database } from '#src/database/client.ts';

/** `failed`: used up its attempts, and runs again only by hand. `retrying`: failed before, and is retried. */
export type JobState = 'waiting' | 'running' | 'retrying' | 'failed';

interface WaitingJob extends Record<string, unknown> {
  readonly id: string;
  readonly task: string;
  readonly state: JobState;
  readonly attempts: number;
  readonly maxAttempts: number;
  /** When the job is or was due, Unix ms. */
  readonly runAt: number;
  readonly lastError: string | null;
}

const STATE = sql`CASE WHEN held_by IS NOT NULL THEN 'running' WHEN attempts >= max_attempts THEN 'failed'
  WHEN attempts > 0 THEN 'retrying' ELSE 'waiting' END`;
const COLUMNS = sql`id::text, name AS task, ${STATE} AS state, attempts, max_attempts AS "maxAttempts", run_at AS "runAt",
  last_error AS "lastError"`;

/** The driver gives a `bigint` as text. */
const view = (row: WaitingJob): WaitingJob => ({ ...row, runAt: Number(row.runAt) });

interface JobFilter {
  readonly state?: JobState;
  readonly task?: string;
  readonly limit?: number;
}

/** Queued, running and failed jobs, oldest first. */
export async function listJobs(db: Database, { state, task, limit = 1_000 }: JobFilter = {}): Promise<WaitingJob[]> {
  const { rows } = await db.execute<WaitingJob>(sql`
    SELECT ${COLUMNS} FROM jobs
    WHERE (${state ?? null}::text IS NULL OR ${STATE} = ${state ?? null})
      AND (${task ?? null}::text IS NULL OR name = ${task ?? null})
    ORDER BY jobs.id LIMIT ${limit}`);
  return rows.map(view);
}

/** Makes a job due now, with all its attempts. @returns undefined if it is running or deleted */
export async function retryJob(db: Database, id: string): Promise<WaitingJob | undefined> {
  const { rows } = await db.execute<WaitingJob>(sql`SELECT ${COLUMNS} FROM run_jobs_again(ARRAY[${id}::bigint])`);
  return rows.map(view)[0];
}

const RETRIED_TOGETHER = 10_000;

/** Makes every job due now that has used up its attempts. @returns the number of these jobs */
export async function retryFailedJobs(db: Database): Promise<number> {
  const last = sql`SELECT max(id) FROM failed`;
  let retried = 0;
  // In steps, each well within the time limit of a statement, and by ID: a job that fails meanwhile is not run again.
  for (let after: string | null = '0'; after !== null; ) {
    const { rows }: { rows: { last: string | null; count: number }[] } = await db.execute(sql`
      WITH failed AS MATERIALIZED (
        SELECT id FROM jobs WHERE attempts >= max_attempts AND held_by IS NULL AND id > ${after}::bigint
        ORDER BY id LIMIT ${RETRIED_TOGETHER})
      SELECT (${last})::text AS last, (SELECT count(*)::int FROM run_jobs_again(ARRAY(SELECT id FROM failed))) AS count`);
    after = rows[0]?.last ?? null;
    retried += rows[0]?.count ?? 0;
  }
  return retried;
}

export async function countFailedJobs(db: Database): Promise<Map<string, number>> {
  const { rows } = await db.execute<{ task: string; count: string }>(sql`
    SELECT name AS task, count(*)::text AS count FROM jobs WHERE attempts >= max_attempts AND held_by IS NULL GROUP BY name`);
  return new Map(rows.map(({ task, count }) => [task, Number(count)]));
}
