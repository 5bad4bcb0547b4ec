import { sql } from 'drizzle-orm';
import type { z } from 'zod';
import type { Executor } from '#src/database/client.ts';

/** Where jobs run: each group has places of its own, so that one that hangs holds up nothing of another. */
export type JobGroup = 'mails' | 'deletions' | 'payments' | 'other';

/** What a job may know of the run that it is in. */
export interface JobRun {
  /** Names the job among all that there ever were; the same for each attempt. */
  readonly id: string;
  /** 1 at the first one. */
  readonly attempt: number;
  /** Whether the job is not tried again when this run fails. */
  readonly last: boolean;
}

/** A kind of job. Payloads hold IDs only: a secret in a payload would stand in the database in clear. */
export interface Job<Payload> {
  readonly name: string;
  readonly payload: z.ZodType<Payload>;
  readonly maxAttempts: number;
  /** `other` unless said otherwise. */
  readonly group?: JobGroup;
  readonly work: (payload: Payload, run: JobRun) => Promise<void>;
}

/** What runs again and again without being asked. */
export interface RecurringJob {
  readonly name: string;
  /** As a line of a crontab begins: minute and hour in UTC, of every day. `*`, a number, or for minutes `*\/10`. */
  readonly schedule: string;
  readonly group?: JobGroup;
  readonly work: () => Promise<void>;
}

// biome-ignore lint/suspicious/noExplicitAny: jobs of different payloads stand in one list; each checks its own
export type AnyJob = Job<any>;

export function defineJob<Payload>(job: Job<Payload>): Job<Payload> {
  return job;
}

/**
 * A fault that trying again would not change: the job is given up at once. Its message is stored and shown to operators,
 * so it names no address and no secret.
 */
export class GivenUp extends Error {}

interface EnqueueOptions {
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
  const { runAtMs = null, maxAttempts = job.maxAttempts ?? 10, key = null } = options;
  await executor.execute(sql`
    SELECT add_job(${job.name}, ${JSON.stringify(payload)}::json, ${runAtMs}::bigint, ${maxAttempts}::integer, ${key}::text)`);
}

/** Enqueues many jobs in the caller's transaction, to run when nothing else of their group waits. */
export async function enqueueLast<Payload>(
  executor: Executor,
  job: { readonly name: string; readonly maxAttempts: number; readonly payload: z.ZodType<Payload> },
  payloads: readonly Payload[],
): Promise<void> {
  const texts = sql.param(payloads.map((payload) => JSON.stringify(payload)));
  await executor.execute(sql`
    SELECT add_job(${job.name}, p::json, p_max_attempts => ${job.maxAttempts}, p_last => true)
    FROM unnest(${texts}::text[]) AS p`);
}
