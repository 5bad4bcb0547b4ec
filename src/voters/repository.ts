import { and, asc, eq, gt, inArray, isNull, lte, or, type SQL, sql } from 'drizzle-orm';
import type { Executor, Transaction } from '#src/database/client.ts';

import { holdsText } from '#src/database/search.ts';
import { DAY_MS } from '#src/platform/clock.ts';
import { holdEvent } from '#src/voting-events/repository.ts';

import { votingEvents } from '#src/voting-events/tables.ts';
import type { Identity } from './identity.ts';
import { voterKeys, voters } from './tables.ts';
import type { Voter, VoterStatus } from './types.ts';

export type NewVoter = typeof voters.$inferInsert;

/**
 * A poll's participant is listed because it voted; everybody else voted when the participation of the same event names them.
 * With the table's name written out: Drizzle leaves it away in a selection from one table, and inside of the subquery
 * `voting_event_id` alone would be the participation's own, so that votes of other events counted.
 */
const hasVoted = sql<boolean>`(voters.source = 'poll' OR EXISTS (
  SELECT 1 FROM participation p WHERE p.voting_event_id = voters.voting_event_id
    AND p.participant IN (voters.id, 'i:' || voters.voter_id_key, 'e:' || voters.email_key)))`;

const columns = {
  id: voters.id,
  votingEventId: voters.votingEventId,
  name: voters.name,
  email: voters.email,
  voterId: voters.voterId,
  groupId: voters.groupId,
  weightMicro: voters.weightMicro,
  status: voters.status,
  hasVoted,
  source: voters.source,
  keyStatus: voters.keyStatus,
  createdAt: voters.createdAt,
  updatedAt: voters.updatedAt,
};

export async function findVoter(executor: Executor, eventId: string, id: string): Promise<Voter | undefined> {
  const [row] = await executor
    .select(columns)
    .from(voters)
    .where(
      and(eq(voters.votingEventId, eventId), eq(voters.id, id), isNull(voters.deletedAt), isNull(voters.erasedAt)),
    );
  return row;
}

/** The voters of these IDs that the event has, in the order of their creation. */
export async function listVotersByIds(executor: Executor, eventId: string, ids: readonly string[]): Promise<Voter[]> {
  return executor
    .select(columns)
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
}

export async function findVoterByIdentity(
  executor: Executor,
  eventId: string,
  identity: Identity,
): Promise<Voter | undefined> {
  const column = identity.kind === 'email' ? voters.emailKey : voters.voterIdKey;
  const [row] = await executor
    .select(columns)
    .from(voters)
    .where(
      and(
        eq(voters.votingEventId, eventId),
        eq(column, identity.key),
        isNull(voters.deletedAt),
        isNull(voters.erasedAt),
      ),
    );
  return row;
}

export interface VoterFilter {
  readonly search: string | undefined;
  readonly status: VoterStatus | undefined;
  readonly groupId: string | undefined;
  readonly voted: boolean | undefined;
  readonly after: string | undefined;
}

/** Rows that a filter looks at for one page: it costs the same however long the roll is. */
const LOOKED_AT = 1_000;

export interface VoterPage {
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
  const ids = executor.select({ id: voters.id }).from(voters).where(listed).orderBy(asc(voters.id));
  const filtered = [filter.search, filter.status, filter.groupId, filter.voted].some((value) => value !== undefined);
  // Without a filter every row that is looked at is given.
  const [last, beyond] = filtered ? await ids.offset(LOOKED_AT - 1).limit(2) : [];
  const rows = await executor
    .select(columns)
    .from(voters)
    .where(
      and(
        listed,
        last === undefined ? undefined : lte(voters.id, last.id),
        filter.status === undefined ? undefined : eq(voters.status, filter.status),
        filter.groupId === undefined ? undefined : eq(voters.groupId, filter.groupId),
        filter.voted === undefined ? undefined : filter.voted ? (hasVoted as SQL) : sql`NOT ${hasVoted}`,
        holdsText(filter.search, voters.name, voters.email, voters.voterId),
      ),
    )
    .orderBy(asc(voters.id))
    .limit(limit + 1);
  const page = rows.slice(0, limit);
  if (rows.length > limit) return { voters: page, after: page.at(-1)?.id ?? null };
  return { voters: page, after: beyond === undefined ? null : (last?.id ?? null) };
}

