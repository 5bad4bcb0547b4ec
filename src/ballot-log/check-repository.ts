import { and, eq, sql } from 'drizzle-orm';
import { blockSums } from '#src/ballots/box.ts';
import type { Database, Executor } from '#src/database/client.ts';
import type { Log } from '#src/platform/log.ts';
import { markDisputed } from '#src/voting-events/repository.ts';
import { logTiles } from './tables.ts';

/**
 * Says that a log or the rows that it depends on are not what the service wrote: a line of level error with the field `alarm`, and the
 * event is `disputed` and counted by the metric `ballot_log_alarms`, until a check finds it well again.
 */
export async function raiseAlarm(
  deps: { readonly db: Database; readonly log: Log },
  eventId: string,
  finding: {
    readonly alarm: 'ballot_log_changed' | 'ballot_log_set_back' | 'rows_disagree';
    readonly [detail: string]: unknown;
  },
): Promise<void> {
  deps.log.error({ event: eventId, ...finding }, 'a ballot log is not what was signed');
  await markDisputed(deps.db, eventId, finding.alarm);
}

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

// Tables are looked up by the event's ID as a value: by that of a row the planner would expect the share that the largest event has
// of all rows, and read all of them.

/** Heads and weight of all confirmed ballots of an event, sealed or waiting. */
const boxOf = (
  eventId: string,
) => sql`(SELECT coalesce(sum(x.ballots), 0) AS present, coalesce(sum(x.weight_micro), 0) AS weight FROM (
  SELECT s.ballots, s.weight_micro FROM ${blockSums(eventId)} AS s
  UNION ALL SELECT 1, weight_micro FROM ballot_queue WHERE voting_event_id = ${eventId}) AS x)`;

/**
 * Those who took part in the election `e`, and their weight, which is frozen; the weight is null where one of them is on no
 * roll any more, and both are null in a poll.
 */
const turnoutOf = (eventId: string) => sql`(SELECT CASE WHEN e.type = 'election' THEN count(*) END AS took_part,
    CASE WHEN e.type = 'election' AND count(*) = count(v.id) THEN coalesce(sum(v.weight_micro), 0) END AS weight
  FROM participation p LEFT JOIN voters v ON v.voting_event_id = ${eventId} AND v.id = p.participant
  WHERE e.type = 'election' AND p.voting_event_id = ${eventId})`;

/** The weight that the ballots have to have: 1 each in a poll. Null where it is not known. */
const DUE_WEIGHT = sql`CASE WHEN e.type = 'poll' THEN 1000000 * box.present ELSE turnout.weight END`;

/** The box may weigh less where an operator dropped ballots that voters had cast (log `l`). */
const WEIGHS_OTHERWISE = sql`(box.weight > ${DUE_WEIGHT} OR (box.weight < ${DUE_WEIGHT} AND l.dropped = 0))`;

/** Whether ballots and participants agree in weight, at one moment. */
export async function agreeInWeight(executor: Executor, eventId: string): Promise<boolean> {
  const { rows } = await executor.execute<{ differs: boolean | null }>(sql`
    SELECT ${WEIGHS_OTHERWISE} AS differs
    FROM voting_events e JOIN ballot_logs l ON l.voting_event_id = e.id CROSS JOIN LATERAL ${boxOf(eventId)} AS box CROSS JOIN LATERAL ${turnoutOf(eventId)} AS turnout WHERE e.id = ${eventId}`);
  return rows[0]?.differs !== true;
}

/** What disagrees with a log although its leaves do not: rows behind its end, or ballots that its voters did not cast; undefined for nothing. */
export async function findUnaccounted(executor: Executor, eventId: string): Promise<string | undefined> {
  const { rows } = await executor.execute<{ fault: string | null }>(sql`
    SELECT CASE
      WHEN EXISTS (SELECT 1 FROM log_leaves x WHERE x.voting_event_id = ${eventId} AND x.leaf_index >= l.size) THEN 'a leaf stands behind the end of the log'
      WHEN EXISTS (SELECT 1 FROM log_tiles x WHERE x.voting_event_id = ${eventId}
        AND x.tile_index >= div(l.size::numeric, power(256::numeric, x.level + 1))) THEN 'a tile stands behind the end of the log'
      WHEN EXISTS (SELECT 1 FROM log_checkpoints x WHERE x.voting_event_id = ${eventId} AND x.size > l.size) THEN 'a checkpoint stands behind the end of the log'
      WHEN EXISTS (SELECT 1 FROM ballot_blocks x WHERE x.voting_event_id = ${eventId} AND x.first_leaf + x.ballots > l.size) THEN 'a ballot stands behind the end of the log'
      WHEN EXISTS (SELECT 1 FROM ballot_queue q WHERE q.voting_event_id = ${eventId} AND q.set_back) THEN 'waiting ballots are set back'
      WHEN box.present < l.confirmed THEN 'the log was signed with more ballots than there are'
      WHEN turnout.took_part < box.present THEN 'there are more ballots than participants'
      WHEN turnout.took_part > box.present + l.dropped THEN 'there are more participants than ballots'
      WHEN ${WEIGHS_OTHERWISE} THEN 'the ballots weigh something else than their voters'
    END AS fault
    FROM ballot_logs l JOIN voting_events e ON e.id = l.voting_event_id
    CROSS JOIN LATERAL ${boxOf(eventId)} AS box CROSS JOIN LATERAL ${turnoutOf(eventId)} AS turnout
    WHERE l.voting_event_id = ${eventId}`);
  return rows[0]?.fault ?? undefined;
}
