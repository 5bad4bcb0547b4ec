import { sql } from 'drizzle-orm';
import type { Database, Executor } from '#src/database/client.ts';

export interface StoredBallot {
  readonly entries: Buffer;
  readonly weightMicro: bigint;
}

type BallotRow = { entries: Buffer; weight_micro: string; leaf_index: string };

const CHUNK = 10_000;

const stored = (row: { entries: Buffer; weight_micro: string }): StoredBallot => ({
  entries: row.entries,
  weightMicro: BigInt(row.weight_micro),
});

/** The box from a position on, in chunks, so that no more than one is ever held. `last` is the highest leaf of the chunk. */
export async function* readBox(
  executor: Executor,
  eventId: string,
  afterLeaf: bigint,
): AsyncGenerator<{ ballots: StoredBallot[]; last: bigint }> {
  let after = afterLeaf;
  for (;;) {
    const { rows } = await executor.execute<BallotRow>(sql`
      SELECT leaf_index, entries, weight_micro FROM ballots
      WHERE voting_event_id = ${eventId} AND leaf_index > ${after} ORDER BY leaf_index LIMIT ${CHUNK}`);
    const end = rows.at(-1);
    if (end === undefined) return;
    after = BigInt(end.leaf_index);
    yield { ballots: rows.map(stored), last: after };
    if (rows.length < CHUNK) return;
  }
}

/** Confirmed ballots that are not in the log yet. */
export async function readQueue(executor: Executor, eventId: string): Promise<StoredBallot[]> {
  const { rows } = await executor.execute<BallotRow>(
    sql`SELECT entries, weight_micro FROM ballot_queue WHERE voting_event_id = ${eventId}`,
  );
  return rows.map(stored);
}

/** Confirmed ballots that the public live count does not show yet. */
export async function readUnreleased(executor: Executor, eventId: string): Promise<StoredBallot[]> {
  const { rows } = await executor.execute<BallotRow>(sql`
    SELECT entries, weight_micro FROM ballots WHERE voting_event_id = ${eventId} AND NOT released
    UNION ALL SELECT entries, weight_micro FROM ballot_queue WHERE voting_event_id = ${eventId} AND NOT released`);
  return rows.map(stored);
}

/** Releases ballots for the public live count, five at a time. */
export async function releaseBallots(db: Database, eventId: string): Promise<void> {
  await db.execute(sql`SELECT release_ballots(${eventId})`);
}

/** The approved voters' weight, and whether every weight of the event is whole. */
export async function readElectorate(
  executor: Executor,
  eventId: string,
): Promise<{ weightMicro: bigint; heads: number }> {
  const { rows } = await executor.execute<{ weight: string; heads: number }>(sql`
    SELECT coalesce(sum(weight_micro), 0)::text AS weight, count(*)::int AS heads FROM voters
    WHERE voting_event_id = ${eventId} AND status = 'approved' AND deleted_at IS NULL`);
  return { weightMicro: BigInt(rows[0]?.weight ?? 0), heads: rows[0]?.heads ?? 0 };
}

export async function hasFractionalWeights(executor: Executor, eventId: string): Promise<boolean> {
  const { rows } = await executor.execute<{ found: boolean }>(sql`
    SELECT EXISTS (SELECT 1 FROM voters WHERE voting_event_id = ${eventId} AND weight_micro % 1000000 <> 0) AS found`);
  return rows[0]?.found === true;
}

interface CountRow extends Record<string, unknown> {
  readonly voters: {
    readonly total: number;
    readonly pending: number;
    readonly approved: number;
    readonly rejected: number;
    readonly voted: number;
    readonly weight: string;
    readonly approvedWeight: string;
    readonly votedWeight: string;
  };
  readonly pendingBallots: number;
  readonly byGroup: readonly {
    readonly groupId: string;
    readonly name: string;
    readonly voters: number;
    readonly voted: number;
  }[];
}

/** The figures of an event that are counted in one pass over its voters. */
export async function readVoterFigures(executor: Executor, eventId: string): Promise<CountRow> {
  const { rows } = await executor.execute<CountRow>(sql`
    WITH roll AS (
      SELECT v.status, v.weight_micro, v.group_id, (v.source = 'poll' OR p.participant IS NOT NULL) AS voted
      FROM voters v LEFT JOIN participation p ON p.voting_event_id = v.voting_event_id AND p.participant = v.id
      WHERE v.voting_event_id = ${eventId} AND v.deleted_at IS NULL)
    SELECT
      (SELECT jsonb_build_object(
        'total', count(*), 'pending', count(*) FILTER (WHERE status = 'pending'),
        'approved', count(*) FILTER (WHERE status = 'approved'), 'rejected', count(*) FILTER (WHERE status = 'rejected'),
        'voted', count(*) FILTER (WHERE voted), 'weight', coalesce(sum(weight_micro), 0)::text,
        'approvedWeight', coalesce(sum(weight_micro) FILTER (WHERE status = 'approved'), 0)::text,
        'votedWeight', coalesce(sum(weight_micro) FILTER (WHERE voted), 0)::text) FROM roll) AS voters,
      (SELECT count(*)::int FROM pending_ballots WHERE voting_event_id = ${eventId}) AS "pendingBallots",
      (SELECT coalesce(jsonb_agg(jsonb_build_object('groupId', g.id, 'name', g.name,
          'voters', (SELECT count(*) FROM roll WHERE group_id = g.id),
          'voted', (SELECT count(*) FROM roll WHERE group_id = g.id AND voted)) ORDER BY g.id), '[]')
        FROM groups g WHERE g.voting_event_id = ${eventId} AND g.deleted_at IS NULL) AS "byGroup"`);
  const [row] = rows;
  if (row === undefined) throw new Error('a statement of aggregates returned no row');
  return row;
}
