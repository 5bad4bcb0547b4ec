import { sql } from 'drizzle-orm';
import { inTransaction } from '#src/database/client.ts';
import { lockEvent } from '#src/voting-events/repository.ts';
import { type CheckDeps, changeOf, checkLog, END_MOVED } from './check-log.ts';
import { waitForSequencer } from './repository.ts';

/**
 * Gives an event back the end that its log says, where SQL moved it and the log itself is whole: casts go on by that
 * (completions 6.3). The alarm stays until the next check.
 */
export async function restoreEnd(deps: CheckDeps, eventId: string): Promise<void> {
  if ((await checkLog(deps, eventId)) !== END_MOVED) return;
  await inTransaction(deps.db, async (tx) => {
    await waitForSequencer(tx, eventId);
    if ((await lockEvent(tx, eventId)) === undefined) return;
    const { rows } = await tx.execute<{ data: Buffer }>(sql`
      SELECT data FROM log_leaves WHERE voting_event_id = ${eventId}
        AND (position('"t":"open"'::bytea IN data) > 0 OR position('"t":"config"'::bytea IN data) > 0)
      ORDER BY leaf_index DESC LIMIT 1`);
    const said = rows[0] === undefined ? undefined : changeOf(rows[0].data);
    if (said === undefined) return;
    await tx.execute(sql`
      UPDATE voting_events SET ends_at = ${said.end}::bigint, closed_at = CASE WHEN ${said.end}::bigint <= now_ms() THEN ${said.end}::bigint END,
        paper_version = paper_version + 1 WHERE id = ${eventId}`);
    await tx.execute(sql`UPDATE ballot_logs SET ends_at = ${said.end}::bigint WHERE voting_event_id = ${eventId}`);
  });
}
