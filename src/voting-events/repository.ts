import { and, asc, eq, getTableColumns, gt, isNotNull, isNull, type SQL, sql } from 'drizzle-orm';
import { unionAll } from 'drizzle-orm/pg-core';
import type { z } from 'zod';
import {
  type Executor,
  firstOf,
  isTrue,
  type Transaction,
  valuesOf,
  violatedConstraint,
} from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { holdsText } from '#src/database/search.ts';
import { type TaggedRows, taggedRows } from '#src/database/tagged-rows.ts';
import { refuse } from '#src/http/refusals.ts';
import { HOUR_MS } from '#src/platform/clock.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import { arrivingCode } from './code-claims.ts';
import type { listEventsQuery } from './event-body.ts';
import { type DECIDING_COLUMNS, isGenuineEvent, rowOfEvent, rowOfInvite, tagOfEvent, UNSET } from './event-tag.ts';
import { isRehearsalOver, lifeOf, missedStart, statusAt } from './lifecycle.ts';
import { NO_POSITION, type OpeningFacts } from './opening.ts';
import { eventInvites, votingEvents } from './tables.ts';
import type { ShownStatus, VotingEvent } from './voting-event.ts';

export type NewEventRow = Omit<typeof votingEvents.$inferInsert, 'tag'>;
/** Columns that the tag of an event does not cover (`event-tag.ts`). */
type OtherColumns = Partial<Omit<NewEventRow, (typeof DECIDING_COLUMNS)[number]>>;

/** A code has only letters and digits, and an ID has an underscore, so that no text can be both. */
const CODE = /^[A-Za-z0-9]{6,12}$/;

export const isCode = (reference: string): boolean => CODE.test(reference);

/** Matches an event unless it is deleted. A job removes the rows of a deleted event later. */
const present = (id: string): SQL | undefined => and(eq(votingEvents.id, id), isNull(votingEvents.deletedAt));

/** The event of any account that has this ID or code. */
export function findEvent(executor: Executor, reference: string): Promise<VotingEvent | undefined> {
  const { id, codeKey, deletedAt } = votingEvents;
  const isNamed = isCode(reference) ? eq(codeKey, reference.toLowerCase()) : eq(id, reference);
  return firstOf(
    executor
      .select()
      .from(votingEvents)
      .where(and(isNamed, isNull(deletedAt))),
  );
}

export const findEventById = (executor: Executor, id: string): Promise<VotingEvent | undefined> =>
  firstOf(executor.select().from(votingEvents).where(present(id)).prepare('find_event').execute());

/** A locked event with the time of its lock by the database's clock. So every process derives the same phase from it. */
export type LockedEvent = VotingEvent & { readonly lockedAt: number };

/** Locks an event for a change on which ballots depend. Casts and confirms wait for the commit, and then see the change. */
export async function lockEvent(tx: Transaction, id: string): Promise<LockedEvent | undefined> {
  const locking = tx.select().from(votingEvents).where(present(id)).for('update').prepare('lock_event');
  const [row] = await locking.execute();
  if (row === undefined) return undefined;
  // Use a separate statement, because the locking statement could read the clock before it waits for the lock.
  const lockedAt = await readNow(tx);
  // An event that is not ready at its start does not open then, even if it becomes ready before its rehearsal is wiped (`endRehearsal`).
  if (isRehearsalOver(row, lockedAt) && !row.ready && row.missedStartAt === null)
    return { ...(await updateEvent(tx, id, { missedStartAt: row.startsAt })), lockedAt };
  const missedStartAt = missedStart(row, lockedAt);
  if (missedStartAt === null) return { ...row, lockedAt };
  // The event was not ready at its start. Clear the start: otherwise the event would open as soon as a change makes it ready.
  return { ...(await updateEvent(tx, id, { startsAt: null, missedStartAt })), lockedAt };
}

/** Reads an event under a shared lock. `lockEvent` waits until this transaction ends; other calls of `holdEvent` do not wait. */
export const holdEvent = (tx: Transaction, id: string): Promise<VotingEvent | undefined> =>
  firstOf(tx.select().from(votingEvents).where(present(id)).for('key share').prepare('hold_event').execute());

/** A row or body without its undefined fields. */
export const givenOf = <Row extends object>(row: Row): { [Column in keyof Row]: Exclude<Row[Column], undefined> } =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined)) as never;

