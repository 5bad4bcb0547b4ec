import { inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import type { Deps } from '#src/deps.ts';
import { refuse } from '#src/http/refusals.ts';
import { ApiError, orNotFound, validationError } from '#src/platform/errors.ts';
import { reopeningIssue } from './change-fields.ts';
import { guardChange, lockForChange, renewBallotDefinition } from './guard-change.ts';
import { isRehearsalOver } from './lifecycle.ts';
import { missingForOpening, type OpeningFacts } from './opening.ts';
import {
  findEventById,
  hasBallots,
  hasLog,
  holdEvent,
  type LockedEvent,
  lockRehearsedPayments,
  type NewEventRow,
  readOpening,
  updateTaggedEvent,
  wipeRehearsal,
} from './repository.ts';
import type { VotingEvent } from './voting-event.ts';

// A rehearsal (completions 10.5): a draft or scheduled event takes ballots as if it were open, and nothing of them is left at
// its end. `rehearsalSince` says that one is under way, and rows that came about in it are marked.

/** What names the world that an event is in: the real one, or one rehearsal. */
type World = Pick<VotingEvent, 'rehearsalSince'>;

/** Whether what was read of an event speaks of another world than the event as it is now. */
const isOtherWorld = (read: World, now: World): boolean => read.rehearsalSince !== now.rehearsalSince;

/** The event went into a rehearsal, or out of it, while a request was under way: its sender asks again, in one of the two. */
export function requireSameWorld(read: World, now: World): void {
  if (isOtherWorld(read, now)) throw worldChanged();
}

export const worldChanged = (): ApiError =>
  new ApiError('internal', 'The voting event was changed meanwhile. Retry.', undefined, 1);

/**
 * Holds an event in the world in which a request found it until the transaction ends.
 * @throws ApiError 404 where it is gone, 500 `internal` with `Retry-After` where a rehearsal began or ended meanwhile
 */
export async function holdWorld(tx: Transaction, read: World & Pick<VotingEvent, 'id'>): Promise<VotingEvent> {
  const event = orNotFound(await holdEvent(tx, read.id));
  requireSameWorld(read, event);
  return event;
}

/**
 * What begins a rehearsal. Nothing that depends on ballots may be there yet, so that its end can wipe all of it.
 * @throws ApiError 409 `was_open`, `event_has_ballots`, `not_ready`; 422 for an end that has passed
 */
export async function beginRehearsal(
  tx: Transaction,
  before: LockedEvent,
  endsAt: number | null,
  found: Partial<OpeningFacts>,
): Promise<Partial<NewEventRow>> {
  await guardChange(tx, before, 'rehearse');
  if (before.openedAt !== null || (await hasLog(tx, before.id))) throw refuse('was_open');
  if (await hasBallots(tx, before.id)) throw refuse('event_has_ballots');
  const late = reopeningIssue(endsAt, before.lockedAt);
  if (late !== undefined) throw validationError([late]);
  const missing = missingForOpening({ ...(await readOpening(tx, before.id)), ...found });
  if (missing.length > 0) throw refuse('not_ready', { missing });
  return {
    rehearsalSince: before.lockedAt,
    rehearsalNumber: before.rehearsalNumber + 1,
    rehearsalVisibility: before.resultsVisibility,
  };
}

/**
 * Locks an event for a change that may end its rehearsal.
 * @param read as the request found it @throws ApiError `not_found` when it was deleted meanwhile
 */
export async function lockForEnd(tx: Transaction, read: World & Pick<VotingEvent, 'id'>): Promise<LockedEvent> {
  if (read.rehearsalSince !== null) await lockRehearsedPayments(tx, read.id);
  return lockForChange(tx, read.id);
}

export type RehearsalDeps = Pick<Deps, 'secrets' | 'ballotKeys' | 'takeApprovalsBack'>;

/**
 * Ends the rehearsal of an event (completions 10.5): its key goes with it. Call with the event locked by `lockForEnd`; where
 * the event may open by the clock behind it, give it a key in the same transaction.
 */
export async function endRehearsal(
  tx: Transaction,
  { secrets, ballotKeys, takeApprovalsBack }: RehearsalDeps,
  event: LockedEvent,
): Promise<LockedEvent> {
  const { id, lockedAt } = event;
  await takeApprovalsBack(tx, event);
  await wipeRehearsal(tx, id);
  await ballotKeys.retire(tx, id);
  const over = {
    ...{ ballotKey: null, rehearsalSince: null, identityChanges: 0, rollChanges: 0, rehearsalLetters: 0 },
    ...{ closedAt: null, finalAt: null, resultsPublishedAt: null, resultsAnnounced: false },
    // Published for the rehearsal, results would be published for the event.
    ...{ resultsVisibility: event.rehearsalVisibility ?? event.resultsVisibility, rehearsalVisibility: null },
  };
  await updateTaggedEvent(tx, secrets, event, over);
  // A candidate that registered in the rehearsal may have made the event ready.
  return { ...(await renewBallotDefinition(tx, id, lockedAt)), lockedAt };
}

/** Ends the rehearsal of an event whose start has come: the clock opens the event behind it, if it is ready. */
export async function endOverdueRehearsal(deps: RehearsalDeps & Pick<Deps, 'db'>, eventId: string): Promise<void> {
  const { db, ballotKeys } = deps;
  const read = await findEventById(db, eventId);
  if (read === undefined || !isRehearsalOver(read, await readNow(db))) return;
  await inTransaction(db, async (tx) => {
    const event = await lockForEnd(tx, read);
    if (!isRehearsalOver(event, event.lockedAt)) return;
    const ended = await endRehearsal(tx, deps, event);
    // Its start has come, and it takes no ballot before this commits.
    const key = await ballotKeys.prepare(tx, { ...event, ballotKey: null }, ended);
    if (key.ballotKey !== undefined) await updateTaggedEvent(tx, deps.secrets, ended, key);
  });
}
