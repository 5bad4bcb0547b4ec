import { sql } from 'drizzle-orm';
import { type Executor, readNumber } from '#src/database/client.ts';
import { DAY_MS } from '#src/platform/clock.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { hasApproved } from '#src/voters/check-roll.ts';
import { lifeOf } from '#src/voting-events/lifecycle.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';

// Queries for the logs that must be opened, filled, closed or checked.

const LIFE = sql.raw(lifeOf('e'));
/** SQL condition on an event `e`: no ballot can come any more. */
export const FINAL = sql`is_final(${LIFE}, now_ms())`;

/**
 * SQL condition on an event `e` and its log `l` (or none): there is no `close` leaf at `closed_size`. Approximate, because only `findClose`
 * verifies the leaf. From a day after the end the column is believed, so that the leaves of all past events are not searched each minute.
 * `OFFSET 0` makes PostgreSQL look up one leaf of each event instead of searching every leaf of every event.
 */
const NOT_CLOSED = sql`(l.closed_size IS NULL OR (coalesce(event_final_at(e.ends_at, e.closed_at, e.rehearsal_since), now_ms()) > now_ms() - ${DAY_MS}
  AND NOT EXISTS (SELECT 1 FROM log_leaves x WHERE x.voting_event_id = l.voting_event_id AND x.leaf_index = l.closed_size - 1
    AND position('"t":"close"'::bytea IN x.data) > 0 OFFSET 0)))`;

/** An election with an end and fewer approved voters is sealed only at its close: earlier batches would narrow down who voted when. */
const SMALLEST_ROLL_SEALED_EARLY = 30;

/** SQL condition on an event `e`: its ballots are sealed only at its close (completions 6.2). */
export const SEALED_ONCE = `(e.type = 'election' AND e.ends_at IS NOT NULL AND ${SMALLEST_ROLL_SEALED_EARLY} > (SELECT heads FROM electorate(e.id)))`;

/** SQL. The queued ballots of each event, aggregated in one scan for all events. */
const WAITING = sql`(SELECT voting_event_id, count(*) AS ballots,
  count(*) FILTER (WHERE NOT set_back) AS to_seal, min(due_at) FILTER (WHERE NOT set_back) AS due_at FROM ballot_queue GROUP BY voting_event_id)`;

/** SQL condition on a log `l` and the event's queue `q`: ballots were confirmed since the head was signed. */
const NOT_SIGNED_FOR = sql`l.confirmed <> l.ballots + coalesce(q.ballots, 0)`;

/** SQL condition on an event `e` and its log `l`: an organizer changed the roll since the log last recorded it. */
const ROLL_CHANGED = sql`e.type = 'election'
  AND (l.roll_identity_changes, l.roll_other_changes) IS DISTINCT FROM (e.identity_changes, e.roll_changes)`;

/** Like `SEALED_ONCE`, but counts only authentic rows of the roll, because direct SQL could change the stored figures. */
export const isSealedOnce = async (executor: Executor, secrets: Secrets, event: VotingEvent): Promise<boolean> =>
  event.type === 'election' &&
  event.endsAt !== null &&
  !(await hasApproved(executor, secrets, event.id, SMALLEST_ROLL_SEALED_EARLY));

/** Events with pending work: a log to open, append to, sign or close, or a roll to rewrite after the close. */
export async function listEventsToTend(executor: Executor, leastWhileOpen: number): Promise<string[]> {
  // The smallest batch to seal (completions 6.2); null if an event's ballots wait for the close.
  const leastToSeal = sql`CASE WHEN ${FINAL} OR q.due_at <= now_ms() THEN 1
    WHEN ${sql.raw(SEALED_ONCE)} THEN NULL ELSE ${leastWhileOpen}::integer END`;
  const { rows } = await executor.execute<{ id: string }>(sql`
    SELECT e.id FROM voting_events e LEFT JOIN ballot_logs l ON l.voting_event_id = e.id
    LEFT JOIN ${WAITING} AS q ON q.voting_event_id = e.id
    WHERE e.deleted_at IS NULL AND (e.rehearsal_since IS NOT NULL OR was_opened(${LIFE}, now_ms()) OR ${FINAL}) AND (
      l.size IS NULL OR (l.paper_version < e.paper_version AND ${NOT_CLOSED})
      OR (${FINAL} AND (${NOT_CLOSED}
        OR (e.type = 'election' AND e.rehearsal_since IS NULL AND (l.roll_scattered_at BETWEEN least(e.closed_at, e.ends_at) AND now_ms()) IS NOT TRUE)))
      OR (l.ends_at IS DISTINCT FROM least(e.closed_at, e.ends_at) AND ${NOT_CLOSED})
      OR coalesce(q.to_seal, 0) >= ${leastToSeal} OR ${NOT_SIGNED_FOR} OR (${ROLL_CHANGED} AND ${NOT_CLOSED})
      OR EXISTS (SELECT 1 FROM voided_ballots v WHERE v.voting_event_id = e.id AND v.leaf_index IS NULL))
    ORDER BY e.id`);
  return rows.map(({ id }) => id);
}

/** How many milliseconds the oldest overdue close of a log is late; 0 if none is overdue. */
export async function readCloseDue(executor: Executor): Promise<number> {
  const late = sql`SELECT now_ms() - min(event_final_at(e.ends_at, e.closed_at, e.rehearsal_since))
    FROM voting_events e LEFT JOIN ballot_logs l ON l.voting_event_id = e.id
    WHERE e.deleted_at IS NULL AND ${FINAL} AND ${NOT_CLOSED}`;
  return readNumber(executor, late);
}

/** Logs with a checkpoint since a time; all logs for 0. Leaves out rehearsals. */
export async function listLogs(executor: Executor, sinceMs: number): Promise<string[]> {
  const { rows } = await executor.execute<{ id: string }>(sql`
    SELECT l.voting_event_id AS id FROM ballot_logs l
    JOIN voting_events e ON e.id = l.voting_event_id AND e.deleted_at IS NULL AND e.rehearsal_since IS NULL WHERE EXISTS (
      SELECT 1 FROM log_checkpoints c WHERE c.voting_event_id = l.voting_event_id AND c.size = l.size AND c.created_at >= ${sinceMs})
    ORDER BY 1`);
  return rows.map(({ id }) => id);
}