/** The row that a statement wrote. A unique index decides whether a code is free. @throws ApiError 409 `code_in_use` */
async function written(rows: Promise<VotingEvent[]>): Promise<VotingEvent> {
  const [row] = await rows.catch((fault: unknown) => {
    throw violatedConstraint(fault) === 'voting_events_code' ? refuse('code_in_use', { field: 'code' }) : fault;
  });
  if (row === undefined) throw new Error('an event is gone, or an old copy of it was to be written');
  return row;
}

/** @throws ApiError 409 `code_in_use`. A random code has 40 bits, and is almost never taken; if it is, the client may retry. */
export async function insertEvent(tx: Transaction, secrets: Secrets, row: NewEventRow): Promise<VotingEvent> {
  const tag = tagOfEvent(secrets, { ...UNSET, ...givenOf(row) });
  const values = { missing: [NO_POSITION], ...row, tag };
  return written(tx.insert(votingEvents).values(values).returning().execute());
}

const writeEvent = (tx: Transaction, which: SQL | undefined, changes: object): Promise<VotingEvent> =>
  written(tx.update(votingEvents).set(changes).where(which).returning().execute());

const saveEvent = (tx: Transaction, which: SQL | undefined, changes: object): Promise<VotingEvent> =>
  writeEvent(tx, which, { ...changes, definitionVersion: sql`${votingEvents.definitionVersion} + 1` });

/** Matches an event only if its tag is as it was read: a tag over the read columns would make a changed row look forged. */
const asRead = ({ id, tag }: VotingEvent): SQL | undefined => and(eq(votingEvents.id, id), eq(votingEvents.tag, tag));

/** Changes untagged columns, and raises the version of the definition: no ballot that was validated under the old version is stored. */
export const updateEvent = (tx: Transaction, id: string, changes: OtherColumns): Promise<VotingEvent> =>
  saveEvent(tx, eq(votingEvents.id, id), changes);

/** As `updateEvent`, for any column. @param before the locked event @throws ApiError 500 `rows_disagree` if forged, 409 `code_in_use` */
export const updateTaggedEvent = async (
  tx: Transaction,
  secrets: Secrets,
  before: VotingEvent,
  changes: Partial<NewEventRow>,
): Promise<VotingEvent> => saveEvent(tx, asRead(before), { ...changes, tag: changedTag(secrets, before, changes) });

/** The tag of an event after a change. @throws ApiError 500 `rows_disagree` if the service did not write the row's present values */
function changedTag(secrets: Secrets, before: VotingEvent, changes: Partial<NewEventRow>): Buffer {
  if (!isGenuineEvent(secrets, before)) throw refuse('rows_disagree');
  return tagOfEvent(secrets, { ...before, ...givenOf(changes) });
}

/** As `updateTaggedEvent`, but for tagged columns on which no ballot depends: the definition keeps its version. */
export async function noteInEvent(
  tx: Transaction,
  secrets: Secrets,
  before: VotingEvent,
  changes: Partial<
    Pick<
      VotingEvent,
      'inviteGeneration' | 'identityChanges' | 'rollChanges' | 'finalAt' | 'lettersPrinted' | 'rehearsalLetters'
    >
  >,
): Promise<void> {
  await writeEvent(tx, asRead(before), { ...changes, tag: changedTag(secrets, before, changes) });
}

/** Sets untagged columns if the condition `unless` is true. @returns the event afterwards; undefined if nothing changed */
function noteUnless(
  executor: Executor,
  id: string,
  note: Partial<Pick<VotingEvent, 'alarm' | 'announcedStatus' | 'resultsAnnounced'>>,
  unless: SQL | undefined,
): Promise<VotingEvent | undefined> {
  const which = and(eq(votingEvents.id, id), unless);
  return firstOf(executor.update(votingEvents).set(note).where(which).returning());
}

/** Marks an event as disputed. The first alarm stays until `clearDispute`. @param alarm its name in the service's log output */
export const markDisputed = (executor: Executor, id: string, alarm: string) =>
  noteUnless(executor, id, { alarm }, isNull(votingEvents.alarm));

export const clearDispute = (executor: Executor, id: string) =>
  noteUnless(executor, id, { alarm: null }, isNotNull(votingEvents.alarm));

/** Stores that a status was announced; undefined if it is stored already. */
export const markAnnounced = (tx: Transaction, id: string, status: NonNullable<VotingEvent['announcedStatus']>) =>
  noteUnless(tx, id, { announcedStatus: status }, sql`${votingEvents.announcedStatus} IS DISTINCT FROM ${status}`);

