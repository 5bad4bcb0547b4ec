import { type SQL, sql } from 'drizzle-orm';
import { NOT_COUNTED } from '#src/ballot-log/void-ballot.ts';
import { type Database, type Executor, inTransaction } from '#src/database/client.ts';
import type { WaitingBallot } from './read-count-inputs.ts';

/** True for a ballot `b` that does not count. Lists and records hold the ballots that the result is made of. */
const isVoid = sql.raw(NOT_COUNTED);

/** The electorate in millionths of weight, read twice at one moment: as the sum of its changes, and from the roll itself. */
export async function readElectorateTwice(
  executor: Executor,
  eventId: string,
): Promise<{ readonly summed: bigint; readonly counted: bigint }> {
  const { rows } = await executor.execute<{ summed: string; counted: string }>(sql`
    SELECT (SELECT coalesce(sum(weight_micro), 0) FROM electorate_changes WHERE voting_event_id = ${eventId})::text AS summed,
      (SELECT coalesce(sum(weight_micro), 0) FROM voters WHERE voting_event_id = ${eventId}
        AND status = 'approved' AND deleted_at IS NULL AND source <> 'poll')::text AS counted`);
  return { summed: BigInt(rows[0]?.summed ?? 0), counted: BigInt(rows[0]?.counted ?? 0) };
}

/** Puts the changes of an event's roll together into one; its electorate is their sum. */
export async function foldElectorate(db: Database, eventId: string): Promise<void> {
  await db.execute(sql`SELECT fold_electorate(${eventId})`);
}

/** Approved voters of each group, and how many took part; groups that are smaller than `least` are left out. */
export async function readTurnoutByGroup(
  executor: Executor,
  eventId: string,
  least: number,
): Promise<{ groupId: string; voters: number; voted: number }[]> {
  const { rows } = await executor.execute<{ groupId: string; voters: number; voted: number }>(sql`
    SELECT f.group_id AS "groupId", sum(f.heads) FILTER (WHERE f.status = 'approved')::int AS voters, sum(f.voted)::int AS voted
    FROM roll_figures f WHERE f.voting_event_id = ${eventId} AND f.group_id <> ''
    GROUP BY f.group_id HAVING sum(f.heads) FILTER (WHERE f.status = 'approved') >= ${least} ORDER BY f.group_id`);
  return rows;
}

interface VoterFigures extends Record<string, unknown> {
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
  /** Whether somebody voted who is not disclosed yet. */
  readonly waiting: boolean;
  /** Changes that the figures are the sum of. */
  readonly changes: number;
  readonly pendingBallots: number;
  readonly byGroup: readonly {
    readonly groupId: string;
    readonly name: string;
    readonly voters: number;
    readonly voted: number;
  }[];
}

/**
 * The figures of an event's roll and its ballots on their way. They are sums of the roll's changes: no read grows with the
 * number of voters.
 */