/**
 * Inserts voters, leaving out those whose e-mail or voter ID is taken. Returns the IDs that were inserted.
 * One array a column: a parameter a value would cost several times as much for each row.
 */
export async function insertVoters(tx: Transaction, rows: readonly NewVoter[]): Promise<Set<string>> {
  const texts = (value: (row: NewVoter) => unknown) => sql`${sql.param(rows.map(value))}::text[]`;
  const numbers = (value: (row: NewVoter) => unknown) =>
    sql`${sql.param(rows.map((row) => String(value(row))))}::bigint[]`;
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
export async function updateVoter(
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

/** Voters of an event by how they count: what the organizer added, registrations that hold a place, and rejected ones, which hold none. */
export type VoterPlace = 'organizer' | 'registration' | 'rejected_registration';

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

/** Whether any of these voters has a ballot, pending or confirmed, that depends on its weight and group. Locks out nothing: call with the event locked. */
export async function hasBallot(tx: Transaction, eventId: string, voterIds: readonly string[]): Promise<boolean> {
  const ids = sql`${sql.param([...voterIds])}::text[]`;
  const { rows } = await tx.execute<{ found: boolean }>(sql`
    SELECT EXISTS (SELECT 1 FROM pending_ballots WHERE voting_event_id = ${eventId} AND participant = ANY (${ids})) OR
           EXISTS (SELECT 1 FROM participation WHERE voting_event_id = ${eventId} AND participant = ANY (${ids})) OR
           EXISTS (SELECT 1 FROM voters WHERE voting_event_id = ${eventId} AND id = ANY (${ids}) AND source = 'poll') AS found`);
  return rows[0]?.found === true;
}

/** Removes voters whose deletion was queued, and their keys. Doing it again changes nothing. */
export async function removeDeletedVoters(tx: Transaction, eventId: string): Promise<void> {
  // A row that is written anew at this moment would be passed over.
  await holdEvent(tx, eventId);
  await tx.execute(sql`
    WITH gone AS (DELETE FROM voters WHERE voting_event_id = ${eventId} AND deleted_at IS NOT NULL RETURNING id)
    DELETE FROM voter_keys k USING gone WHERE k.voting_event_id = ${eventId} AND k.voter_id = gone.id`);
}

// Voter keys

/** Stores a key's hash beside the earlier ones, which stay valid; false when the voter has another address by now, or none. */
export async function insertVoterKey(
  tx: Transaction,
  eventId: string,
  voterId: string,
  email: string,
  keyHash: Buffer,
): Promise<boolean> {
  // Keys are also written anew when the roll is mixed, and dropped with an address, under the lock that this one waits for.
  await holdEvent(tx, eventId);
  const { rowCount } = await tx.execute(sql`
    INSERT INTO voter_keys (voting_event_id, voter_id, key_hash, number)
    SELECT v.voting_event_id, v.id, ${keyHash}, (SELECT coalesce(max(number), 0) + 1 FROM voter_keys k
      WHERE k.voting_event_id = v.voting_event_id AND k.voter_id = v.id)
    FROM voters v WHERE v.voting_event_id = ${eventId} AND v.id = ${voterId} AND v.email = ${email}
      AND v.status <> 'rejected' AND v.deleted_at IS NULL`);
  return rowCount === 1;
}

/** Ends every key of these voters. */
export async function deleteVoterKeys(tx: Transaction, eventId: string, voterIds: readonly string[]): Promise<void> {
  await tx
    .delete(voterKeys)
    .where(and(eq(voterKeys.votingEventId, eventId), inArray(voterKeys.voterId, [...voterIds])));
}

export async function deleteVoterKey(
  executor: Executor,
  eventId: string,
  voterId: string,
  keyHash: Buffer,
): Promise<void> {
  await executor
    .delete(voterKeys)
    .where(and(eq(voterKeys.votingEventId, eventId), eq(voterKeys.voterId, voterId), eq(voterKeys.keyHash, keyHash)));
}

/** Counts one request of an identity within the hour; returns how many there were, this one included. */
export async function countKeyRequest(
  tx: Transaction,
  eventId: string,
  identity: Buffer,
  windowMs: number,
): Promise<number> {
  const { rows } = await tx.execute<{ requests: number }>(sql`
    INSERT INTO voter_key_requests AS r (voting_event_id, identity, window_started_at, requests)
    VALUES (${eventId}, ${identity}, now_ms(), 1)
    ON CONFLICT (voting_event_id, identity) DO UPDATE SET
      requests = CASE WHEN r.window_started_at > now_ms() - ${windowMs} THEN r.requests + 1 ELSE 1 END,
      window_started_at = CASE WHEN r.window_started_at > now_ms() - ${windowMs} THEN r.window_started_at ELSE now_ms() END
    RETURNING requests`);
  return rows[0]?.requests ?? 1;
}

// Registrations

/** How long the link mailed at registration may stay unused. */
const CONFIRM_WITHIN_MS = 7 * DAY_MS;
/** Registrations that one run ends: the rest is for the next. */
const EXPIRED_TOGETHER = 1_000;

const waiting = (eventId: string): SQL =>
  sql`voting_event_id = ${eventId} AND source = 'registration' AND status = 'pending' AND confirm_by IS DISTINCT FROM 0 AND deleted_at IS NULL`;

export async function startConfirmation(tx: Transaction, eventId: string, voterId: string): Promise<void> {
  await tx.execute(
    sql`UPDATE voters SET confirm_by = now_ms() + ${CONFIRM_WITHIN_MS} WHERE ${waiting(eventId)} AND id = ${voterId}`,
  );
}

/** After a mail that did not go out: what was not asked for is not waited for. */
export async function stopConfirmation(tx: Transaction, eventId: string, voterId: string): Promise<void> {
  await tx.execute(sql`UPDATE voters SET confirm_by = NULL WHERE ${waiting(eventId)} AND id = ${voterId}`);
}

/** Call with the event locked. False where no voter has this address any more. */
export async function markAddressConfirmed(
  tx: Transaction,
  eventId: string,
  voterId: string,
  address: string,
): Promise<boolean> {
  const { rowCount } = await tx.execute(sql`
    UPDATE voters SET confirm_by = 0
    WHERE voting_event_id = ${eventId} AND id = ${voterId} AND email_key = ${address} AND deleted_at IS NULL`);
  return rowCount === 1;
}

export async function listEventsWithExpired(executor: Executor): Promise<string[]> {
  const { rows } = await executor.execute<{ id: string }>(sql`
    SELECT DISTINCT voting_event_id AS id FROM (
      SELECT voting_event_id FROM voters WHERE confirm_by > 0 AND confirm_by < now_ms() AND status = 'pending' AND deleted_at IS NULL
      ORDER BY confirm_by, voting_event_id LIMIT 10000) AS v`);
  return rows.map(({ id }) => id);
}

async function takeWaiting(tx: Transaction, which: SQL, deletedAt: number): Promise<string[]> {
  const { rows } = await tx.execute<{ id: string }>(sql`
    UPDATE voters SET deleted_at = ${deletedAt}, email_key = NULL, voter_id_key = NULL WHERE ${which} RETURNING id`);
  return rows.map(({ id }) => id);
}

/** Marks registrations as deleted whose time is over. Call with the event locked. */
export function takeExpired(tx: Transaction, eventId: string, nowMs: number): Promise<string[]> {
  const due = sql`SELECT id FROM voters WHERE ${waiting(eventId)} AND confirm_by < ${nowMs} ORDER BY id LIMIT ${EXPIRED_TOGETHER}`;
  return takeWaiting(tx, sql`${waiting(eventId)} AND id IN (${due})`, nowMs);
}

export function takeRefused(tx: Transaction, eventId: string, voterId: string, nowMs: number): Promise<string[]> {
  return takeWaiting(tx, sql`${waiting(eventId)} AND id = ${voterId}`, nowMs);
}