/** Stores that the publication of the results was announced; undefined if it is stored already. */
export const markResultsAnnounced = (tx: Transaction, id: string) =>
  noteUnless(tx, id, { resultsAnnounced: true }, eq(votingEvents.resultsAnnounced, false));

/** Stores when the log was closed, which makes the result final. @throws ApiError 500 `rows_disagree` if the event is forged */
export const markFinal = (tx: Transaction, secrets: Secrets, event: VotingEvent, finalAt: number): Promise<void> =>
  noteInEvent(tx, secrets, event, { finalAt });

const LIFE = sql.raw(lifeOf('voting_events'));

/**
 * At most 1,000 events with an unannounced change by the clock: opening, missed start, close, results, end of a rehearsal. The order is
 * random, so that events that fail do not block others.
 */
export function listTimedEvents(executor: Executor): Promise<string[]> {
  const due = sql`
    SELECT id FROM (
      SELECT id FROM voting_events WHERE rehearsal_since IS NOT NULL AND starts_at <= now_ms() AND deleted_at IS NULL
      UNION ALL
      SELECT id FROM voting_events WHERE (starts_at IS NOT NULL OR ends_at IS NOT NULL) AND deleted_at IS NULL AND rehearsal_since IS NULL
        AND announced_status IS DISTINCT FROM 'closed' AND event_status(${LIFE}, now_ms()) IN ('open', 'closed')
        AND announced_status IS DISTINCT FROM event_status(${LIFE}, now_ms())
      UNION ALL
      SELECT id FROM voting_events WHERE starts_at <= now_ms() AND opened_at IS NULL AND closed_at IS NULL AND NOT ready
        AND rehearsal_since IS NULL AND deleted_at IS NULL
      UNION ALL
      SELECT id FROM voting_events WHERE missed_start_at IS NOT NULL AND announced_status IS DISTINCT FROM 'not_opened'
        AND deleted_at IS NULL
      UNION ALL
      SELECT id FROM voting_events WHERE results_visibility = 'published' AND NOT results_announced AND deleted_at IS NULL
        AND is_final(${LIFE}, now_ms())
    ) AS due GROUP BY id ORDER BY random() LIMIT 1000`;
  return valuesOf(executor, due);
}

/** An event's key is checked from this long before its start on. */
const LOOKED_AFTER_HOURS = 24;

/** Events whose key must be checked: their start is near, or the last check found no key. */
export async function listKeyedStarts(executor: Executor): Promise<VotingEvent[]> {
  return executor
    .select()
    .from(votingEvents)
    .where(
      sql`starts_at > now_ms() AND opened_at IS NULL AND (closed_at IS NULL OR rehearsal_since IS NOT NULL) AND deleted_at IS NULL
        AND ballot_key IS NOT NULL AND (starts_at < now_ms() + ${LOOKED_AFTER_HOURS * HOUR_MS}::bigint
          OR missing @> '[{"reason": "keys_unavailable"}]')`,
    )
    .orderBy(asc(votingEvents.startsAt))
    .limit(1_000);
}

/** Whether a ballot was cast (pending, queued or logged), a visitor bought or uses credits, or a payment for either is begun or made. */
export function hasBallots(executor: Executor, eventId: string): Promise<boolean> {
  const found = sql`SELECT ${confirmed(eventId)} OR
    EXISTS (SELECT 1 FROM pending_ballots WHERE voting_event_id = ${eventId}) OR
    EXISTS (SELECT 1 FROM credit_balances WHERE voting_event_id = ${eventId} AND (purchased > 0 OR held > 0 OR spent > 0)) OR
    EXISTS (SELECT 1 FROM payment_attempts WHERE voting_event_id = ${eventId} AND purpose IN ('vote', 'quadratic_credits') AND ${BOUGHT})`;
  return isTrue(executor, found);
}

/** SQL: whether an event has confirmed ballots, queued or logged. */
const confirmed = (eventId: string): SQL => sql`(
  EXISTS (SELECT 1 FROM ballot_queue WHERE voting_event_id = ${eventId}) OR
  EXISTS (SELECT 1 FROM ballot_blocks WHERE voting_event_id = ${eventId}))`;

export const hasConfirmedBallots = (executor: Executor, eventId: string): Promise<boolean> =>
  isTrue(executor, sql`SELECT ${confirmed(eventId)}`);

/** SQL: whether a payment attempt is under way, or has bought something. */
const BOUGHT = sql`status IN ('created', 'pending', 'succeeded', 'fulfilled')`;

