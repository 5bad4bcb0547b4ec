import { and, asc, eq, getTableColumns, gt, ilike, or, type SQL, sql } from 'drizzle-orm';
import { unionAll } from 'drizzle-orm/pg-core';
import type { Executor, Transaction } from '#src/database/client.ts';
import { containsPattern } from '#src/platform/text.ts';
import { eventInvites, votingEvents } from './tables.ts';
import type { EventStatus, EventType, VotingEvent } from './types.ts';

export type EventRow = typeof votingEvents.$inferSelect;
export type NewEventRow = typeof votingEvents.$inferInsert;

/** Whether a reference can be a code at all: letters and digits only, so that it is compared without surprises. */
const CODE = /^[A-Za-z0-9]{6,12}$/;

export function isCode(reference: string): boolean {
  return CODE.test(reference);
}

function byReference(reference: string): SQL | undefined {
  return isCode(reference) ? eq(votingEvents.codeKey, reference.toLowerCase()) : eq(votingEvents.id, reference);
}

/** The event that an ID or code names, whoever owns it. */
export async function findEvent(executor: Executor, reference: string): Promise<VotingEvent | undefined> {
  const [row] = await executor.select().from(votingEvents).where(byReference(reference));
  return row;
}

export async function findEventById(executor: Executor, id: string): Promise<VotingEvent | undefined> {
  const [row] = await executor.select().from(votingEvents).where(eq(votingEvents.id, id));
  return row;
}

/** Locks the event for a change of what ballots depend on: casts and confirms wait, and are then judged by what was decided. */
export async function lockEvent(tx: Transaction, id: string): Promise<VotingEvent | undefined> {
  const [row] = await tx.select().from(votingEvents).where(eq(votingEvents.id, id)).for('update');
  return row;
}

/** Holds an event as it is: what `lockEvent` guards cannot change before this transaction ends. */
export async function holdEvent(tx: Transaction, id: string): Promise<VotingEvent | undefined> {
  const [row] = await tx.select().from(votingEvents).where(eq(votingEvents.id, id)).for('key share');
  return row;
}

/** @throws a unique violation of `voting_events_code` when the code is taken */
export async function insertEvent(tx: Transaction, row: NewEventRow): Promise<VotingEvent> {
  const [inserted] = await tx.insert(votingEvents).values(row).returning();
  if (inserted === undefined) throw new Error('an insert returned no row');
  return inserted;
}

/** Changes an event and gives its paper a new version, so that no ballot is judged by the old one. */
export async function updateEvent(tx: Transaction, id: string, changes: Partial<NewEventRow>): Promise<VotingEvent> {
  const [row] = await tx
    .update(votingEvents)
    .set({ ...changes, paperVersion: sql`${votingEvents.paperVersion} + 1` })
    .where(eq(votingEvents.id, id))
    .returning();
  if (row === undefined) throw new Error('a locked event is gone');
  return row;
}

/** Notes that a status was told; undefined when it was told already. Nothing that a ballot depends on changes. */
export async function markAnnounced(
  tx: Transaction,
  id: string,
  status: 'open' | 'closed',
): Promise<VotingEvent | undefined> {
  const [row] = await tx
    .update(votingEvents)
    .set({ announcedStatus: status })
    .where(and(eq(votingEvents.id, id), sql`${votingEvents.announcedStatus} IS DISTINCT FROM ${status}`))
    .returning();
  return row;
}

/** Events that the clock has opened or closed, and of which nobody was told. */
export async function listTimedEvents(executor: Executor): Promise<string[]> {
  const { rows } = await executor.execute<{ id: string }>(sql`
    SELECT id FROM voting_events WHERE (starts_at IS NOT NULL OR ends_at IS NOT NULL)
      AND event_status(voting_events, now_ms()) IN ('open', 'closed')
      AND announced_status IS DISTINCT FROM event_status(voting_events, now_ms()) LIMIT 1000`);
  return rows.map(({ id }) => id);
}

