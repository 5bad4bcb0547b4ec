import type { Database } from '#src/database/client.ts';
import type { Readings } from '#src/http/metrics.ts';

/** The figures that only the database knows. Each is bounded by what waits, not by what there is. */
export async function readFigures(db: Database): Promise<Readings> {
  const { rows } = await db.$client.query<{ job: string; webhooks: string; ballots: string; alarms: string }>(`
    SELECT
      (SELECT coalesce(extract(epoch FROM now() - min(run_at)), 0) FROM graphile_worker.jobs
        WHERE run_at <= now() AND locked_at IS NULL AND attempts < max_attempts)::text AS job,
      (SELECT count(*) FROM webhook_deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id AND e.status = 'active'
        WHERE d.status = 'pending' AND d.next_try_at <= now_ms())::text AS webhooks,
      (SELECT count(*) FROM ballot_queue)::text AS ballots,
      (SELECT count(*) FROM log_alarms)::text AS alarms`);
  const [row] = rows;
  return {
    poolWaiting: db.$client.waitingCount,
    oldestJobSeconds: Number(row?.job ?? 0),
    pendingWebhooks: Number(row?.webhooks ?? 0),
    unsealedBallots: Number(row?.ballots ?? 0),
    logAlarms: Number(row?.alarms ?? 0),
  };
}