/** Stores the opening of an event that was ready when its start came. It then stays open even if it is no longer ready. */
export async function keepOpening(tx: Transaction, eventId: string): Promise<void> {
  await tx.execute(sql`
    UPDATE voting_events SET opened_at = starts_at
    WHERE id = ${eventId} AND opened_at IS NULL AND rehearsal_since IS NULL AND was_opened(${LIFE}, now_ms())`);
}

/** Unpaid ballots with credits that one statement drops; each takes almost a millisecond. */
const DROPPED_TOGETHER = 1_000;

/** Deletes pending ballots without a payment. Call with the event locked. */
export async function dropUnpaidBallots(tx: Transaction, eventId: string): Promise<void> {
  for (let done = false; !done; )
    done = await isTrue(tx, sql`SELECT drop_unpaid_ballots(${eventId}, ${DROPPED_TOGETHER})`);
}

/** Whether somebody has begun to pay for a vote. */
export const hasPaidVotes = (tx: Transaction, eventId: string): Promise<boolean> =>
  isTrue(
    tx,
    sql`SELECT EXISTS (SELECT 1 FROM payment_attempts WHERE voting_event_id = ${eventId} AND purpose = 'vote')`,
  );

/** Whether a payment is under way, or has bought something that would be lost with the event. */
export const hasPayments = (tx: Transaction, eventId: string): Promise<boolean> =>
  isTrue(tx, sql`SELECT EXISTS (SELECT 1 FROM payment_attempts WHERE voting_event_id = ${eventId} AND ${BOUGHT})`);

/** Whether the event has a log, that is, was open before, even if it is a draft again now. */
export const hasLog = (tx: Transaction, eventId: string): Promise<boolean> =>
  isTrue(tx, sql`SELECT EXISTS (SELECT 1 FROM ballot_logs WHERE voting_event_id = ${eventId}) AS found`);

interface EventFilter extends Pick<z.output<typeof listEventsQuery>, 'search' | 'status' | 'type'> {
  readonly accountId: string;
  readonly after: string | undefined;
  readonly nowMs: number;
}

/** The rule of `shownStatusAt` as an SQL condition. */
function hasShownStatus(status: ShownStatus, nowMs: number): SQL {
  const stored = sql`event_status(${LIFE}, ${nowMs})`;
  if (status === 'rehearsal') return sql`rehearsal_since IS NOT NULL AND ${stored} <> 'scheduled'`;
  if (status === 'scheduled') return sql`${stored} = 'scheduled'`;
  return sql`${stored} = ${status} AND rehearsal_since IS NULL`;
}

