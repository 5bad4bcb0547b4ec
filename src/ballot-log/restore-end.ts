import { sql } from 'drizzle-orm';
import { inTransaction } from '#src/database/client.ts';
import { defineJob, type Job } from '#src/jobs/queue.ts';
import { isGenuineEvent } from '#src/voting-events/event-tag.ts';
import { NOTE_FORGED_ROWS } from '#src/voting-events/forged-rows.ts';
import { findEventById, lockEvent } from '#src/voting-events/repository.ts';
import { type CheckDeps, changeOf, checkLog, END_MOVED } from './check-log.ts';
import { raiseAlarm } from './check-repository.ts';
import { waitForSequencer } from './repository.ts';

/** If direct SQL moved the end, restores it by log and MAC, so that casts continue (completions 6.3). The alarm stays until a check. */
export async function restoreEnd(deps: CheckDeps, eventId: string): Promise<void> {
  if ((await checkLog(deps, eventId)) !== END_MOVED) return;
  await inTransaction(deps.db, async (tx) => {
    await waitForSequencer(tx, eventId);
    const event = await lockEvent(tx, eventId);
    const { rows } = await tx.execute<{ data: Buffer }>(sql`
      SELECT data FROM log_leaves WHERE voting_event_id = ${eventId}
        AND (position('"t":"open"'::bytea IN data) > 0 OR position('"t":"config"'::bytea IN data) > 0)
      ORDER BY leaf_index DESC LIMIT 1`);
    const said = rows[0] === undefined ? undefined : changeOf(rows[0].data);
    if (event === undefined || said === undefined) return;
    const { end } = said;
    const before = [
      { endsAt: end, closedAt: null },
      { endsAt: null, closedAt: end },
      { endsAt: event.endsAt, closedAt: end },
      { endsAt: end, closedAt: event.closedAt },
    ].find((columns) => isGenuineEvent(deps.secrets, { ...event, ...columns }));
    if (before === undefined) return;
    await tx.execute(sql`
      UPDATE voting_events SET ends_at = ${before.endsAt}::bigint, closed_at = ${before.closedAt}::bigint,
        paper_version = paper_version + 1 WHERE id = ${eventId}`);
    await tx.execute(sql`UPDATE ballot_logs SET ends_at = ${end}::bigint WHERE voting_event_id = ${eventId}`);
  });
}

/** Marks an event as disputed after a request met a row that the service did not write, and restores an end that direct SQL moved. */
export const noteForgedRowsJob = (deps: CheckDeps): Job<{ readonly eventId: string }> =>
  defineJob({
    ...NOTE_FORGED_ROWS,
    async work({ eventId }) {
      await raiseAlarm(deps, eventId, { alarm: 'rows_disagree' });
      const event = await findEventById(deps.db, eventId);
      if (event !== undefined && !isGenuineEvent(deps.secrets, event)) await restoreEnd(deps, eventId);
    },
  });
