import type { Database } from '#src/database/client.ts';
import type { Readings } from '#src/http/metrics.ts';
import { countFailedJobs } from '#src/jobs/inspect.ts';

/**
 * The figures that only the database knows. Each is bounded by what waits, not by what there is.
 * @param tasks what jobs there are: those that never failed are shown with 0
 */
export async function readFigures(db: Database, tasks: readonly string[] = []): Promise<Readings> {
  const { rows } = await db.$client.query<{ job: string; webhooks: string; ballots: string; alarms: string }>(`
    SELECT
      (SELECT coalesce(extract(epoch FROM now() - min(run_at)), 0) FROM graphile_worker.jobs
        WHERE run_at <= now() AND locked_at IS NULL AND attempts < max_attempts)::text AS job,
      (SELECT count(*) FROM webhook_deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id AND e.status = 'active'
        WHERE d.status = 'pending' AND d.next_try_at <= now_ms())::text AS webhooks,
      (SELECT count(*) FROM ballot_queue)::text AS ballots,
      (SELECT count(*) FROM log_alarms)::text AS alarms`);
  const [row] = rows;
  const failed = await countFailedJobs(db);
  return {
    failedJobs: new Map([...tasks.map((task) => [task, 0] as const), ...failed]),
    poolWaiting: db.$client.waitingCount,
    oldestJobSeconds: Number(row?.job ?? 0),
    pendingWebhooks: Number(row?.webhooks ?? 0),
    unsealedBallots: Number(row?.ballots ?? 0),
    logAlarms: Number(row?.alarms ?? 0),
  };
}