/** Events of an account, and events shared with it, in the order of their creation; `limit` + 1 if there are more. */
export async function listEvents(executor: Executor, filter: EventFilter, limit: number): Promise<VotingEvent[]> {
  const wanted = and(
    isNull(votingEvents.deletedAt),
    filter.after === undefined ? undefined : gt(votingEvents.id, filter.after),
    filter.type === undefined ? undefined : eq(votingEvents.type, filter.type),
    filter.status === undefined ? undefined : hasShownStatus(filter.status, filter.nowMs),
    holdsText(filter.search, votingEvents.title, votingEvents.code),
  );
  // Use a union of two index scans, because one OR over both tables would read the events of all accounts.
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

/**
 * The events that are shared with an account, as a cell (one of the service's databases) has them. `lives` is false while an event moves
 * to this cell: it is in the other cell, or between the two.
 */
export async function listShared(executor: Executor, accountId: string) {
  const { rows } = await executor.execute<{ id: string; lives: boolean }>(sql`
    SELECT e.id, e.deleted_at IS NULL AS lives FROM event_invites i JOIN voting_events e ON e.id = i.voting_event_id
    WHERE i.account_id = ${accountId} AND (e.deleted_at IS NULL OR starts_with(e.code_key, ${arrivingCode('')})) ORDER BY e.id`);
  return rows;
}

/**
 * Reads the facts that decide whether an event can open. Subqueries take the event's ID as a parameter: with `e.id`, the planner would
 * expect every event to have as many voters as the largest event, and scan all voters. Names are sorted only for referendums,
 * because 1,000 candidates may stand in each of 100 positions.
 */
export async function readOpening(executor: Executor, eventId: string): Promise<OpeningFacts> {
  // MATERIALIZED: for newly written rows, the planner expects one position, and would count all candidates again for each position.
  const { rows } = await executor.execute<OpeningFacts & Record<string, unknown>>(sql`
    WITH referendums AS MATERIALIZED (
      SELECT array_agg(r.id) AS ids FROM positions r
      WHERE r.voting_event_id = ${eventId} AND r.deleted_at IS NULL AND r.voting_method = 'referendum'
    ), standing AS MATERIALIZED (
      SELECT position_id, count(*)::int AS candidates,
        array_agg(jsonb_build_array(c.sort_order, c.id, c.name))
          FILTER (WHERE c.referendum_role IS NULL AND position_id = ANY (referendums.ids)) AS without_role
      FROM referendums CROSS JOIN candidates c CROSS JOIN unnest(c.position_ids) AS position_id
      WHERE c.voting_event_id = ${eventId} AND c.deleted_at IS NULL AND c.status = 'approved' GROUP BY position_id
    )
    SELECT e.type, e.voter_self_registration AS "selfRegistration", e.copy_until IS NOT NULL AS "isCopying",
      e.starts_at IS NOT NULL AS "hasStart", e.missing @> '[{"reason": "keys_unavailable"}]' AS "isKeyless",
      EXISTS (SELECT 1 FROM payment_businesses b WHERE b.id = e.payment_business_id AND NOT b.ready) AS "isUnready",
      e.pay_to_vote IS NOT NULL OR e.pay_to_register_candidate IS NOT NULL AS "isPriced",
      EXISTS (SELECT 1 FROM positions p
        WHERE p.voting_event_id = ${eventId} AND p.deleted_at IS NULL AND p.quadratic_top_up IS NOT NULL) AS "hasTopUps",
      EXISTS (SELECT 1 FROM voters v WHERE v.voting_event_id = ${eventId} AND v.deleted_at IS NULL) AS "hasVoters",
      coalesce((
        SELECT json_agg(json_build_object(
          'id', p.id, 'title', p.title, 'isReferendum', p.voting_method = 'referendum', 'groupId', p.group_id, 'minSelections', p.min_selections,
          'groupHasVoters', p.group_id IS NOT NULL AND EXISTS (
            SELECT 1 FROM voters v
            WHERE v.voting_event_id = ${eventId} AND v.group_id = p.group_id AND v.deleted_at IS NULL AND v.status <> 'rejected'),
          'budget', CASE WHEN p.quadratic_top_up IS NULL
            THEN coalesce(p.cumulative_point_budget, p.quadratic_base_credit_budget) END,
          'candidates', coalesce(standing.candidates, 0),
          'roleless', coalesce(cardinality(standing.without_role), 0),
          'withoutRole', ARRAY(SELECT o ->> 2 FROM unnest(standing.without_role) AS o ORDER BY o LIMIT 3))
          ORDER BY p.sort_order, p.id)
        FROM positions p LEFT JOIN standing ON standing.position_id = p.id
        WHERE p.voting_event_id = ${eventId} AND p.deleted_at IS NULL), '[]') AS positions
    FROM voting_events e WHERE e.id = ${eventId}`);
  const [row] = rows;
  if (row === undefined) throw new Error('a locked event is gone');
  return row;
}

/** Adds to the counts of roll changes after the opening. Call once per lock, because afterwards the tag of `event` is outdated. */
export async function countRollChanges(
  tx: Transaction,
  secrets: Secrets,
  event: LockedEvent,
  { identity = 0, roll = 0 }: { readonly identity?: number; readonly roll?: number },
): Promise<void> {
  const status = statusAt(event, event.lockedAt);
  if (identity + roll === 0 || status === 'draft' || status === 'scheduled') return;
  const identityChanges = event.identityChanges + identity;
  await noteInEvent(tx, secrets, event, { identityChanges, rollChanges: event.rollChanges + roll });
}

export const taggedEvents = taggedRows('rows of events', votingEvents, rowOfEvent, 'deleted_at IS NULL');

export const taggedInvites: TaggedRows = {
  name: 'invites',
  table: 'event_invites',
  async read(db, after, limit) {
    const { id } = eventInvites;
    const rows = await db
      .select({ event: votingEvents, invite: eventInvites })
      .from(eventInvites)
      .innerJoin(votingEvents, eq(votingEvents.id, eventInvites.votingEventId))
      .where(gt(id, after))
      .orderBy(asc(id))
      .limit(limit);
    return rows.map(({ event, invite }) => ({ id: invite.id, tag: invite.tag, row: rowOfInvite(invite, event) }));
  },
};