export async function deleteEvent(tx: Transaction, id: string): Promise<void> {
  await tx.delete(votingEvents).where(eq(votingEvents.id, id));
}

/** Whether any ballot was cast: pending, queued or in the box. */
export async function hasBallots(executor: Executor, eventId: string): Promise<boolean> {
  const { rows } = await executor.execute<{ found: boolean }>(sql`
    SELECT EXISTS (SELECT 1 FROM pending_ballots WHERE voting_event_id = ${eventId}) OR
           EXISTS (SELECT 1 FROM ballot_queue WHERE voting_event_id = ${eventId}) OR
           EXISTS (SELECT 1 FROM ballots WHERE voting_event_id = ${eventId}) OR
           EXISTS (SELECT 1 FROM credit_balances WHERE voting_event_id = ${eventId}) AS found`);
  return rows[0]?.found === true;
}

/** Whether any ballot was confirmed. */
export async function hasConfirmedBallots(executor: Executor, eventId: string): Promise<boolean> {
  const { rows } = await executor.execute<{ found: boolean }>(sql`
    SELECT EXISTS (SELECT 1 FROM ballot_queue WHERE voting_event_id = ${eventId}) OR
           EXISTS (SELECT 1 FROM ballots WHERE voting_event_id = ${eventId}) AS found`);
  return rows[0]?.found === true;
}

export interface EventFilter {
  readonly accountId: string;
  readonly search: string | undefined;
  readonly status: EventStatus | undefined;
  readonly type: EventType | undefined;
  readonly after: string | undefined;
  readonly nowMs: number;
}

/** Events that an account may see in the order of their creation, one more than asked for when there are more. */
export async function listEvents(executor: Executor, filter: EventFilter, limit: number): Promise<VotingEvent[]> {
  const pattern = filter.search === undefined ? undefined : containsPattern(filter.search);
  const wanted = and(
    filter.after === undefined ? undefined : gt(votingEvents.id, filter.after),
    filter.type === undefined ? undefined : eq(votingEvents.type, filter.type),
    filter.status === undefined ? undefined : sql`event_status(voting_events, ${filter.nowMs}) = ${filter.status}`,
    pattern === undefined ? undefined : or(ilike(votingEvents.title, pattern), ilike(votingEvents.code, pattern)),
  );
  // Two ordered halves, each by its index: one condition for both would read the events of everybody.
  const own = executor
    .select()
    .from(votingEvents)
    .where(and(eq(votingEvents.accountId, filter.accountId), wanted))
    .orderBy(asc(votingEvents.id))
    .limit(limit + 1);
  const shared = executor
    .select(getTableColumns(votingEvents))
    .from(eventInvites)
    .innerJoin(votingEvents, eq(votingEvents.id, eventInvites.votingEventId))
    .where(and(eq(eventInvites.accountId, filter.accountId), wanted))
    .orderBy(asc(eventInvites.votingEventId))
    .limit(limit + 1);
  return unionAll(own, shared)
    .orderBy(sql`id`)
    .limit(limit + 1);
}

/** What still stands in the way of opening: no position, or positions without a candidate (their titles). */
export async function missingForOpening(
  executor: Executor,
  eventId: string,
): Promise<{ position: boolean; candidatesFor: string[] }> {
  const { rows } = await executor.execute<{ id: string; filled: boolean }>(sql`
    SELECT p.id, EXISTS (
      SELECT 1 FROM candidates c WHERE c.voting_event_id = p.voting_event_id AND c.deleted_at IS NULL
        AND c.status = 'approved' AND p.id = ANY (c.position_ids)) AS filled
    FROM positions p WHERE p.voting_event_id = ${eventId} AND p.deleted_at IS NULL ORDER BY p.sort_order, p.id`);
  return { position: rows.length === 0, candidatesFor: rows.filter((row) => !row.filled).map((row) => row.id) };
}
