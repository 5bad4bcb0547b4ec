import { sql } from 'drizzle-orm';
import type { Database } from '#src/database/client.ts';

export interface WaitingJob extends Record<string, unknown> {
  readonly id: string;
  readonly task: string;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly runAt: number;
  readonly lastError: string | null;
}

const COLUMNS = sql`id::text, task_identifier AS task, attempts, max_attempts AS "maxAttempts",
  (extract(epoch FROM run_at) * 1000)::bigint::text AS "runAt", last_error AS "lastError"`;

type Row = { id: string; task: string; attempts: number; maxAttempts: number; runAt: string; lastError: string | null };
const view = (row: Row): WaitingJob => ({ ...row, runAt: Number(row.runAt) });

/** Jobs that wait, run or have failed, oldest first. */
export async function listJobs(db: Database): Promise<WaitingJob[]> {
  const { rows } = await db.execute<Row>(sql`SELECT ${COLUMNS} FROM graphile_worker.jobs ORDER BY id`);
  return rows.map(view);
}

/** Lets a job run again now, with all its attempts. Undefined when it is running or gone. */
export async function retryJob(db: Database, id: string): Promise<WaitingJob | undefined> {
  const { rows } = await db.execute<{ id: string }>(
    sql`SELECT id::text FROM graphile_worker.reschedule_jobs(ARRAY[${id}::bigint], run_at => now(), attempts => 0)`,
  );
  return rows.length === 0 ? undefined : (await listJobs(db)).find((job) => job.id === id);
}
