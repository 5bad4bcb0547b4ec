import { and, asc, eq, gt, inArray, isNull, lte, or, sql } from 'drizzle-orm';
import { binaryArray } from '#src/database/binary-array.ts';
import type { Executor, Transaction } from '#src/database/client.ts';
import { holdsText } from '#src/database/search.ts';
import { holdEvent } from '#src/voting-events/repository.ts';
import { votingEvents } from '#src/voting-events/tables.ts';
import { voters } from './tables.ts';
import type { Voter, VoterStatus } from './voter.ts';
import type { Identity } from './voter-identity.ts';

export type NewVoter = typeof voters.$inferInsert;

/**
 * How a voter's vote stands: null before it, `waits` while it is kept back (completions 5.6), `shown` afterwards. A poll's
 * participant is listed only after voting; every other voter has voted if the participation of the same event names them.
 * One look-up a voter, and one more for those who voted. The table name is written out because Drizzle omits it in a selection
 * from one table: inside the subquery, a bare `voting_event_id` would be the participation's own column, and votes in other
 * events would count.
 */
const vote = sql<'waits' | 'shown' | null>`(CASE WHEN voters.source = 'poll' THEN 'shown' ELSE (
  SELECT CASE WHEN EXISTS (SELECT 1 FROM undisclosed_voters u
      WHERE u.voting_event_id = p.voting_event_id AND u.voter_id = voters.id) THEN 'waits' ELSE 'shown' END
  FROM participation p WHERE p.voting_event_id = voters.voting_event_id
    AND p.participant IN (voters.id, 'i:' || voters.voter_id_key, 'e:' || voters.email_key) LIMIT 1) END)`;

/** Whether the event keeps back who voted: asked once a statement. */
const keepsBack = (eventId: string) => sql<boolean>`(SELECT keeps_back(${eventId}))`;

const columnsIn = (eventId: string) => ({
  id: voters.id,
  votingEventId: voters.votingEventId,
  name: voters.name,
  email: voters.email,
  voterId: voters.voterId,
  groupId: voters.groupId,
  weightMicro: voters.weightMicro,
  status: voters.status,
  source: voters.source,
  keyStatus: voters.keyStatus,
  approvedByKey: voters.approvedByKey,
  createdAt: voters.createdAt,
  updatedAt: voters.updatedAt,
  vote,
  keepsBack: keepsBack(eventId),
});

type VoterRow = Omit<Voter, 'hasVoted' | 'disclosed'> & {
  readonly vote: 'waits' | 'shown' | null;
  readonly keepsBack: boolean;
};

const toVoter = ({ vote: stands, keepsBack: secret, ...row }: VoterRow): Voter => ({
  ...row,
  hasVoted: stands !== null,
  disclosed: !secret || stands === 'shown',
});

export async function findVoter(executor: Executor, eventId: string, id: string): Promise<Voter | undefined> {
  const [row] = await executor
    .select(columnsIn(eventId))
    .from(voters)
    .where(
      and(eq(voters.votingEventId, eventId), eq(voters.id, id), isNull(voters.deletedAt), isNull(voters.erasedAt)),
    );
  return row && toVoter(row);
}

/** The voters of these IDs that the event has, in the order of their creation. */
export async function listVotersByIds(executor: Executor, eventId: string, ids: readonly string[]): Promise<Voter[]> {
  const rows = await executor
    .select(columnsIn(eventId))
    .from(voters)
    .where(
      and(
        eq(voters.votingEventId, eventId),
        inArray(voters.id, [...ids]),
        isNull(voters.deletedAt),
        isNull(voters.erasedAt),
      ),
    )
    .orderBy(asc(voters.id));
  return rows.map(toVoter);
}

export async function findVoterByIdentity(
  executor: Executor,
  eventId: string,
  identity: Identity,
): Promise<Voter | undefined> {
  const column = identity.kind === 'email' ? voters.emailKey : voters.voterIdKey;
  const [row] = await executor
    .select(columnsIn(eventId))
    .from(voters)
    .where(
      and(
        eq(voters.votingEventId, eventId),
        eq(column, identity.key),
        isNull(voters.deletedAt),
        isNull(voters.erasedAt),
      ),
    );
  return row && toVoter(row);
}

interface VoterFilter {
  readonly search: string | undefined;
  readonly status: VoterStatus | undefined;
  readonly groupId: string | undefined;
  readonly voted: boolean | undefined;
  readonly keyStatus: 'none' | 'sent' | 'failed' | 'used' | undefined;
  readonly after: string | undefined;
}

/** Rows that a filtered page reads at most, so that its cost does not grow with the roll. */
const LOOKED_AT = 1_000;

interface VoterPage {
  readonly voters: readonly Voter[];
  /** After which voter the next page goes on; null on the last one. */
  readonly after: string | null;
}

