import { type SQL, sql } from 'drizzle-orm';
import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import { NOT_COUNTED } from '#src/ballot-log/void-ballot.ts';
import { type RowOf, readBoxEnd, readSealedBallots, type SealedBallot, withWeight } from '#src/ballots/box.ts';
import { BLOCK_BALLOTS } from '#src/ballots/tables.ts';
import { atOneMoment, type Database, type Executor, isTrue } from '#src/database/client.ts';
import { MAY_VOTE } from '#src/voters/notification.ts';
import { secrecyOf } from '#src/voting-events/lifecycle.ts';
import type { StatsView } from './read-stats.ts';

/** SQL: whether a ballot `b` does not count. Lists and records leave it out, as the result does. */
const isVoid = sql.raw(NOT_COUNTED);

/** The electorate in millionths of weight, read twice at one moment: as the sum of its stored figures, and from the roll itself. */
export async function readElectorateTwice(executor: Executor, eventId: string) {
  const { rows } = await executor.execute<{ summed: string; counted: string }>(sql`
    SELECT (SELECT weight_micro FROM electorate(${eventId}))::text AS summed,
      (SELECT coalesce(sum(weight_micro), 0) FROM voters WHERE voting_event_id = ${eventId}
        AND status = 'approved' AND deleted_at IS NULL AND source <> 'poll')::text AS counted`);
  return { summed: BigInt(rows[0]?.summed ?? 0), counted: BigInt(rows[0]?.counted ?? 0) };
}

interface VoterFigures extends Record<string, unknown> {
  /** Weights in millionths. */
  readonly voters: Omit<StatsView['voters'], 'weight' | 'votedWeight'> & {
    readonly weight: string;
    readonly approvedWeight: string;
    readonly votedWeight: string;
  };
  /** Whether some voter who has voted is not disclosed yet. */
  readonly waiting: boolean;
  readonly pendingBallots: number;
  readonly byGroup: StatsView['byGroup'];
}

/** The figures of an event's roll, summed from rows of figures, which are few however many voters there are; and its pending ballots. */
export async function readVoterFigures(executor: Executor, eventId: string): Promise<VoterFigures> {
  const { rows } = await executor.execute<VoterFigures>(sql`
    WITH f AS MATERIALIZED (
      SELECT group_id, status, heads, weight_micro, voted, voted_weight_micro
      FROM roll_figures WHERE voting_event_id = ${eventId}
      UNION ALL SELECT w.group_id, s.status, s.sign * w.heads, s.sign * w.weight_micro, 0, 0
      FROM withheld_approvals(${eventId}) w CROSS JOIN (VALUES ('approved', -1), ('pending', 1)) AS s (status, sign))
    SELECT
      (SELECT jsonb_build_object(
        'total', coalesce(sum(heads), 0), 'pending', coalesce(sum(heads) FILTER (WHERE status = 'pending'), 0),
        'approved', coalesce(sum(heads) FILTER (WHERE status = 'approved'), 0),
        'rejected', coalesce(sum(heads) FILTER (WHERE status = 'rejected'), 0),
        'voted', coalesce(sum(voted), 0), 'weight', coalesce(sum(weight_micro), 0)::text,
        'approvedWeight', coalesce(sum(weight_micro) FILTER (WHERE status = 'approved'), 0)::text,
        'votedWeight', coalesce(sum(voted_weight_micro), 0)::text,
        'unreachable', (SELECT count(*) FROM voters v WHERE v.voting_event_id = ${eventId} AND v.email IS NULL
          AND v.key_status = 'none' AND ${MAY_VOTE})) FROM f) AS voters,
      EXISTS (SELECT 1 FROM undisclosed_voters WHERE voting_event_id = ${eventId}) AS waiting,
      (SELECT count(*)::int FROM pending_ballots WHERE voting_event_id = ${eventId}) AS "pendingBallots",
      (SELECT coalesce(jsonb_agg(jsonb_build_object('groupId', g.id, 'name', g.name,
          'voters', (SELECT coalesce(sum(heads), 0) FROM f WHERE group_id = g.id),
          'voted', (SELECT coalesce(sum(voted), 0) FROM f WHERE group_id = g.id)) ORDER BY g.id), '[]')
        FROM groups g WHERE g.voting_event_id = ${eventId} AND g.deleted_at IS NULL) AS "byGroup"`);
  const [row] = rows;
  if (row === undefined) throw new Error('a statement of aggregates returned no row');
  return row;
}