export async function readVoterFigures(executor: Executor, eventId: string): Promise<VoterFigures> {
  const { rows } = await executor.execute<VoterFigures>(sql`
    WITH f AS MATERIALIZED (
      SELECT group_id, status, heads, weight_micro, voted, voted_weight_micro, 1 AS change
      FROM roll_figures WHERE voting_event_id = ${eventId}
      UNION ALL SELECT w.group_id, s.status, s.sign * w.heads, s.sign * w.weight_micro, 0, 0, 0
      FROM withheld_approvals(${eventId}) w CROSS JOIN (VALUES ('approved', -1), ('pending', 1)) AS s (status, sign))
    SELECT
      (SELECT jsonb_build_object(
        'total', coalesce(sum(heads), 0), 'pending', coalesce(sum(heads) FILTER (WHERE status = 'pending'), 0),
        'approved', coalesce(sum(heads) FILTER (WHERE status = 'approved'), 0),
        'rejected', coalesce(sum(heads) FILTER (WHERE status = 'rejected'), 0),
        'voted', coalesce(sum(voted), 0), 'weight', coalesce(sum(weight_micro), 0)::text,
        'approvedWeight', coalesce(sum(weight_micro) FILTER (WHERE status = 'approved'), 0)::text,
        'votedWeight', coalesce(sum(voted_weight_micro), 0)::text) FROM f) AS voters,
      (SELECT coalesce(sum(change), 0)::int FROM f) AS changes,
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

export interface StoredVoteBallot extends WaitingBallot {
  readonly id: string;
  /** Where it stands: `b` and the leaf, which sorts before `q` and the random ID of one still in the queue. */
  readonly place: string;
  readonly voterId: string | null;
  readonly countryCode: string | null;
  readonly submittedAt: number | null;
}

type VoteBallotRow = {
  id: string;
  code_tag: Buffer;
  place: string;
  entries: Buffer;
  weight_micro: string;
  voter_id: string | null;
  country_code: string | null;
  submitted_at: string | null;
};

const VOTE_BALLOTS = 200;

/** The end of a box that is listed whole, and nothing behind it. */
export const WHOLE_BOX = String(2n ** 62n);

/** The last leaf of the box at this moment, -1 while it is empty. */
export async function readBoxEnd(executor: Executor, eventId: string): Promise<string> {
  const { rows } = await executor.execute<{ last: string }>(
    sql`SELECT coalesce(max(leaf_index), -1)::text AS last FROM ballots WHERE voting_event_id = ${eventId}`,
  );
  return rows[0]?.last ?? '-1';
}

/** Where a page of ballots begins: `b` and a leaf of the box, or `u` and the ID of a ballot behind the box's `end`. */
export interface PageStart {
  readonly end: string;
  readonly place: string | undefined;
  readonly inclusive: boolean;
}

/** Confirmed ballots from a place on: the box up to its `end` in its order, then those sealed later and the queue by their random IDs. */
export async function readBallotPage(
  executor: Executor,
  eventId: string,
  { end, place, inclusive }: PageStart,
): Promise<StoredVoteBallot[]> {
  const isBehind = place?.startsWith('u') === true;
  if (!isBehind) {
    const box = await readVoteBallots(executor, boxPage(eventId, end, place?.slice(1) ?? '-1', inclusive));
    if (box.length > 0 || end === WHOLE_BOX) return box;
  }
  return readVoteBallots(executor, laterPage(eventId, end, isBehind ? place.slice(1) : '', inclusive));
}

const VOTE_COLUMNS = sql`id, entries, weight_micro, code_tag, voter_id, country_code, submitted_at`;
const after = (inclusive: boolean): SQL => (inclusive ? sql`>=` : sql`>`);

const boxPage = (eventId: string, end: string, leaf: string, inclusive: boolean): SQL => sql`
  SELECT 'b' || leaf_index AS place, ${VOTE_COLUMNS} FROM ballots b
  WHERE voting_event_id = ${eventId} AND NOT ${isVoid} AND leaf_index ${after(inclusive)} ${leaf}::bigint
    AND leaf_index <= ${end}::bigint ORDER BY leaf_index LIMIT ${VOTE_BALLOTS}`;

/** Few leaves are sealed while somebody reads a list: they are found by their place, then put in the order of their IDs. */
const laterPage = (eventId: string, end: string, id: string, inclusive: boolean): SQL => sql`
  SELECT * FROM (
    (SELECT * FROM (
      SELECT 'u' || id AS place, ${VOTE_COLUMNS} FROM ballots b
      WHERE voting_event_id = ${eventId} AND leaf_index > ${end}::bigint AND NOT ${isVoid} OFFSET 0) AS sealed
     WHERE id ${after(inclusive)} ${id} ORDER BY id LIMIT ${VOTE_BALLOTS})
    UNION ALL
    (SELECT 'u' || id AS place, ${VOTE_COLUMNS} FROM ballot_queue b
     WHERE voting_event_id = ${eventId} AND NOT ${isVoid} AND id ${after(inclusive)} ${id}
     ORDER BY id LIMIT ${VOTE_BALLOTS})) AS later
  ORDER BY id LIMIT ${VOTE_BALLOTS}`;

async function readVoteBallots(executor: Executor, page: SQL): Promise<StoredVoteBallot[]> {
  const { rows } = await executor.execute<VoteBallotRow>(page);
  return rows.map((row) => ({
    entries: row.entries,
    weightMicro: BigInt(row.weight_micro),
    codeTag: row.code_tag,
    id: row.id,
    place: row.place,
    voterId: row.voter_id,
    countryCode: row.country_code,
    submittedAt: row.submitted_at === null ? null : Number(row.submitted_at),
  }));
}

/**
 * Whether at least this many approved voters have each weight of an election. Where weights differ, that many in each class have to: a
 * class is a group with positions of its own, derived from the contests on a ballot, and everybody else.
 */
export async function hasOnlyCommonWeights(executor: Executor, eventId: string, holders: number): Promise<boolean> {
  const { rows } = await executor.execute<{ common: boolean | null }>(sql`
    WITH roll AS (
      SELECT v.weight_micro, coalesce((SELECT min(p.group_id) FROM positions p
        WHERE p.voting_event_id = v.voting_event_id AND p.group_id = v.group_id), '') AS group_id
      FROM voters v WHERE v.voting_event_id = ${eventId} AND v.deleted_at IS NULL AND v.status = 'approved'),
    classes AS (SELECT weight_micro, count(*) AS holders FROM roll GROUP BY group_id, weight_micro)
    SELECT CASE WHEN count(DISTINCT weight_micro) > 1 THEN bool_and(holders >= ${holders}) ELSE sum(holders) >= ${holders} END
      AS common FROM classes`);
  return rows[0]?.common === true;
}

export interface RecordBallot extends WaitingBallot {
  readonly id: string;
}

type RecordRow = { id: string; entries: Buffer; weight_micro: string; code_tag: Buffer };

const RECORDS = 2_000;

const record = (row: RecordRow): RecordBallot => ({
  id: row.id,
  entries: row.entries,
  weightMicro: BigInt(row.weight_micro),
  codeTag: row.code_tag,
});

/** Where the box ended at one moment, and what waited to enter it. */
export interface RecordMoment {
  readonly last: string;
  readonly queue: readonly RecordBallot[];
}

/** The queue comes in the order of its random tags, because rows come back in the order in which they were written. */
export function readRecordMoment(db: Database, eventId: string): Promise<RecordMoment> {
  return inTransaction(
    db,
    async (tx) => {
      const end = await tx.execute<{ last: string }>(
        sql`SELECT coalesce(max(leaf_index), -1)::text AS last FROM ballots WHERE voting_event_id = ${eventId}`,
      );
      const queue = await tx.execute<RecordRow>(sql`
        SELECT id, entries, weight_micro, code_tag FROM ballot_queue b
        WHERE voting_event_id = ${eventId} AND NOT ${isVoid} ORDER BY code_tag`);
      return { last: end.rows[0]?.last ?? '-1', queue: queue.rows.map(record) };
    },
    { isolationLevel: 'repeatable read', accessMode: 'read only' },
  );
}

/**
 * Every confirmed ballot that counts, as of that moment: the box in its order, then the queue. Read in chunks without a
 * transaction around them: what stands in the box never changes.
 */
export async function* readRecords(
  db: Database,
  eventId: string,
  moment: RecordMoment,
): AsyncGenerator<readonly RecordBallot[]> {
  let after = '-1';
  for (;;) {
    const { rows } = await db.execute<RecordRow & { leaf_index: string }>(sql`
      SELECT id, leaf_index, entries, weight_micro, code_tag FROM ballots b
      WHERE voting_event_id = ${eventId} AND leaf_index > ${after}::bigint AND leaf_index <= ${moment.last}::bigint
        AND NOT ${isVoid} ORDER BY leaf_index LIMIT ${RECORDS}`);
    if (rows.length > 0) yield rows.map(record);
    const end = rows.at(-1);
    if (end === undefined || rows.length < RECORDS) break;
    after = end.leaf_index;
  }
  yield moment.queue;
}

/** The weights that ballots of the box have, each once. */
export async function listBallotWeights(db: Database, eventId: string): Promise<readonly bigint[]> {
  const { rows } = await db.execute<{ weight: string }>(
    sql`SELECT DISTINCT weight_micro::text AS weight FROM ballots WHERE voting_event_id = ${eventId}`,
  );
  return rows.map(({ weight }) => BigInt(weight));
}
