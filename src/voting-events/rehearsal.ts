import { sql } from 'drizzle-orm';
import { inTransaction, isTrue, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import type { Deps } from '#src/deps.ts';
import { refuse } from '#src/http/refusals.ts';
import { MINUTE_MS } from '#src/platform/clock.ts';
import { orNotFound, validationError } from '#src/platform/errors.ts';
import { reopeningIssue } from './change-fields.ts';
import { guardChange, holdForChange, missingAfter, worldChanged } from './guard-change.ts';
import { isRehearsalOver } from './lifecycle.ts';
import { missingForOpening, type OpeningFacts } from './opening.ts';
import {
  findEventById,
  hasBallots,
  hasLog,
  type LockedEvent,
  lockEvent,
  type NewEventRow,
  readOpening,
  updateTaggedEvent,
} from './repository.ts';
import type { VotingEvent } from './voting-event.ts';

// A rehearsal (completions 10.5): a draft or scheduled event accepts ballots as if it were open, and the end of the rehearsal deletes
// ("wipes") them. `rehearsalSince` is set during a rehearsal, and rows that are made in it are marked.

/** The world of an event: the real vote (`rehearsalSince` is null), or one rehearsal (identified by the time of its beginning). */
type World = Pick<VotingEvent, 'rehearsalSince'>;

/** Refuses a request if a rehearsal began or ended during it; the client may retry. @throws ApiError 500 `internal` */
export function requireSameWorld(read: World, now: World): void {
  if (read.rehearsalSince !== now.rehearsalSince) throw worldChanged();
}

/** How long work of the real vote waits before it checks again whether the rehearsal has ended: keys made now would be wiped with it. */
export const REHEARSED_MS = MINUTE_MS;

/** As `holdForChange`. @throws ApiError 404 if the event is gone, 500 `internal` with `Retry-After` if a rehearsal began or ended since */
export async function holdWorld(tx: Transaction, read: World & Pick<VotingEvent, 'id'>): Promise<VotingEvent> {
  const event = await holdForChange(tx, read.id);
  requireSameWorld(read, event);
  return event;
}

/**
 * The changes that begin a rehearsal. No ballot, credit or log may exist yet, so that the end of the rehearsal can wipe all of these.
 * @param after the event with the settings that the same request changes
 * @throws ApiError 409 `was_open`, `event_has_ballots`, `not_ready`; 422 for an end that has passed
 */
export async function beginRehearsal(
  tx: Transaction,
  before: LockedEvent,
  after: VotingEvent,
  found: Partial<OpeningFacts>,
): Promise<Partial<NewEventRow>> {
  await guardChange(tx, before, 'rehearse');
  if (before.openedAt !== null || (await hasLog(tx, before.id))) throw refuse('was_open');
  if (await hasBallots(tx, before.id)) throw refuse('event_has_ballots');
  const late = reopeningIssue(after.endsAt, before.lockedAt);
  if (late !== undefined) throw validationError([late]);
  const missing = await missingAfter(tx, after, found);
  if (missing.length > 0) throw refuse('not_ready', { missing });
  return {
    rehearsalSince: before.lockedAt,
    rehearsalNumber: before.rehearsalNumber + 1,
    rehearsalVisibility: before.resultsVisibility,
  };
}

/**
 * Locks an event for a change that may end its rehearsal. Locks the payments of the rehearsal before it, because a settlement locks its
 * attempt first and the event second: the reverse order would deadlock. @throws ApiError `not_found`
 */
export async function lockForEnd(tx: Transaction, read: World & Pick<VotingEvent, 'id'>): Promise<LockedEvent> {
  if (read.rehearsalSince !== null)
    await tx.execute(
      sql`SELECT 1 FROM payment_attempts WHERE voting_event_id = ${read.id} AND rehearsal ORDER BY id FOR UPDATE`,
    );
  return orNotFound(await lockEvent(tx, read.id));
}

/** The event with its own key, which the real vote uses, even during a rehearsal. */
export const withOwnKey = (event: VotingEvent): VotingEvent =>
  event.rehearsalSince === null ? event : { ...event, ballotKey: event.realKey };

/** Rows per statement of a wipe, so that each statement stays below the statement timeout. */
const WIPED_TOGETHER = 5_000;

/** Wipes the rehearsal of an event in the caller's transaction, completely or not at all. Throws outside of a rehearsal. */
async function wipeRehearsal(tx: Transaction, eventId: string): Promise<void> {
  for (let done = false; !done; ) done = await isTrue(tx, sql`SELECT end_rehearsal(${eventId}, ${WIPED_TOGETHER})`);
}

export type RehearsalDeps = Pick<Deps, 'secrets' | 'ballotKeys' | 'takeApprovalsBack'>;

/**
 * Ends the rehearsal of an event (completions 10.5). Retires the key of its round, and restores the event's own key. Call with the event
 * locked by `lockForEnd`. If the start may then open the event, the caller must make a key in the same transaction (`prepare`).
 */
export async function endRehearsal(
  tx: Transaction,
  { secrets, ballotKeys, takeApprovalsBack }: RehearsalDeps,
  event: LockedEvent,
): Promise<LockedEvent> {
  const { id, lockedAt } = event;
  await takeApprovalsBack(tx, event);
  await wipeRehearsal(tx, id);
  if (event.ballotKey !== null) await ballotKeys.retire(tx, id, event.ballotKey);
  const over = {
    ...{
      ballotKey: event.realKey,
      realKey: null,
      rehearsalSince: null,
      identityChanges: 0,
      rollChanges: 0,
      rehearsalLetters: 0,
    },
    ...{ closedAt: null, finalAt: null, resultsPublishedAt: null, resultsAnnounced: false },
    // Restore the visibility, so that results that were published in the rehearsal do not make the event's results public.
    ...{ resultsVisibility: event.rehearsalVisibility ?? event.resultsVisibility, rehearsalVisibility: null },
  };
  // The wipe may have made the event ready. Store this together with the end, because an event whose start has come opens if it is ready.
  const missing = missingForOpening(await readOpening(tx, id));
  const ready = missing.length === 0;
  const isMissed = isRehearsalOver(event, lockedAt) && (!ready || event.missedStartAt !== null);
  const start = isMissed ? { startsAt: null, missedStartAt: event.startsAt } : {};
  const changes = { ...over, ...start, ready, missing, updatedAt: lockedAt };
  const ended = await updateTaggedEvent(tx, secrets, event, changes);
  return { ...ended, lockedAt };
}

/** Ends the rehearsal of an event whose start has come. If the event is ready, it is open afterwards. */
export async function endOverdueRehearsal(deps: RehearsalDeps & Pick<Deps, 'db'>, eventId: string): Promise<void> {
  const { db, ballotKeys } = deps;
  const read = await findEventById(db, eventId);
  if (read === undefined || !isRehearsalOver(read, await readNow(db))) return;
  await inTransaction(db, async (tx) => {
    const event = await lockForEnd(tx, read);
    if (!isRehearsalOver(event, event.lockedAt)) return;
    const ended = await endRehearsal(tx, deps, event);
    // The event needs a key now: its start has come, so that it may accept ballots as soon as this transaction commits.
    const key = await ballotKeys.prepare(tx, { ...event, ballotKey: ended.ballotKey }, ended);
    if (key.ballotKey !== undefined) await updateTaggedEvent(tx, deps.secrets, ended, key);
  });
}
