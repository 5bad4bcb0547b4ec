import type { Pool } from 'pg';
import { type Log, summariseFault } from '#src/platform/log.ts';

const SEEN_EVERY_MS = 2_000;
/** A runner that was not seen for so long is dead. A few beats more than one, so that a slow statement makes no living runner look dead. */
const DEAD_AFTER_MS = 10_000;
/** How often locks are looked for whose holder was never seen: this reads the whole queue. */
const LOOK_FOR_LOST_EVERY = 30;
/** How often this process compares what it holds with what it does. */
const LOOK_FOR_OWN_EVERY = 3;

/**
 * Keeps the list of runners that are alive, and frees what dead ones held: those of a killed process, of a server that
 * a backup was taken of, of a runner that was given up here. A timer of the process does it, never a job: a queue that
 * stands still could not free itself.
 */
export class LivingRunners {
  readonly #pool: Pool;
  readonly #log: Log;
  readonly #isUnderWay: (jobId: string) => boolean;
  readonly #own = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> | undefined;
  #beats = 0;

  /** @param isUnderWay whether a job of this ID runs in this process */
  constructor(pool: Pool, log: Log, isUnderWay: (jobId: string) => boolean) {
    this.#pool = pool;
    this.#log = log;
    this.#isUnderWay = isUnderWay;
  }

  /** Frees what the dead hold now, and goes on doing so. */
  async start(): Promise<void> {
    await this.#beatOnce();
    this.#timer = setInterval(() => void this.#beatOnce(), SEEN_EVERY_MS);
  }

  /** A runner that began here. */
  add(id: string): void {
    this.#own.add(id);
  }

  /** Gives up a runner: what it holds is free. Where the database does not answer now, the others find it dead. */
  async remove(ids: readonly string[]): Promise<void> {
    for (const id of ids) this.#own.delete(id);
    await this.#pool.query(
      `WITH gone AS (DELETE FROM job_runners WHERE id = ANY ($1)) SELECT graphile_worker.force_unlock_workers($1)`,
      [ids],
    );
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Never throws, and never runs twice at a time. */
  #beatOnce(): Promise<void> {
    this.#beating ??= this.#beat()
      .catch((fault: unknown) =>
        this.#log.warn({ fault: summariseFault(fault) }, 'runners of jobs were not looked after'),
      )
      .finally(() => {
        this.#beating = undefined;
      });
    return this.#beating;
  }

  async #beat(): Promise<void> {
    await this.#pool.query(
      `INSERT INTO job_runners (id, seen_at) SELECT id, now_ms() FROM unnest($1::text[]) AS id
       ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`,
      [[...this.#own]],
    );
    const { rows } = await this.#pool.query<{ freed: number }>(
      `WITH dead AS (DELETE FROM job_runners WHERE seen_at < now_ms() - $1 RETURNING id)
       SELECT count(graphile_worker.force_unlock_workers(ids))::int AS freed FROM (SELECT array_agg(id) AS ids FROM dead) AS d
       WHERE ids IS NOT NULL`,
      [DEAD_AFTER_MS],
    );
    if ((rows[0]?.freed ?? 0) > 0) this.#log.warn('jobs of a runner that died are free again');
    if (this.#beats % LOOK_FOR_LOST_EVERY === 0) await this.#freeLost();
    if (this.#beats % LOOK_FOR_OWN_EVERY === 0) await this.#freeUnknown();
    this.#beats += 1;
  }

  /**
   * Jobs that were given to a runner of this process which never heard of it: the connection broke between the two. Also
   * ones whose end could not be written down. Not the newest: their answer may be on its way.
   */
  async #freeUnknown(): Promise<void> {
    const own = [...this.#own];
    const { rows } = await this.#pool.query<{ id: string }>(
      `SELECT id::text FROM graphile_worker._private_jobs
       WHERE locked_by = ANY ($1) AND locked_at < now() - make_interval(secs => $2::double precision / 1000)`,
      [own, DEAD_AFTER_MS],
    );
    const unknown = rows.map(({ id }) => id).filter((id) => !this.#isUnderWay(id));
    if (unknown.length === 0) return;
    await this.#pool.query(
      'UPDATE graphile_worker._private_jobs SET locked_by = NULL, locked_at = NULL WHERE id = ANY ($1::bigint[]) AND locked_by = ANY ($2)',
      [unknown, own],
    );
    this.#log.warn({ count: unknown.length }, 'jobs that were held and not run are free again');
  }

  /** Locks of holders that are not on the list. Not the newest: their holder may be about to be written there. */
  async #freeLost(): Promise<void> {
    await this.#pool.query(
      `SELECT graphile_worker.force_unlock_workers(array_agg(DISTINCT locked_by)) FROM graphile_worker.jobs
       WHERE locked_by IS NOT NULL AND locked_at < now() - make_interval(secs => $1::double precision / 1000)
         AND NOT EXISTS (SELECT 1 FROM job_runners r WHERE r.id = locked_by)
       HAVING count(*) > 0`,
      [DEAD_AFTER_MS],
    );
  }
}