/** Whether some voter's weight is not 1. Reads both ends of an index, because a sum would not do: 0.5 and 1.5 add up to two voters. */
export const hasOtherWeights = (executor: Executor, eventId: string): Promise<boolean> =>
  isTrue(
    executor,
    sql`SELECT min(weight_micro) <> 1000000 OR max(weight_micro) <> 1000000 FROM voters WHERE voting_event_id = ${eventId} AND deleted_at IS NULL`,
  );

export interface StoredVoteBallot extends Omit<SealedBallot, 'salt'> {
  /** Position in a listing: `b` and the leaf of a ballot in the box up to `end` (`PageStart`), or `u` and the random ID of any other. */
  readonly place: string;
}

const VOTE_BALLOTS = 200;

/** An `end` above every leaf: the listing has all logged ballots, and no queued ballots. */
export const WHOLE_BOX = String(2n ** 62n);

/** Where a page of ballots begins: `b` and a leaf in the box up to `end`, or `u` and the random ID of any other ballot. */
interface PageStart {
  readonly end: string;
  readonly place: string | undefined;
  readonly inclusive: boolean;
}

/** Confirmed ballots from a place on: the logged ballots up to `end`, by leaf; then later logged and queued ballots, by random ID. */
export async function readBallotPage(
  executor: Executor,
  eventId: string,
  { end, place, inclusive }: PageStart,
): Promise<StoredVoteBallot[]> {
  const isBehind = place?.startsWith('u') === true;
  if (!isBehind) {
    const box = await readBoxPage(executor, eventId, end, Number(place?.slice(1) ?? -1) - (inclusive ? 1 : 0));
    if (box.length > 0 || end === WHOLE_BOX) return box;
  }
  const page = laterPage(eventId, end, isBehind ? place.slice(1) : '', inclusive);
  return (await executor.execute<RowOf<StoredVoteBallot>>(page)).rows.map(withWeight);
}

/** The next logged ballots that count; none at the end of the log. */
async function readBoxPage(
  executor: Executor,
  eventId: string,
  end: string,
  afterLeaf: number,
): Promise<StoredVoteBallot[]> {
  for (let after = afterLeaf; ; ) {
    const read = await readSealedBallots(executor, eventId, { after, upTo: end, limit: VOTE_BALLOTS });
    const counted = await leaveOutVoid(executor, eventId, read);
    const last = read.at(-1);
    if (last === undefined || counted.length > 0)
      return counted.map((ballot) => ({ ...ballot, place: `b${ballot.leafIndex}` }));
    after = last.leafIndex;
  }
}

async function leaveOutVoid<Ballot extends SealedBallot>(
  executor: Executor,
  eventId: string,
  ballots: readonly Ballot[],
): Promise<readonly Ballot[]> {
  if (ballots.length === 0) return ballots;
  const tags = sql.param(ballots.map(({ codeTag }) => codeTag));
  const { rows } = await executor.execute<{ code_tag: Buffer }>(sql`
    SELECT b.code_tag FROM voided_ballots b WHERE b.voting_event_id = ${eventId} AND b.code_tag = ANY (${tags}::bytea[]) AND ${isVoid}`);
  const voided = new Set(rows.map(({ code_tag }) => code_tag.toString('hex')));
  return voided.size === 0 ? ballots : ballots.filter(({ codeTag }) => !voided.has(codeTag.toString('hex')));
}

const VOTE_COLUMNS = sql`id, entries, weight_micro, code_tag, voter_id, country_code, submitted_at`;
const VOTE_FIELDS = sql`id, entries, weight_micro AS "weightMicro", code_tag AS "codeTag", voter_id AS "voterId",
  country_code AS "countryCode", submitted_at::float8 AS "submittedAt"`;