/** A page of voters in the order of their creation. With a filter it may hold fewer than asked for, and still have a next one. */
export async function listVoters(
  executor: Executor,
  eventId: string,
  filter: VoterFilter,
  limit: number,
): Promise<VoterPage> {
  const listed = and(
    eq(voters.votingEventId, eventId),
    isNull(voters.deletedAt),
    isNull(voters.erasedAt),
    filter.after === undefined ? undefined : gt(voters.id, filter.after),
  );
  const isShown = sql`(${vote} = 'shown' OR (${vote} = 'waits' AND NOT ${keepsBack(eventId)}))`;
  const shownStatus = sql`(CASE WHEN voters.approved_by_key AND ${keepsBack(eventId)} AND ${vote} IS DISTINCT FROM 'shown'
    THEN 'pending' ELSE voters.status END)`;
  const shownKeyStatus = sql`(CASE WHEN voters.key_status = 'used' AND ${keepsBack(eventId)} AND ${vote} IS DISTINCT FROM 'shown'
    THEN 'sent' ELSE voters.key_status END)`;
  const ids = executor.select({ id: voters.id }).from(voters).where(listed).orderBy(asc(voters.id));
  const filtered = [filter.search, filter.status, filter.groupId, filter.voted, filter.keyStatus].some(
    (value) => value !== undefined,
  );
  // Without a filter every row that is looked at is given.
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

/**
 * Inserts voters, leaving out those whose e-mail or voter ID is taken. Returns the IDs that were inserted.
 * One array a column: a parameter a value would cost several times as much for each row.
 */
export async function insertVoters(tx: Transaction, rows: readonly NewVoter[]): Promise<Set<string>> {
  const texts = (value: (row: NewVoter) => string | null | undefined) =>
    sql`${sql.param(
      binaryArray(
        'text',
        rows.map((row) => value(row) ?? null),
      ),
    )}::text[]`;
  const numbers = (value: (row: NewVoter) => number | bigint) =>
    sql`${sql.param(binaryArray('bigint', rows.map(value)))}::bigint[]`;
  const { rows: inserted } = await tx.execute<{ id: string }>(sql`
    INSERT INTO voters (voting_event_id, id, name, email, email_key, voter_id, voter_id_key, group_id, weight_micro, status,
      source, key_status, created_at, updated_at)
    SELECT * FROM unnest(${texts((row) => row.votingEventId)}, ${texts((row) => row.id)}, ${texts((row) => row.name)},
      ${texts((row) => row.email)}, ${texts((row) => row.emailKey)}, ${texts((row) => row.voterId)},
      ${texts((row) => row.voterIdKey)}, ${texts((row) => row.groupId)}, ${numbers((row) => row.weightMicro)},
      ${texts((row) => row.status)}, ${texts((row) => row.source)}, ${texts((row) => row.keyStatus)},
      ${numbers((row) => row.createdAt)}, ${numbers((row) => row.updatedAt)})
    ON CONFLICT DO NOTHING RETURNING id`);
  return new Set(inserted.map((row) => row.id));
}

/** Which of these e-mails and voter IDs the event already has. */
export async function findTaken(tx: Executor, eventId: string, emails: string[], voterIds: string[]) {
  const rows = await tx
    .select({ emailKey: voters.emailKey, voterIdKey: voters.voterIdKey })
    .from(voters)
    .where(
      and(
        eq(voters.votingEventId, eventId),
        or(
          inArray(voters.emailKey, emails.length > 0 ? emails : ['']),
          inArray(voters.voterIdKey, voterIds.length > 0 ? voterIds : ['']),
        ),
      ),
    );
  return { emails: new Set(rows.map((row) => row.emailKey)), voterIds: new Set(rows.map((row) => row.voterIdKey)) };
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

/** @throws a unique violation of `voters_email` or `voters_voter_id` */
export async function storeVoter(
  tx: Transaction,
  eventId: string,
  id: string,
  changes: Partial<NewVoter>,
): Promise<void> {
  await tx
    .update(voters)
    .set(changes)
    .where(and(eq(voters.votingEventId, eventId), eq(voters.id, id)));
}

/** Whether any of these voters has a ballot, pending or confirmed, that depends on its weight and group. Takes no lock: call with the event locked. */
export async function hasBallot(tx: Transaction, eventId: string, voterIds: readonly string[]): Promise<boolean> {
  const ids = sql`${sql.param([...voterIds])}::text[]`;
  const { rows } = await tx.execute<{ found: boolean }>(sql`
    SELECT EXISTS (SELECT 1 FROM pending_ballots WHERE voting_event_id = ${eventId} AND participant = ANY (${ids})) OR
           EXISTS (SELECT 1 FROM participation WHERE voting_event_id = ${eventId} AND participant = ANY (${ids})) OR
           EXISTS (SELECT 1 FROM voters WHERE voting_event_id = ${eventId} AND id = ANY (${ids}) AND source = 'poll') AS found`);
  return rows[0]?.found === true;
}

/** Removes up to so many voters whose deletion was queued, and their keys; returns how many. Doing it again changes nothing. */
export async function removeDeletedVoters(tx: Transaction, eventId: string, maxRows: number): Promise<number> {
  // A row that is being rewritten at this moment would be missed.
  await holdEvent(tx, eventId);
  const { rows } = await tx.execute<{ count: number }>(sql`
    WITH gone AS (DELETE FROM voters WHERE voting_event_id = ${eventId} AND ctid = ANY (ARRAY(
        SELECT ctid FROM voters WHERE voting_event_id = ${eventId} AND deleted_at IS NOT NULL LIMIT ${maxRows})) RETURNING id),
      keys AS (DELETE FROM voter_keys k USING gone WHERE k.voting_event_id = ${eventId} AND k.voter_id = gone.id)
    SELECT count(*)::int AS count FROM gone`);
  return rows[0]?.count ?? 0;
}

/** Voters of an event by how they count: what the organizer added, registrations that hold a place, and rejected ones, which hold none. */
type VoterPlace = 'organizer' | 'registration' | 'rejected_registration';

/** The place that a voter takes. Those of the organizer keep theirs whatever their status is. */
export function placeOf({ source, status }: Pick<Voter, 'source' | 'status'>): VoterPlace {
  if (source !== 'registration') return 'organizer';
  return status === 'rejected' ? 'rejected_registration' : 'registration';
}

/** How the counters of an event change when it has more voters of a place, or fewer. */
function countVoters(place: VoterPlace, count: number) {
  return {
    voterCount: sql`greatest(${votingEvents.voterCount} + ${count}, 0)`,
    ...(place === 'registration'
      ? { registrationCount: sql`greatest(${votingEvents.registrationCount} + ${count}, 0)` }
      : {}),
    ...(place === 'rejected_registration'
      ? { rejectedRegistrationCount: sql`greatest(${votingEvents.rejectedRegistrationCount} + ${count}, 0)` }
      : {}),
  };
}

/** The organizer's own voters: all but those that registered themselves. */
const organizersOwn = sql`${votingEvents.voterCount} - ${votingEvents.registrationCount} - ${votingEvents.rejectedRegistrationCount}`;

/**
 * Adds voters to the event's counters within the ceiling of their place, while the roll is open: one conditional update,
 * which no race can pass, neither with other voters nor with the close.
 */
export async function takeVotersFromPlan(
  tx: Transaction,
  eventId: string,
  place: 'organizer' | 'registration',
  count: number,
  max: number,
): Promise<'taken' | 'full' | 'closed'> {
  const held = place === 'registration' ? sql`${votingEvents.registrationCount}` : organizersOwn;
  const rows = await tx
    .update(votingEvents)
    .set(countVoters(place, count))
    .where(
      and(
        eq(votingEvents.id, eventId),
        sql`${held} + ${count} <= ${max}`,
        sql`event_status(voting_events, now_ms()) <> 'closed'`,
      ),
    )
    .returning({ id: votingEvents.id });
  if (rows.length === 1) return 'taken';
  const { rows: found } = await tx.execute<{ status: string }>(
    sql`SELECT event_status(e, now_ms()) AS status FROM voting_events e WHERE id = ${eventId}`,
  );
  return found[0]?.status === 'closed' ? 'closed' : 'full';
}

/** How many voters of the organizer's own an event has. */
export async function countOrganizersVoters(executor: Executor, eventId: string): Promise<number> {
  const [row] = await executor
    .select({ count: sql<number>`${organizersOwn}` })
    .from(votingEvents)
    .where(eq(votingEvents.id, eventId));
  return row?.count ?? 0;
}

/** Holds the event's number of voters until the transaction ends: first the event, then its voters, as everywhere. */
export async function holdVoterCount(tx: Transaction, eventId: string): Promise<number | undefined> {
  const { rows } = await tx.execute<{ count: number }>(
    sql`SELECT voter_count AS count FROM voting_events WHERE id = ${eventId} FOR NO KEY UPDATE`,
  );
  return rows[0]?.count;
}

/** Gives places back, when voters are deleted or change their place. */
export async function giveVotersBack(
  tx: Transaction,
  eventId: string,
  place: VoterPlace,
  count: number,
): Promise<void> {
  await tx.update(votingEvents).set(countVoters(place, -count)).where(eq(votingEvents.id, eventId));
}

/** Counts registrations as rejected: their places are free for others. */
export async function keepRejected(tx: Transaction, eventId: string, count: number): Promise<void> {
  await giveVotersBack(tx, eventId, 'registration', count);
  await tx.update(votingEvents).set(countVoters('rejected_registration', count)).where(eq(votingEvents.id, eventId));
}
