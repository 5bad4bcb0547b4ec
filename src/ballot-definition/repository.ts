import { and, asc, eq, inArray, isNotNull, isNull, type SQL, sql, type Table } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import type { Pool } from 'pg';
import type { z } from 'zod';
import {
  type Executor,
  firstOf,
  isTrue,
  readNumber,
  runNamed,
  type Transaction,
  valuesOf,
} from '#src/database/client.ts';
import { rowOfJson } from '#src/database/columns.ts';
import { holdsText } from '#src/database/search.ts';
import { paperOf } from '#src/voting-events/lifecycle.ts';
import { votingEvents } from '#src/voting-events/tables.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import type { listCandidatesQuery } from './candidate.ts';
import type { listPositionsQuery } from './position.ts';
import { candidates, groups, positions, sponsors } from './tables.ts';
import type { Candidate, Group, Position, Sponsor } from './types.ts';

type NewCandidate = typeof candidates.$inferInsert;

/** A table whose rows belong to an event: all four tables share the same operations. */
type EventTable = PgTable & { readonly votingEventId: PgColumn; readonly id: PgColumn; readonly deletedAt?: PgColumn };

/** The rows of an event whose deletion is not queued, and that meet these conditions; the deletion of a sponsor is never queued. */
const inEvent = ({ votingEventId, deletedAt }: EventTable, eventId: string, ...conditions: (SQL | undefined)[]) =>
  and(eq(votingEventId, eventId), deletedAt === undefined ? undefined : isNull(deletedAt), ...conditions);

/** Operations on one row by its ID. Drizzle loses the types of a generic table; the signature of each function restores them. */
function rowsOf<Table extends EventTable>(table: Table) {
  type Row = Table['$inferSelect'];
  const plain: PgTable = table;
  const only = ([row]: readonly Row[]): Row => {
    if (row === undefined) throw new Error('a statement that returns one row returned none');
    return row;
  };
  const named = (eventId: string, id: string) => and(eq(table.votingEventId, eventId), eq(table.id, id));
  return {
    /** Undefined if there is no such row, or its deletion is queued. */
    find(executor: Executor, eventId: string, id: string): Promise<Row | undefined> {
      return firstOf(
        executor
          .select()
          .from(plain)
          .where(inEvent(table, eventId, eq(table.id, id))),
      );
    },
    /** @throws a unique violation if a group's name is taken (`groups_name`) */
    insert: async (tx: Transaction, row: Table['$inferInsert']): Promise<Row> =>
      only(await tx.insert(plain).values(row).returning()),
    update: async (
      tx: Transaction,
      eventId: string,
      id: string,
      changes: Partial<Table['$inferInsert']>,
    ): Promise<Row> => only(await tx.update(plain).set(changes).where(named(eventId, id)).returning()),
  };
}

/** Call when a credit budget changes: deletes the balances, with the earlier budget, of visitors whose ballots were dropped. */
export async function forgetIdleCredits(tx: Transaction, eventId: string): Promise<void> {
  await tx.execute(sql`SELECT forget_idle_credits(${eventId})`);
}

export const { find: findPosition, insert: insertPosition, update: updatePosition } = rowsOf(positions);
export const { find: findCandidate, insert: insertCandidate, update: updateCandidate } = rowsOf(candidates);
export const { find: findGroup, insert: insertGroup, update: updateGroup } = rowsOf(groups);
export const { find: findSponsor, insert: insertSponsor, update: updateSponsor } = rowsOf(sponsors);

export function findCandidateOfPayment(executor: Executor, eventId: string, attemptId: string) {
  const ofPayment = and(eq(candidates.votingEventId, eventId), eq(candidates.paymentAttemptId, attemptId));
  return firstOf(executor.select().from(candidates).where(ofPayment));
}

export async function listPositions(
  executor: Executor,
  eventId: string,
  filter: z.output<typeof listPositionsQuery> = {},
): Promise<Position[]> {
  return executor
    .select()
    .from(positions)
    .where(
      inEvent(
        positions,
        eventId,
        holdsText(filter.search, positions.title),
        filter.votingMethod === undefined ? undefined : eq(positions.votingMethod, filter.votingMethod),
        filter.groupId === undefined ? undefined : eq(positions.groupId, filter.groupId),
      ),
    )
    .orderBy(asc(positions.sortOrder), asc(positions.id));
}

type CandidateFilter = z.output<typeof listCandidatesQuery>;