/** Ballots logged after `end` and queued ballots, by ID. Few ballots are logged during a listing: read these by leaf, then sort. */
const laterPage = (eventId: string, end: string, id: string, inclusive: boolean): SQL => sql`
  SELECT 'u' || id AS place, ${VOTE_FIELDS} FROM (
    SELECT ${eventId} AS voting_event_id, ${VOTE_COLUMNS} FROM sealed_ballots(${eventId}, ${end}::bigint - ${BLOCK_BALLOTS} + 1)
    WHERE leaf_index > ${end}::bigint
    UNION ALL SELECT voting_event_id, ${VOTE_COLUMNS} FROM ballot_queue WHERE voting_event_id = ${eventId} AND NOT set_back) AS b
  WHERE id ${inclusive ? sql`>=` : sql`>`} ${id} AND NOT ${isVoid} ORDER BY id LIMIT ${VOTE_BALLOTS}`;

/**
 * Whether each weight of an election has at least `holders` approved voters. If weights differ, each needs them in every class, because
 * a ballot's contests show its voter's class: a group with its own positions, or all other voters. The roll is read only in that case.
 */
function hasOnlyCommonWeights(executor: Executor, eventId: string, holders: number): Promise<boolean> {
  const approved = sql`v.voting_event_id = ${eventId} AND v.deleted_at IS NULL AND v.status = 'approved'`;
  const enough = sql`SELECT count(*) = ${holders}::integer FROM (SELECT 1 FROM voters v WHERE ${approved} LIMIT ${holders}) AS few`;
  const common = sql`
    WITH own AS MATERIALIZED (SELECT DISTINCT group_id FROM positions WHERE voting_event_id = ${eventId}),
    classes AS (
      SELECT v.weight_micro, count(*) AS holders FROM voters v LEFT JOIN own ON own.group_id = v.group_id
      WHERE ${approved} GROUP BY own.group_id, v.weight_micro)
    SELECT CASE WHEN (SELECT min(weight_micro) = max(weight_micro) FROM voters WHERE voting_event_id = ${eventId}) THEN (${enough})
      ELSE (SELECT CASE WHEN count(DISTINCT weight_micro) > 1 THEN bool_and(holders >= ${holders}) ELSE sum(holders) >= ${holders} END
        FROM classes) END`;
  return isTrue(executor, common);
}

export type RecordBallot = Pick<SealedBallot, 'id' | 'entries' | 'weightMicro' | 'codeTag'>;

const RECORDS = 2_000;

/** The end of the box and the queued ballots from one snapshot. Sorted by random tags, the queue does not show the order of votes. */
export function readRecordMoment(db: Database, eventId: string) {
  return atOneMoment(db, async (tx) => {
    const last = await readBoxEnd(tx, eventId);
    const { rows } = await tx.execute<RowOf<RecordBallot>>(sql`
        SELECT id, entries, weight_micro AS "weightMicro", code_tag AS "codeTag" FROM ballot_queue b
        WHERE voting_event_id = ${eventId} AND NOT set_back AND NOT ${isVoid} ORDER BY code_tag`);
    return { last, queue: rows.map(withWeight) };
  });
}

/** Yields every confirmed ballot that counts at a moment: box, then queue. Needs no transaction: ballots in the box never change. */
export async function* readRecords(
  db: Database,
  eventId: string,
  moment: Awaited<ReturnType<typeof readRecordMoment>>,
): AsyncGenerator<readonly RecordBallot[]> {
  for (let after = -1; ; ) {
    const read = await readSealedBallots(db, eventId, { after, upTo: moment.last, limit: RECORDS });
    const last = read.at(-1);
    if (last === undefined) break;
    yield await leaveOutVoid(db, eventId, read);
    after = last.leafIndex;
  }
  yield moment.queue;
}

/** A secret event shows the weights of ballots only if at least this many voters with each weight could have cast the ballot. */
export const COMMON_WEIGHT_HOLDERS = 5;

/** Whether lists show weights. They show all or none: if one ballot lacked its weight, its voter would be known to have a rare one. */
export const showsWeights = async (executor: Executor, { event }: BallotDefinition): Promise<boolean> =>
  secrecyOf(event) !== 'secret' || hasOnlyCommonWeights(executor, event.id, COMMON_WEIGHT_HOLDERS);
