import { and, asc, eq, getTableColumns, gt, inArray, isNull, lte, type SQL, sql } from 'drizzle-orm';
import type { z } from 'zod';
import { type Executor, firstOf, isTrue, readNumber, type Transaction, valuesOf } from '#src/database/client.ts';
import { holdsText } from '#src/database/search.ts';
import { holdEvent } from '#src/voting-events/repository.ts';
import { voters } from './tables.ts';
import type { listVotersQuery, Voter } from './voter.ts';
import type { Identity } from './voter-identity.ts';
import { TAGGED_VOTER, type TaggedArray, type TaggedVoter, taggedVoter } from './voter-tag.ts';

export type NewVoter = typeof voters.$inferInsert;

/**
 * Whether a voter has voted: null if not, `waits` while the vote is not disclosed (completions 5.6), `shown` afterwards. A poll's
 * participant is listed only after voting. Any other voter has voted if a participation of the same event names the voter. This takes
 * one look-up for each voter, and one more for each vote. The table name is written out because Drizzle omits it in a selection
 * from one table: in the subquery, a bare `voting_event_id` would be the participation's own column, and votes in other
 * events would count.
 */
const vote = sql<'waits' | 'shown' | null>`(CASE WHEN voters.source = 'poll' THEN 'shown' ELSE (
  SELECT CASE WHEN EXISTS (SELECT 1 FROM undisclosed_voters u
      WHERE u.voting_event_id = p.voting_event_id AND u.voter_id = voters.id) THEN 'waits' ELSE 'shown' END
  FROM participation p WHERE p.voting_event_id = voters.voting_event_id
    AND p.participant IN (voters.id, 'i:' || voters.voter_id_key, 'e:' || voters.email_key) LIMIT 1) END)`;

/** Whether the event hides who has voted. The subquery runs once per statement. */
const keepsBack = (eventId: string) => sql<boolean>`(SELECT keeps_back(${eventId}))`;

const {
  confirmBy: _confirmBy,
  beforeRehearsal: _beforeRehearsal,
  deletedAt: _deletedAt,
  erasedAt: _erasedAt,
  ...shown
} = getTableColumns(voters);
const columnsIn = (eventId: string) => ({ ...shown, vote, keepsBack: keepsBack(eventId) });

type VoterRow = Omit<Voter, 'hasVoted' | 'disclosed'> & {
  readonly vote: 'waits' | 'shown' | null;
  readonly keepsBack: boolean;
};

const toVoter = ({ vote: stands, keepsBack: secret, ...row }: VoterRow): Voter => ({
  ...row,
  hasVoted: stands !== null,
  disclosed: !secret || stands === 'shown',
});

/** The voters on the roll that meet these conditions. */
const onRoll = (eventId: string, ...conditions: (SQL | undefined)[]) =>
  and(eq(voters.votingEventId, eventId), isNull(voters.deletedAt), isNull(voters.erasedAt), ...conditions);

/** Lists voters in the order of their creation. */
async function listWhere(executor: Executor, eventId: string, condition: SQL): Promise<Voter[]> {
  const rows = await executor
    .select(columnsIn(eventId))
    .from(voters)
    .where(onRoll(eventId, condition))
    .orderBy(asc(voters.id));
  return rows.map(toVoter);
}

export const findVoter = (executor: Executor, eventId: string, id: string): Promise<Voter | undefined> =>
  firstOf(listWhere(executor, eventId, eq(voters.id, id)));

export const listVotersByIds = (executor: Executor, eventId: string, ids: readonly string[]): Promise<Voter[]> =>
  listWhere(executor, eventId, inArray(voters.id, [...ids]));

export const findVoterByIdentity = (executor: Executor, eventId: string, { kind, key }: Identity) =>
  firstOf(listWhere(executor, eventId, eq(kind === 'email' ? voters.emailKey : voters.voterIdKey, key)));

/** Voters with their tags, in the order of their IDs. @param which an SQL condition for the voter `v` */
export async function listTagged(
  executor: Executor,
  eventId: string,
  which: SQL,
  limit?: number,
): Promise<TaggedVoter[]> {
  const statement = sql`SELECT ${sql.raw(TAGGED_VOTER)} FROM voters v
    WHERE v.voting_event_id = ${eventId} AND ${which} ORDER BY v.id LIMIT ${limit ?? null}`;
  return (await valuesOf<TaggedArray>(executor, statement)).map((tagged) => taggedVoter(eventId, tagged));
}

type VoterFilter = Pick<z.output<typeof listVotersQuery>, 'search' | 'status' | 'groupId' | 'keyStatus'> & {
  readonly voted?: boolean | undefined;
  readonly after: string | undefined;
};

/** Most rows that a filtered page reads, so that its cost does not grow with the roll. */
const LOOKED_AT = 1_000;

/**
 * A page of voters, oldest first. A filtered page may have fewer than `limit` voters although there is a next page.
 * @returns also the ID after which the next page begins; null on the last page
 */
