import type { Database } from '#src/database/client.ts';

/** Fewer than this many are not moved while an event is open: alone, a ballot's move would tell when it came. */
const LEAST_WHILE_OPEN = 3;

/** Moves waiting ballots of every event into the box, shuffled; at the end of the time after the close, whatever is left. */
export async function sealWaitingBallots(db: Database): Promise<void> {
  const { rows } = await db.$client.query<{ id: string; over: boolean }>(`
    SELECT e.id, event_status(e, now_ms()) = 'closed' AND least(e.closed_at, e.ends_at) <= now_ms() - 15 * 60 * 1000 AS over
    FROM voting_events e WHERE EXISTS (SELECT 1 FROM ballot_queue q WHERE q.voting_event_id = e.id)`);
  for (const { id, over } of rows) {
    await db.$client.query('SELECT seal_ballots($1, $2)', [id, over ? 1 : LEAST_WHILE_OPEN]);
  }
}
