import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { SEALED_ONCE } from '#src/ballot-log/due-repository.ts';
import { LEAST_WHILE_OPEN } from '#src/ballot-log/seal-ballots.ts';
import type { RecurringJob } from '#src/jobs/queue.ts';
import { readSchedule } from '#src/jobs/run-jobs.ts';
import { lifeOf } from '#src/voting-events/lifecycle.ts';

interface Due {
  readonly jobs: boolean;
  readonly webhooks: boolean;
  readonly logs: boolean;
  readonly announcements: boolean;
  readonly payments: boolean;
  readonly ballots: boolean;
}

/** As the service's own queries have it: what a look at the clock would find to do. */
const FINAL = `event_status(${lifeOf('e')}, t.at) = 'closed' AND least(e.closed_at, e.ends_at) <= t.at - 15 * 60 * 1000`;
const DUE = `
  WITH t AS MATERIALIZED (SELECT now_ms() AS at)
  SELECT
    EXISTS (SELECT 1 FROM jobs j
      WHERE j.held_by IS NOT NULL OR (j.run_at <= now_ms() AND j.attempts < j.max_attempts)) AS jobs,
    EXISTS (SELECT 1 FROM webhook_deliveries d, t WHERE d.status = 'pending' AND d.next_try_at <= t.at
      AND EXISTS (SELECT 1 FROM webhook_endpoints w WHERE w.id = d.endpoint_id AND w.status = 'active')) AS webhooks,
    EXISTS (SELECT 1 FROM t, voting_events e LEFT JOIN ballot_logs l ON l.voting_event_id = e.id
      WHERE e.deleted_at IS NULL AND (e.opened_at IS NOT NULL OR (e.starts_at <= t.at AND e.ready)) AND (
        l.size IS NULL OR (l.closed_size IS NULL AND l.paper_version < e.paper_version)
        OR (${FINAL} AND (l.closed_size IS NULL
          OR (e.type = 'election' AND (l.roll_scattered_at IS NULL OR l.roll_scattered_at < least(e.closed_at, e.ends_at)))))
        OR (SELECT count(*) FROM ballot_queue q WHERE q.voting_event_id = e.id) >= CASE WHEN ${FINAL} THEN 1 WHEN ${SEALED_ONCE} THEN NULL ELSE ${LEAST_WHILE_OPEN} END
        OR EXISTS (SELECT 1 FROM voided_ballots v WHERE v.voting_event_id = e.id AND v.leaf_index IS NULL
          AND EXISTS (SELECT 1 FROM sealed_ballots(e.id) b WHERE b.code_tag = v.code_tag)))) AS logs,
    EXISTS (SELECT 1 FROM voting_events e, t WHERE (e.starts_at IS NOT NULL OR e.ends_at IS NOT NULL) AND e.rehearsal_since IS NULL
      AND event_status(${lifeOf('e')}, t.at) IN ('open', 'closed') AND e.announced_status IS DISTINCT FROM event_status(${lifeOf('e')}, t.at)) AS announcements,
    EXISTS (SELECT 1 FROM payment_attempts a, t WHERE a.check_at <= t.at) AS payments,
    EXISTS (SELECT 1 FROM pending_ballots b JOIN voting_events e ON e.id = b.voting_event_id, t
      WHERE b.cast_at <= t.at - 24 * 60 * 60 * 1000 OR (${FINAL})) AS ballots`;

/** The recurring work that each of them waits for. */
const WORK: Readonly<Record<Exclude<keyof Due, 'jobs' | 'webhooks'>, string>> = {
  logs: 'tend_ballot_logs',
  announcements: 'announce_timed_events',
  payments: 'reconcile_payments',
  ballots: 'drop_expired_ballots',
};
const POLL_MS = 3;
const PATIENCE_MS = 60_000;
/** One run of recurring work may leave something for the next; more than so many runs do not get on. */
const MOST_RUNS = 8;

/** The recurring jobs that are due on the way from one moment to another. */
export const passedBy = (jobs: readonly RecurringJob[], beforeMs: number, afterMs: number): string[] =>
  jobs.filter(({ schedule }) => readSchedule(schedule)(beforeMs) <= afterMs).map(({ name }) => name);

async function readDue(client: Client): Promise<Due> {
  const { rows } = await client.query<Due>({ name: 'driver_due', text: DUE });
  const [row] = rows;
  if (row === undefined) throw new Error('the database did not say what is due');
  return row;
}

async function enqueue(client: Client, names: readonly string[]): Promise<void> {
  const key = (name: string) => `driver:${name}`;
  await client.query('SELECT add_job(n, p_key => k) FROM unnest($1::text[], $2::text[]) AS w (n, k)', [
    names,
    names.map(key),
  ]);
}

/** Jobs whose time has come are not announced; the queue looks for them once a second. */
export async function wakeQueue(client: Client): Promise<void> {
  await client.query(`SELECT pg_notify('job_added', '')`);
}

/** Waits for the jobs that run, and no others. */
export async function waitForRunning(client: Client): Promise<void> {
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    const { rows } = await client.query('SELECT 1 FROM jobs WHERE held_by IS NOT NULL LIMIT 1');
    if (rows.length === 0 || Date.now() > until) return;
    await pause(POLL_MS);
  }
}

async function describe(client: Client): Promise<string> {
  const { rows } = await client.query(
    'SELECT name AS task, attempts, held_by IS NOT NULL AS running, last_error FROM jobs WHERE run_at <= now_ms() LIMIT 20',
  );
  return JSON.stringify(rows);
}

/**
 * Does what is due until nothing is.
 * @param first recurring work that must run in any case
 * @param messages waits for the providers' messages that are under way
 * @throws Error when it does not come to an end
 */
export async function settleAll(
  client: Client,
  first: readonly string[],
  messages: () => Promise<void>,
): Promise<void> {
  const until = Date.now() + PATIENCE_MS;
  const runs = new Map<string, number>();
  if (first.length > 0) await enqueue(client, first);
  let woken = false;
  for (;;) {
    await messages();
    const due = await readDue(client);
    if (!due.jobs && !due.webhooks) {
      const names = Object.entries(WORK).flatMap(([what, name]) => (due[what as keyof Due] ? [name] : []));
      if (names.length === 0) return;
      for (const name of names) {
        const times = (runs.get(name) ?? 0) + 1;
        runs.set(name, times);
        if (times > MOST_RUNS) throw new Error(`it does not settle: ${name} leaves something undone again and again`);
      }
      await enqueue(client, names);
    } else if (due.jobs && !woken) {
      woken = true;
      await wakeQueue(client);
    }
    if (Date.now() > until) throw new Error(`it does not settle: ${JSON.stringify(due)} ${await describe(client)}`);
    await pause(POLL_MS);
  }
}
