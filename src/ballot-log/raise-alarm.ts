import type { Database } from '#src/database/client.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { Log } from '#src/platform/log.ts';
import { insertAlarm } from './check-repository.ts';

/**
 * Says that a log is not what was signed: a line of level error with the field `alarm`, and a row that the metric
 * `ballot_log_alarms` counts in every process, until a check finds the log well again.
 */
export async function raiseAlarm(
  deps: { readonly db: Database; readonly clock: Clock; readonly log: Log },
  eventId: string,
  finding: { readonly alarm: 'ballot_log_changed' | 'ballot_log_set_back'; readonly [detail: string]: unknown },
): Promise<void> {
  deps.log.error({ event: eventId, ...finding }, 'a ballot log is not what was signed');
  await insertAlarm(deps.db, eventId, finding.alarm, deps.clock.now());
}
