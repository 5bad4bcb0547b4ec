import { and, eq, sql } from 'drizzle-orm';
import type { Executor } from '#src/database/client.ts';
import { logAlarms, logTiles } from './tables.ts';

/** A stored tile with the root above it. */
export async function findTileRow(
  executor: Executor,
  eventId: string,
  level: number,
  index: number,
): Promise<{ hashes: Buffer; root: Buffer } | undefined> {
  const [row] = await executor
    .select({ hashes: logTiles.hashes, root: logTiles.root })
    .from(logTiles)
    .where(and(eq(logTiles.votingEventId, eventId), eq(logTiles.level, level), eq(logTiles.tileIndex, index)));
  return row;
}

/** What stands in the tables of a log beyond its head, or, of an election, beyond those who took part; undefined for nothing. */
export async function findSurplus(executor: Executor, eventId: string): Promise<string | undefined> {
  const { rows } = await executor.execute<{ surplus: string | null }>(sql`
    SELECT CASE
      WHEN EXISTS (SELECT 1 FROM log_leaves x WHERE x.voting_event_id = l.voting_event_id AND x.leaf_index >= l.size) THEN 'a leaf'
      WHEN EXISTS (SELECT 1 FROM log_tiles x WHERE x.voting_event_id = l.voting_event_id
        AND x.tile_index >= div(l.size::numeric, power(256::numeric, x.level + 1))) THEN 'a tile'
      WHEN EXISTS (SELECT 1 FROM log_checkpoints x WHERE x.voting_event_id = l.voting_event_id AND x.size > l.size) THEN 'a checkpoint'
      WHEN EXISTS (SELECT 1 FROM ballots x WHERE x.voting_event_id = l.voting_event_id AND x.leaf_index >= l.size) THEN 'a ballot'
      WHEN present < l.confirmed THEN 'a signature for more ballots than are there'
      WHEN took_part < present THEN 'a ballot of nobody'
      WHEN took_part > present THEN 'a participant without a ballot'
    END AS surplus
    FROM ballot_logs l JOIN voting_events e ON e.id = l.voting_event_id
    CROSS JOIN LATERAL (SELECT (SELECT count(*) FROM ballots x WHERE x.voting_event_id = e.id)
      + (SELECT count(*) FROM ballot_queue x WHERE x.voting_event_id = e.id) AS present) AS box
    CROSS JOIN LATERAL (SELECT CASE WHEN e.type = 'election'
      THEN (SELECT count(*) FROM participation x WHERE x.voting_event_id = e.id) END AS took_part) AS roll
    WHERE l.voting_event_id = ${eventId}`);
  return rows[0]?.surplus ?? undefined;
}

/** Notes that a log is not what was signed; the first finding stands until a check finds the log well. */
export async function insertAlarm(executor: Executor, eventId: string, alarm: string, nowMs: number): Promise<void> {
  await executor.insert(logAlarms).values({ votingEventId: eventId, alarm, foundAt: nowMs }).onConflictDoNothing();
}

export async function deleteAlarm(executor: Executor, eventId: string): Promise<void> {
  await executor.delete(logAlarms).where(eq(logAlarms.votingEventId, eventId));
}
