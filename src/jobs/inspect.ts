import { sql } from 'drizzle-orm';
import type { Database } from '#src/database/client.ts';

/** `failed` jobs are not tried again by themselves; `retrying` ones failed before and are. */
export type JobState = 'waiting' | 'running' | 'retrying' | 'failed';

interface WaitingJob extends Record<string, unknown> {
  readonly id: string;
  readonly task: string;
  readonly state: JobState;
  readonly attempts: number;
  readonly maxAttempts: number;
  /** When it is due, or was when it last ran. */
  readonly runAt: number;
  readonly lastError: string | null;
}

const STATE = sql`CASE WHEN locked_at IS NOT NULL THEN 'running' WHEN attempts >= max_attempts THEN 'failed'
  WHEN attempts > 0 THEN 'retrying' ELSE 'waiting' END`;
const COLUMNS = sql`id::text, task_identifier AS task, ${STATE} AS state, attempts, max_attempts AS "maxAttempts",
  (extract(epoch FROM run_at) * 1000)::bigint::text AS "runAt", last_error AS "lastError"`;

interface Row extends Record<string, unknown> {
  readonly id: string;
  readonly task: string;
  readonly state: JobState;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly runAt: string;
  readonly lastError: string | null;
}
const view = (row: Row): WaitingJob => ({ ...row, runAt: Number(row.runAt) });

interface JobFilter {
  readonly state?: JobState;
  readonly task?: string;
  readonly limit?: number;
}

/** Jobs that wait, run or have failed, oldest first. */
export async function listJobs(db: Database, { state, task, limit = 1_000 }: JobFilter = {}): Promise<WaitingJob[]> {
  const { rows } = await db.execute<Row>(sql`
    SELECT ${COLUMNS} FROM graphile_worker.jobs
    WHERE (${state ?? null}::text IS NULL OR ${STATE} = ${state ?? null})
      AND (${task ?? null}::text IS NULL OR task_identifier = ${task ?? null})
    ORDER BY graphile_worker.jobs.id LIMIT ${limit}`);
  return rows.map(view);
}

/** Lets a job run again now, with all its attempts. Undefined when it is running or gone. */
export async function retryJob(db: Database, id: string): Promise<WaitingJob | undefined> {
  const { rows } = await db.execute<Row>(sql`
    WITH again AS (SELECT id FROM graphile_worker.reschedule_jobs(ARRAY[${id}::bigint], run_at => now(), attempts => 0))
    SELECT ${COLUMNS} FROM graphile_worker.jobs WHERE id IN (SELECT id FROM again)`);
  // The statement began before the job changed: what it now is is known.
  return rows.map((row) => view({ ...row, state: 'waiting', attempts: 0 }))[0];
}

/** Lets every job run again that has used up its attempts. Returns how many. */
export async function retryFailedJobs(db: Database): Promise<number> {
  const { rows } = await db.execute<{ count: string }>(sql`
    SELECT count(*)::text FROM graphile_worker.reschedule_jobs(
      (SELECT array_agg(id) FROM graphile_worker.jobs WHERE attempts >= max_attempts AND locked_at IS NULL),
      run_at => now(), attempts => 0)`);
  return Number(rows[0]?.count ?? 0);
}

/** How many jobs of each task are not tried again. */
export async function countFailedJobs(db: Database): Promise<Map<string, number>> {
  const { rows } = await db.execute<{ task: string; count: string }>(sql`
    SELECT task_identifier AS task, count(*)::text AS count FROM graphile_worker.jobs
    WHERE attempts >= max_attempts AND locked_at IS NULL GROUP BY task_identifier`);
  return new Map(rows.map(({ task, count }) => [task, Number(count)]));
}