export async function listCandidates(
  executor: Executor,
  eventId: string,
  filter: CandidateFilter = {},
): Promise<Candidate[]> {
  const found: Candidate[] = [];
  for (let last: Candidate | undefined; ; last = found.at(-1)) {
    const page = await listCandidatesAfter(executor, eventId, filter, last);
    found.push(...page);
    if (page.length < READ_TOGETHER) return found;
  }
}

/** Candidates read by one query: a thousand can have 20 MB, and parsing them at once would block the event loop. */
const READ_TOGETHER = 100;

async function listCandidatesAfter(
  executor: Executor,
  eventId: string,
  filter: CandidateFilter,
  last: Candidate | undefined,
): Promise<Candidate[]> {
  return executor
    .select()
    .from(candidates)
    .where(
      inEvent(
        candidates,
        eventId,
        last === undefined
          ? undefined
          : sql`(${candidates.sortOrder}, ${candidates.id}) > (${last.sortOrder}, ${last.id})`,
        holdsText(filter.search, candidates.name, candidates.email),
        filter.positionId === undefined ? undefined : sql`${filter.positionId} = ANY (${candidates.positionIds})`,
        filter.groupId === undefined ? undefined : eq(candidates.groupId, filter.groupId),
        filter.status === undefined ? undefined : eq(candidates.status, filter.status),
      ),
    )
    .orderBy(asc(candidates.sortOrder), asc(candidates.id))
    .limit(READ_TOGETHER);
}

const READ_BALLOT = `
  SELECT 'event' AS part, CASE WHEN t.final_at IS NOT DISTINCT FROM $3 AND $2 = t.paper_version || ' ' || event_ends(t.ends_at, t.closed_at,
    t.rehearsal_since, t.rehearsal_number, t.type, t.voter_approval, t.repeat_votes, t.require_voter_id) THEN 'null' ELSE to_json(t) END AS row, 0 AS place, '' AS id
    FROM voting_events t WHERE t.id = $1 AND t.deleted_at IS NULL
  UNION ALL SELECT 'position', to_json(t), t.sort_order, t.id FROM positions t WHERE t.voting_event_id = $1 AND t.deleted_at IS NULL
  UNION ALL (SELECT 'candidate', to_json(t), t.sort_order, t.id FROM candidates t
    WHERE t.voting_event_id = $1 AND t.deleted_at IS NULL ORDER BY t.sort_order, t.id LIMIT ${READ_TOGETHER})
  UNION ALL SELECT 'group', to_json(t), 0, t.id FROM groups t WHERE t.voting_event_id = $1 AND t.deleted_at IS NULL
  UNION ALL SELECT 'sponsor', to_json(t), t.sort_order, t.id FROM sponsors t WHERE t.voting_event_id = $1
  UNION ALL SELECT 'log', 'null', 0, '' FROM ballot_logs WHERE voting_event_id = $1
  ORDER BY place, id`;

/** The rows of a ballot, in the order of the lists above. */
export type BallotRows = Readonly<Awaited<ReturnType<typeof listParts>> & { mayBeLogged: boolean }>;

/**
 * Reads an event with its ballot in one statement, so that the first vote of an event costs little more than the next ones.
 * @param known the event as the caller has read it: its row is read again only if its version or end has changed
 * @returns undefined if the event is gone; 'large' if there may be more candidates than one statement should read
 */
export async function readSmallBallot(
  pool: Pool,
  eventId: string,
  known?: VotingEvent,
): Promise<(BallotRows & { readonly event: VotingEvent }) | 'large' | undefined> {
  const found = await runNamed<{ part: string; row: Record<string, unknown> }>(pool, 'read_ballot', READ_BALLOT, [
    // `findAccess` removes a forged `finalAt`. The row then differs and is read again, so that the ballot counts as forged.
    ...[eventId, known === undefined ? null : paperOf(known), known?.finalAt ?? null],
  ]);
  const rowsOf = <Of extends Table>(part: string, table: Of) =>
    found.filter((one) => one.part === part).map(({ row }) => rowOfJson(table, row));
  const isKnown = found.some(({ part, row }) => part === 'event' && row === null);
  const event = isKnown ? known : rowsOf('event', votingEvents)[0];
  if (event === undefined) return undefined;
  const rows = {
    positions: rowsOf('position', positions),
    candidates: rowsOf('candidate', candidates),
    groups: rowsOf('group', groups),
    sponsors: rowsOf('sponsor', sponsors),
    mayBeLogged: found.some(({ part }) => part === 'log'),
  };
  return rows.candidates.length < READ_TOGETHER ? { event, ...rows } : 'large';
}

