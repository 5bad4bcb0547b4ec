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

/** Heads and weight of all confirmed ballots of the event `e`, sealed or waiting. */
const BOX = sql`(SELECT count(*) AS present, coalesce(sum(x.weight_micro), 0) AS weight FROM (
  SELECT weight_micro FROM ballots WHERE voting_event_id = e.id
  UNION ALL SELECT weight_micro FROM ballot_queue WHERE voting_event_id = e.id) AS x)`;

/**
 * Those who took part in the election `e`, and their weight, which is frozen; the weight is null where one of them is on no
 * roll any more, and both are null in a poll.
 */
const TURNOUT = sql`(SELECT CASE WHEN e.type = 'election' THEN count(*) END AS took_part,
    CASE WHEN e.type = 'election' AND count(*) = count(v.id) THEN coalesce(sum(v.weight_micro), 0) END AS weight
  FROM participation p LEFT JOIN voters v ON v.voting_event_id = p.voting_event_id AND v.id = p.participant
  WHERE e.type = 'election' AND p.voting_event_id = e.id)`;

/** The weight that the ballots have to have: 1 each in a poll. Null where it is not known. */
const DUE_WEIGHT = sql`CASE WHEN e.type = 'poll' THEN 1000000 * box.present ELSE turnout.weight END`;

/** Whether ballots and participants agree in weight, at one moment. */
export async function agreeInWeight(executor: Executor, eventId: string): Promise<boolean> {
  const { rows } = await executor.execute<{ differs: boolean | null }>(sql`
    SELECT box.weight <> ${DUE_WEIGHT} AS differs
    FROM voting_events e CROSS JOIN LATERAL ${BOX} AS box CROSS JOIN LATERAL ${TURNOUT} AS turnout WHERE e.id = ${eventId}`);
  return rows[0]?.differs !== true;
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
      WHEN box.present < l.confirmed THEN 'a signature for more ballots than are there'
      WHEN turnout.took_part < box.present THEN 'a ballot of nobody'
      WHEN turnout.took_part > box.present THEN 'a participant without a ballot'
      WHEN box.weight <> ${DUE_WEIGHT} THEN 'a weight that no participant has'
    END AS surplus
    FROM ballot_logs l JOIN voting_events e ON e.id = l.voting_event_id
    CROSS JOIN LATERAL ${BOX} AS box CROSS JOIN LATERAL ${TURNOUT} AS turnout
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
