import type { Pool } from 'pg';
import type { Database } from '#src/database/client.ts';
import { inChunks } from '#src/database/in-chunks.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';
import { lifeOf } from '#src/voting-events/lifecycle.ts';

/** Time limit per event and run, so that a large event does not hold up other events; the next run continues. */
const DROPPING_MS = 20_000;
/** Ballots per statement. Dropping a paid ballot with credits takes some milliseconds; a statement has three seconds. */
const DROPPED_TOGETHER = 100;

/** Events with ballots that can no longer be confirmed: a day old, or past the grace period after the close. */
async function listEventsWithExpiredBallots(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(`
    SELECT DISTINCT voting_event_id AS id FROM (
      SELECT b.voting_event_id FROM pending_ballots b JOIN voting_events e ON e.id = b.voting_event_id AND e.deleted_at IS NULL
      WHERE b.cast_at <= now_ms() - pending_ballot_ms() ORDER BY b.cast_at LIMIT 10000) AS old
    UNION
    SELECT e.id FROM voting_events e
    WHERE is_final(${lifeOf('e')}, now_ms())
      AND e.deleted_at IS NULL AND EXISTS (SELECT 1 FROM pending_ballots b WHERE b.voting_event_id = e.id)`);
  return rows.map(({ id }) => id);
}

/** Drops an event's ballots that can no longer be confirmed, in chunks, and refunds their payments. */
async function dropExpiredBallots(pool: Pool, eventId: string): Promise<void> {
  await inChunks(
    async (maxRows) => {
      const text = 'SELECT drop_expired_ballots($1, $2) AS dropped';
      const { rows } = await pool.query<{ dropped: number }>(text, [eventId, maxRows]);
      return rows[0]?.dropped ?? 0;
    },
    DROPPING_MS,
    DROPPED_TOGETHER,
  );
}

/** Drops ballots that can no longer be confirmed, of all events. A failure in one event does not stop the others. */
export async function dropAllExpiredBallots({ db, log }: { readonly db: Database; readonly log: Log }): Promise<void> {
  let failed = 0;
  for (const eventId of await listEventsWithExpiredBallots(db.$client)) {
    try {
      await dropExpiredBallots(db.$client, eventId);
    } catch (fault) {
      failed += 1;
      log.error({ event: eventId, fault: summariseFault(fault) }, 'expired ballots could not be dropped');
    }
  }
  if (failed > 0) throw new Error(`expired ballots of ${failed} events could not be dropped`);
}