/** Counts the approved candidates of each position in SQL: up to 100,000 pairs of candidate and position are too many to read. */
export async function countStanding(executor: Executor, eventId: string): Promise<ReadonlyMap<string, number>> {
  const { rows } = await executor.execute<{ position: string; standing: number }>(sql`
    SELECT position, count(*)::integer AS standing FROM candidates, unnest(position_ids) AS position
    WHERE voting_event_id = ${eventId} AND status = 'approved' AND deleted_at IS NULL GROUP BY position`);
  return new Map(rows.map(({ position, standing }) => [position, standing]));
}

/** IDs of the referendums that have no approved candidate. */
export async function listBareReferendums(tx: Transaction, eventId: string): Promise<string[]> {
  const bare = sql`
    SELECT p.id FROM positions p WHERE p.voting_event_id = ${eventId} AND p.deleted_at IS NULL AND p.voting_method = 'referendum'
      AND NOT EXISTS (SELECT 1 FROM candidates c WHERE c.voting_event_id = ${eventId} AND c.deleted_at IS NULL
        AND c.status = 'approved' AND p.id = ANY (c.position_ids)) ORDER BY p.sort_order, p.id`;
  return valuesOf(tx, bare);
}

export async function listCandidatesByIds(
  executor: Executor,
  eventId: string,
  ids: readonly string[],
): Promise<Candidate[]> {
  return executor
    .select()
    .from(candidates)
    .where(inEvent(candidates, eventId, inArray(candidates.id, [...ids])))
    .orderBy(asc(candidates.id));
}

export async function updateCandidates(
  tx: Transaction,
  eventId: string,
  ids: readonly string[],
  changes: Partial<NewCandidate>,
): Promise<Candidate[]> {
  return tx
    .update(candidates)
    .set(changes)
    .where(and(eq(candidates.votingEventId, eventId), inArray(candidates.id, [...ids])))
    .returning();
}

/** Removes the role of candidates that stand for no referendum and so may not have a role. @returns these candidates afterwards */
export async function takeStrayRoles(tx: Transaction, eventId: string, nowMs: number): Promise<Candidate[]> {
  const referendum = sql`SELECT FROM positions p WHERE p.voting_event_id = ${eventId} AND p.id = ANY (${candidates.positionIds})
    AND p.voting_method = 'referendum' AND p.deleted_at IS NULL`;
  return tx
    .update(candidates)
    .set({ referendumRole: null, updatedAt: nowMs })
    .where(inEvent(candidates, eventId, isNotNull(candidates.referendumRole), sql`NOT EXISTS (${referendum})`))
    .returning();
}

/** Removes a position from its candidates, and deletes candidates without another position. @returns all these candidates afterwards */
export async function withdrawPosition(
  tx: Transaction,
  eventId: string,
  positionId: string,
  nowMs: number,
): Promise<Candidate[]> {
  const { positionIds } = candidates;
  return tx
    .update(candidates)
    .set({
      positionIds: sql`array_remove(${positionIds}, ${positionId})`,
      deletedAt: sql`CASE WHEN ${positionIds} = ARRAY[${positionId}] THEN ${nowMs}::bigint END`,
      updatedAt: nowMs,
    })
    .where(inEvent(candidates, eventId, sql`${positionId} = ANY (${positionIds})`))
    .returning();
}

export async function listGroups(executor: Executor, eventId: string, search?: string): Promise<Group[]> {
  return executor
    .select()
    .from(groups)
    .where(inEvent(groups, eventId, holdsText(search, groups.name)))
    .orderBy(asc(groups.id));
}

export async function leaveGroup(
  tx: Transaction,
  eventId: string,
  groupId: string,
  nowMs: number,
): Promise<Candidate[]> {
  return tx
    .update(candidates)
    .set({ groupId: null, updatedAt: nowMs })
    .where(inEvent(candidates, eventId, eq(candidates.groupId, groupId)))
    .returning();
}

export async function listSponsors(executor: Executor, eventId: string, search?: string): Promise<Sponsor[]> {
  return executor
    .select()
    .from(sponsors)
    .where(inEvent(sponsors, eventId, holdsText(search, sponsors.name)))
    .orderBy(asc(sponsors.sortOrder), asc(sponsors.id));
}

/** All parts of a ballot. The transaction must hold the event's lock or read from one snapshot, or a part may be newer than another. */
export const listParts = async (executor: Executor, eventId: string) => ({
  positions: await listPositions(executor, eventId),
  candidates: await listCandidates(executor, eventId),
  groups: await listGroups(executor, eventId),
  sponsors: await listSponsors(executor, eventId),
});