export async function listVoters(executor: Executor, eventId: string, filter: VoterFilter, limit: number) {
  const listed = onRoll(eventId, filter.after === undefined ? undefined : gt(voters.id, filter.after));
  const isShown = sql`(${vote} = 'shown' OR (${vote} = 'waits' AND NOT ${keepsBack(eventId)}))`;
  const shownStatus = sql`(CASE WHEN voters.approved_by_key AND ${keepsBack(eventId)} AND ${vote} IS DISTINCT FROM 'shown'
    THEN 'pending' ELSE voters.status END)`;
  const shownKeyStatus = sql`(CASE WHEN voters.source <> 'poll' AND (voters.key_used OR ${vote} IS NOT NULL) AND (${vote} = 'shown' OR NOT ${keepsBack(eventId)})
    THEN 'used' ELSE voters.key_status END)`;
  const ids = executor.select({ id: voters.id }).from(voters).where(listed).orderBy(asc(voters.id));
  const filtered = [filter.search, filter.status, filter.groupId, filter.voted, filter.keyStatus].some(
    (value) => value !== undefined,
  );
  // Without a filter, every row that is read is returned, so that `limit` is bound enough.
  const [last, beyond] = filtered ? await ids.offset(LOOKED_AT - 1).limit(2) : [];
  const rows = await executor
    .select(columnsIn(eventId))
    .from(voters)
    .where(
      and(
        listed,
        last === undefined ? undefined : lte(voters.id, last.id),
        filter.status === undefined ? undefined : sql`${shownStatus} = ${filter.status}`,
        filter.groupId === undefined ? undefined : eq(voters.groupId, filter.groupId),
        filter.voted === undefined ? undefined : filter.voted ? isShown : sql`${isShown} IS NOT TRUE`,
        filter.keyStatus === undefined ? undefined : sql`${shownKeyStatus} = ${filter.keyStatus}`,
        holdsText(filter.search, voters.name, voters.email, voters.voterId),
      ),
    )
    .orderBy(asc(voters.id))
    .limit(limit + 1);
  const page = rows.slice(0, limit).map(toVoter);
  if (rows.length > limit) return { voters: page, after: page.at(-1)?.id ?? null };
  return { voters: page, after: beyond === undefined ? null : (last?.id ?? null) };
}

export async function updateVoters(
  tx: Transaction,
  eventId: string,
  ids: readonly string[],
  changes: Partial<NewVoter>,
): Promise<void> {
  await tx
    .update(voters)
    .set(changes)
    .where(and(eq(voters.votingEventId, eventId), inArray(voters.id, [...ids])));
}

export async function storeStandings(
  tx: Transaction,
  eventId: string,
  rows: readonly Pick<Voter, 'id' | 'status' | 'groupId' | 'keyGeneration' | 'tag'>[],
  updatedAt: number | null,
): Promise<void> {
  if (rows.length === 0) return;
  const column = (value: (row: (typeof rows)[number]) => unknown) => sql.param(rows.map(value));
  await tx.execute(sql`
    UPDATE voters v SET status = r.status, group_id = r.group_id, key_generation = r.generation, tag = r.tag, updated_at = coalesce(${updatedAt}::bigint, v.updated_at)
    FROM unnest(${column(({ id }) => id)}::text[], ${column(({ status }) => status)}::text[], ${column(({ groupId }) => groupId)}::text[],
      ${column(({ keyGeneration }) => keyGeneration)}::integer[], ${column(({ tag }) => tag)}::bytea[])
      AS r (id, status, group_id, generation, tag)
    WHERE v.voting_event_id = ${eventId} AND v.id = r.id`);
}

/** @throws a unique violation of `voters_email` or `voters_voter_id` */
export const storeVoter = (tx: Transaction, eventId: string, id: string, changes: Partial<NewVoter>): Promise<void> =>
  updateVoters(tx, eventId, [id], changes);

/** Whether any of these voters has a ballot, pending or confirmed, which depends on weight and group. Call with the event locked. */
export async function hasBallot(tx: Transaction, eventId: string, voterIds: readonly string[]): Promise<boolean> {
  const ids = sql`${sql.param([...voterIds])}::text[]`;
  const found = sql`
    SELECT EXISTS (SELECT 1 FROM pending_ballots WHERE voting_event_id = ${eventId} AND participant = ANY (${ids})) OR
           EXISTS (SELECT 1 FROM participation WHERE voting_event_id = ${eventId} AND participant = ANY (${ids})) OR
           EXISTS (SELECT 1 FROM voters WHERE voting_event_id = ${eventId} AND id = ANY (${ids}) AND source = 'poll')`;
  return isTrue(tx, found);
}

/** Whether the voter has cast a ballot that waits for its confirmation. Call with the event locked. */
export const hasPendingBallot = (tx: Transaction, eventId: string, voterId: string): Promise<boolean> =>
  isTrue(
    tx,
    sql`SELECT EXISTS (SELECT 1 FROM pending_ballots WHERE voting_event_id = ${eventId} AND participant = ${voterId})`,
  );

/** Removes up to `maxRows` voters whose deletion was queued, and their keys. Idempotent. @returns their number */
export async function removeDeletedVoters(tx: Transaction, eventId: string, maxRows: number): Promise<number> {
  // Wait for a job that may be rewriting the roll: the DELETE by ctid would miss rewritten rows.
  await holdEvent(tx, eventId);
  const removal = sql`
    WITH gone AS (DELETE FROM voters WHERE voting_event_id = ${eventId} AND ctid = ANY (ARRAY(
        SELECT ctid FROM voters WHERE voting_event_id = ${eventId} AND deleted_at IS NOT NULL LIMIT ${maxRows})) RETURNING id),
      keys AS (DELETE FROM voter_keys k USING gone WHERE k.voting_event_id = ${eventId} AND k.voter_id = gone.id)
    SELECT count(*) FROM gone`;
  return readNumber(tx, removal);
}