export async function deleteSponsor(tx: Transaction, eventId: string, id: string): Promise<void> {
  await tx.delete(sponsors).where(and(eq(sponsors.votingEventId, eventId), eq(sponsors.id, id)));
}

/** Whether a registration for one of these positions is being or was paid, or a registration with one of these groups is being paid. */
export function isPaidFor(tx: Transaction, eventId: string, partIds: readonly string[]): Promise<boolean> {
  const ids = sql`${sql.param([...partIds])}::text[]`;
  const paid = sql`SELECT EXISTS (SELECT 1 FROM payment_attempts a
    WHERE a.voting_event_id = ${eventId} AND a.purpose = 'candidate_registration'
      AND a.refunded_at IS NULL AND a.reversed_at IS NULL AND (a.request -> 'positionIds' ?| ${ids}
      AND a.status IN ('created', 'pending', 'succeeded', 'fulfilled')
      OR a.request ->> 'groupId' = ANY (${ids}) AND a.status IN ('created', 'pending', 'succeeded')))`;
  return isTrue(tx, paid);
}

export const countVotersIn = (tx: Transaction, eventId: string, groupId: string): Promise<number> =>
  readNumber(tx, sql`SELECT sum(heads) FROM roll_figures WHERE voting_event_id = ${eventId} AND group_id = ${groupId}`);

export function isGroupOfSomebody(tx: Transaction, eventId: string, id: string): Promise<boolean> {
  const found = sql`
    SELECT EXISTS (SELECT 1 FROM candidates WHERE voting_event_id = ${eventId} AND group_id = ${id} AND deleted_at IS NULL)
      OR EXISTS (SELECT 1 FROM roll_figures WHERE voting_event_id = ${eventId} AND group_id = ${id} HAVING sum(heads) > 0)`;
  return isTrue(tx, found);
}

/** Whether the registration of any of these candidates was paid, and not refunded or reversed since. */
export function isAnyCandidatePaidFor(tx: Transaction, eventId: string, ids: readonly string[]): Promise<boolean> {
  const paid = sql`
    SELECT EXISTS (SELECT 1 FROM payment_attempts a JOIN candidates c
        ON c.voting_event_id = a.voting_event_id AND c.payment_attempt_id = a.id
      WHERE a.voting_event_id = ${eventId} AND a.purpose = 'candidate_registration' AND a.status = 'fulfilled'
        AND a.refunded_at IS NULL AND a.reversed_at IS NULL AND c.id = ANY (${sql.param([...ids])}::text[]))`;
  return isTrue(tx, paid);
}

/** Counts an event's rows of one kind. Exact while the event is locked, because every insert takes that lock. */
export function countRows(
  tx: Transaction,
  kind: 'positions' | 'groups' | 'sponsors',
  eventId: string,
): Promise<number> {
  const table = { positions, groups, sponsors }[kind];
  return tx.$count(table, inEvent(table, eventId));
}

type CandidateCounts = Record<'all' | 'organizers' | 'registrations' | 'standing', number>;

/** Counts candidates. `registrations`: self-registered and not rejected; `standing`: approved or withdrawn. */
export async function countCandidates(tx: Transaction, eventId: string): Promise<CandidateCounts> {
  const { rows } = await tx.execute<CandidateCounts>(sql`
    SELECT count(*)::int AS "all", (count(*) FILTER (WHERE source = 'organizer'))::int AS organizers,
      (count(*) FILTER (WHERE source = 'registration' AND status <> 'rejected'))::int AS registrations,
      (count(*) FILTER (WHERE status IN ('approved', 'withdrawn')))::int AS standing
    FROM candidates WHERE voting_event_id = ${eventId} AND deleted_at IS NULL`);
  return rows[0] ?? { all: 0, organizers: 0, registrations: 0, standing: 0 };
}

/** Deletes rows whose deletion was queued. Idempotent. */
export async function removeDeleted(
  executor: Executor,
  kind: 'positions' | 'candidates' | 'groups',
  eventId: string,
): Promise<void> {
  const table = { positions, candidates, groups }[kind];
  // Keeps groups that a position requires: the service never queues their deletion, so SQL outside the service marked them.
  const isFree =
    kind === 'groups'
      ? sql`AND id NOT IN (SELECT p.group_id FROM positions p WHERE p.voting_event_id = ${eventId} AND p.group_id IS NOT NULL AND p.deleted_at IS NULL)`
      : sql``;
  await executor.execute(
    sql`DELETE FROM ${table} WHERE voting_event_id = ${eventId} AND deleted_at IS NOT NULL ${isFree}`,
  );
}
