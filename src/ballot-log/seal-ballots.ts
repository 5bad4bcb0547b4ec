import { randomInt } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import type { BallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import { type BallotToSeal, insertBallots } from '#src/ballots/box.ts';
import { inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import type { Deps } from '#src/deps.ts';
import { defineJob, type Job } from '#src/jobs/queue.ts';
import { monotonicMs } from '#src/platform/clock.ts';
import { summariseFault } from '#src/platform/log.ts';
import type { CheckedRoll } from '#src/voters/check-roll.ts';
import { closeTime, isFinalAt, statusAt, wasOpened } from '#src/voting-events/lifecycle.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import type { RecordDeps } from '#src/webhooks/record-event.ts';
import { END_MOVED } from './check-log.ts';
import { raiseAlarm } from './check-repository.ts';
import { recordCheckpoint, renewNote } from './checkpoint.ts';
import { closeLog } from './close-log.ts';
import { isSealedOnce, listEventsToTend } from './due-repository.ts';
import { findClose } from './find-close.ts';
import { encodeLeaf, voidLeaf } from './leaf.ts';
import { leafDataOf } from './leaf-of-ballot.ts';
import { CompactRange } from './merkle-tree.ts';
import { readEnd, recordConfiguration } from './record-configuration.ts';
import { NO_ROLL, recordRoll } from './record-roll.ts';
import {
  countQueue,
  insertHead,
  type LogHead,
  lockHead,
  readQueue,
  takeQueue,
  takeSequencer,
  updateHead,
} from './repository.ts';
import { LogSetBack, logChanged, requireComplete, requireSigned } from './require-undisputed.ts';
import { restoreEnd } from './restore-end.ts';
import { mixRolls, rewriteRoll } from './rewrite-roll.ts';
import { dueOf, judgeQueued, putBack, unmark } from './set-back.ts';
import { appendLeaves } from './tree-store.ts';
import { listVoidsToLog, noteVoidLeaf, VOIDS_TOGETHER } from './void-ballot.ts';

/** Queued ballots that trigger a sealing at once, without waiting for the recurring job. */
export const FULL_QUEUE = 32;
/** The smallest batch that is sealed while the event may take ballots: sealing a single ballot would show when it came. */
export const LEAST_WHILE_OPEN = 5;
/** Maximum ballots per transaction: enough to shuffle, and few enough that hashing them does not hold up requests. */
const MOST_TOGETHER = 512;

/** Maximum queue rows to read of an event that is sealed only at its close: it has fewer voters, so further rows come from direct SQL. */
const MOST_SEALED_ONCE = 1_000;
/** Interval at which a long run counts the queue again, so that the signed number of confirmed ballots is at most a minute old. */
const COUNTED_EVERY_MS = 30_000;

/** Logs processed concurrently: the count at the close of the largest event takes a minute and must not block other logs. */
const TENDED_TOGETHER = 4;

/** The published count of a finished event. */
export interface FinalCount {
  /** The root of the log from which, with the seed, the lots for ties were drawn. */
  readonly lotRoot: Buffer;
  readonly abstentions: number;
  /** Hash of the results' `positions`, as in the `close` leaf; the positions themselves may be large. */
  readonly result: string;
}

export interface SealDeps
  extends RecordDeps,
    Pick<Deps, 'db' | 'ballotKeys' | 'log' | 'secrets' | 'definitions' | 'logKey' | 'checkpoints' | 'acknowledged'> {
  /** Discloses the next group of voters who voted, if it is due. */
  readonly disclose: (eventId: string) => Promise<void>;
  /** Counts a finished event, an election against its roll. Implemented by `results`. */
  readonly countFinally: (definition: BallotDefinition, roll: CheckedRoll | undefined) => Promise<FinalCount>;
}

/** Events whose last run failed: a second failure in a row raises an alarm, because direct SQL could have caused any error. */
const failing = new Set<string>();

/** Brings every log with pending work up to date, then runs `mixRolls`. A failure in one log does not stop the others. */
export async function sequenceLogs(deps: SealDeps): Promise<void> {
  const failed: unknown[] = [];
  const events = (await listEventsToTend(deps.db, LEAST_WHILE_OPEN)).values();
  const tend = async (): Promise<void> => {
    for (const eventId of events) {
      try {
        await sequenceLog(deps, eventId, LEAST_WHILE_OPEN);
        failing.delete(eventId);
      } catch (fault) {
        failed.push(fault);
        const alarm = failing.has(eventId) && !(fault instanceof LogSetBack) ? 'ballot_log_untended' : undefined;
        failing.add(eventId);
        deps.log.error({ alarm, event: eventId, fault: summariseFault(fault) }, 'a ballot log could not be tended');
      }
    }
  };
  await Promise.all(Array.from({ length: TENDED_TOGETHER }, tend));
  await mixRolls(deps);
  if (failed.length > 0) throw new Error(`${failed.length} ballot logs could not be tended`);
}

/**
 * Brings an event's log up to date: its `open` leaf, changes of its configuration, queued ballots, void ballots, and after
 * the close the `close` leaf (completions 6.2 and 6.3).
 * @param least the smallest batch to seal while the event may take more ballots
 * @returns false if another process holds the log's lock; nothing was done
 */
export async function sequenceLog(deps: SealDeps, eventId: string, least: number): Promise<boolean> {
  try {
    return await bringUpToDate(deps, eventId, least);
  } catch (fault) {
    // Raise the alarm outside of the transaction, which was rolled back.
    if (fault instanceof LogSetBack) {
      const { alarm, size, signed, reason } = fault;
      await raiseAlarm(deps, eventId, { alarm, size, signed, reason });
      if (reason === END_MOVED) await restoreEnd(deps, eventId);
    }
    throw fault;
  }
}

async function bringUpToDate(deps: SealDeps, eventId: string, least: number): Promise<boolean> {
  // Disclose before sealing: an undisclosed voter's row that outlives the batch would show whose ballot is in the batch.
  await deps.disclose(eventId);
  let from: string | undefined = '';
  let countedAt = Number.NEGATIVE_INFINITY;
  let isComplete = false;
  while (from !== undefined) {
    const counts = monotonicMs() - countedAt >= COUNTED_EVERY_MS;
    if (counts) countedAt = monotonicMs();
    const step = await appendOnce(deps, eventId, { least, after: from, counts });
    if (step === undefined) return false;
    if (step.note !== undefined && !step.rehearsal) await deps.checkpoints.remember(eventId, step.note);
    deps.acknowledged.forget(eventId, step.sealed);
    for (const [ballots, what] of [
      [step.forged, 'were set back'],
      [step.unmarked, 'were marked as set back by hand'],
    ] as const)
      if (ballots > 0)
        await raiseAlarm(deps, eventId, { alarm: 'rows_disagree', reason: `${ballots} waiting ballots ${what}` });
    isComplete = step.isComplete;
    from = step.next;
    await setImmediate();
  }
  const event = isComplete ? await findEventById(deps.db, eventId) : undefined;
  if (event === undefined) return true;
  await closeLog(deps, event);
  await deps.ballotKeys.destroyRetired(eventId);
  if (event.type === 'election') await rewriteRoll(deps, event);
  return true;
}

interface StepOrder {
  readonly least: number;
  /** The queue ID to continue after, so that the scan does not pass the dead rows of earlier steps again. */
  readonly after: string;
  /** Whether to count the whole queue; the last step always does. A count in each step would make the run quadratic. */
  readonly counts: boolean;
}

interface Step {
  /** The present signed checkpoint; undefined only before the log began. */
  readonly note: string | undefined;
  /** Whether this is the log of a rehearsal, whose checkpoints are not kept outside of the database. */
  readonly rehearsal: boolean;
  readonly sealed: readonly string[];
  /** The queue ID to continue after; undefined if the run is done. */
  readonly next: string | undefined;
  /** Number of queue rows that the service did not write, now marked `set_back`. */
  readonly forged: number;
  /** Number of genuine ballots that direct SQL had marked `set_back`, now unmarked. */
  readonly unmarked: number;
  /** Whether the log is closed, or can be closed: the event is final and no ballot is queued. */
  readonly isComplete: boolean;
}

const NOTHING: Step = {
  ...{ note: undefined, rehearsal: false, sealed: [], next: undefined },
  ...{ forged: 0, unmarked: 0, isComplete: false },
};

/** Appends all pending leaves in one transaction, up to `MOST_TOGETHER` ballots. @returns undefined if another process holds the log */
async function appendOnce(deps: SealDeps, eventId: string, order: StepOrder): Promise<Step | undefined> {
  return inTransaction(deps.db, async (tx) => {
    if (!(await takeSequencer(tx, eventId))) return undefined;
    const definition = await deps.definitions.getForUpdate(tx, eventId);
    // `getForUpdate` locked the event: its times cannot change until the commit.
    const nowMs = await readNow(tx);
    if (definition === undefined || !hasBegun(definition.event, nowMs)) return NOTHING;
    const rehearsal = definition.event.rehearsalSince !== null;
    const found = await lockHead(tx, eventId);
    const remembered = await requireSigned(deps, tx, definition.event, found);
    // Compare the end that the log recorded with the row's end, too: direct SQL may have changed the row since the definition was cached.
    const ends = [closeTime(definition.event), await readEnd(tx, eventId)];
    if (found !== undefined && ends.some((end) => end !== found.end)) throw logChanged(found, END_MOVED);
    const final = isFinalAt(definition.event, nowMs);
    const closed = await requireCloseOf({ db: tx, logKey: deps.logKey }, definition.event, found, final);
    const head = found ?? { ...EMPTY_HEAD, frontier: new CompactRange() };
    const before = head.frontier.size;
    // Texts may still change after the result, but a closed log records no more changes (completions 6.3).
    const configured = closed ? head : await recordConfiguration(deps, tx, definition, head);
    const unmarked = order.after === '' ? await unmark(tx, deps.ballotKeys, definition.event) : 0;
    const least = final ? 1 : await readLeastToSeal(deps, tx, definition.event, order, nowMs);
    const rows =
      least === undefined ? [] : await takeQueue(tx, eventId, { after: order.after, least, limit: MOST_TOGETHER });
    const judged = closed
      ? { genuine: [], forged: rows }
      : await judgeQueued(
          tx,
          rows.length === 0 ? undefined : await deps.ballotKeys.find(definition.event),
          definition.event,
          rows,
        );
    const { forged } = judged;
    await putBack(tx, eventId, forged, true);
    const others = rows.filter((row) => !forged.includes(row));
    // Forged rows do not count towards the smallest batch: otherwise direct SQL could get a ballot sealed alone.
    const isTooFew = forged.length > 0 && judged.genuine.length < (least ?? 0);
    if (isTooFew) await putBack(tx, eventId, others, false);
    const genuine = isTooFew ? [] : judged.genuine;
    const seals = genuine.length > 0 || final;
    const ballots = head.ballots + genuine.length;
    const changed = closed ? head : await recordRoll(tx, definition.event, configured, { seals, ballots, nowMs });
    await sealBallots(tx, definition, head.frontier, shuffle(genuine));
    const voided = await appendVoids(tx, definition.event, head.frontier);
    const after = { ...changed, ballots };
    if (found === undefined) await insertHead(tx, eventId, after);
    else if (head.frontier.size > before || after.definitionVersion !== head.definitionVersion)
      await updateHead(tx, eventId, after);
    const next = nextOf(rows, order.after, voided);
    const waiting = order.counts || next === undefined ? await countQueue(tx, eventId) : undefined;
    if (waiting !== undefined) requireComplete(found, remembered, ballots + waiting);
    const confirmed = waiting === undefined ? Math.max(head.confirmed, ballots) : ballots + waiting;
    const isComplete = closed || (final && next === undefined && waiting === 0);
    const sealed = isTooFew ? [] : others.map(({ id }) => id);
    const step = { rehearsal, sealed, next, forged: forged.length, unmarked, isComplete };
    if (head.frontier.size > before)
      return { ...step, note: await recordCheckpoint(tx, deps, definition.event, head.frontier, confirmed) };
    // No leaf was appended, but a change of the event's end may have had a new note signed meanwhile: return the note in any case.
    const isSigned = confirmed === head.confirmed;
    return {
      ...step,
      note: isSigned ? head.note : await renewNote(tx, deps, definition.event, head.frontier, confirmed),
    };
  });
}

/** The queue ID to continue after. A run ends with a short step from the start, because new rows may have IDs below `after`. */
function nextOf(rows: readonly { readonly id: string }[], after: string, voided: number): string | undefined {
  if (rows.length === MOST_TOGETHER) return rows.at(-1)?.id;
  return after !== '' || voided === VOIDS_TOGETHER ? '' : undefined;
}

/** The smallest batch to seal before the close; undefined if the queue after `after` is too small (completions 6.2). */
async function readLeastToSeal(
  deps: SealDeps,
  tx: Transaction,
  event: VotingEvent,
  { least, after }: StepOrder,
  nowMs: number,
): Promise<number | undefined> {
  const once = await isSealedOnce(tx, deps.secrets, event);
  const waiting = await readQueue(tx, event.id, after, once ? MOST_SEALED_ONCE : least, 'waiting');
  if (!once && waiting.length >= least) return least;
  const secrets = waiting.length === 0 ? undefined : await deps.ballotKeys.find(event);
  return waiting.some((row) => dueOf(secrets, event, row) <= nowMs) ? 1 : undefined;
}

/**
 * Whether a signed `close` leaf closes the log.
 * @throws LogSetBack if the columns of the head disagree: a log falsely marked as closed would never be closed, and a log whose
 * mark is missing would be closed twice
 */
async function requireCloseOf(
  deps: Parameters<typeof findClose>[0],
  event: VotingEvent,
  head: LogHead | undefined,
  final: boolean,
): Promise<boolean> {
  if (head === undefined) return false;
  const isClosed = (await findClose(deps, event, head)) !== undefined;
  const { closedSize, closeSalt, closeContent, lotRoot } = head;
  const isMarked = [closedSize, closeSalt, closeContent, lotRoot].some((mark) => mark !== null);
  if (isClosed ? !final : isMarked)
    throw logChanged(
      head,
      isClosed ? 'the log is closed, and its event is not over' : 'the log is marked as closed, and no leaf closes it',
    );
  return isClosed;
}

const EMPTY_HEAD = {
  ballots: 0,
  confirmed: 0,
  note: '',
  configHash: '',
  configSeq: 0,
  dropped: 0,
  definitionVersion: 0,
  confirmedAtChange: null,
  end: null,
  ...NO_ROLL,
  rollSeq: 0,
  closedSize: null,
  lotSeed: '',
  lotRoot: null,
  closeSalt: null,
  closeContent: null,
  rollMixedAt: null,
  rollScatteredAt: null,
};

/** Whether an event gets a log: it was opened, by the organizer or at its start, or it ended without being opened. */
function hasBegun(event: VotingEvent, nowMs: number): boolean {
  if (event.rehearsalSince !== null) return statusAt(event, nowMs) !== 'scheduled';
  return wasOpened(event, nowMs) || isFinalAt(event, nowMs);
}

/** Shuffles ballots with cryptographic randomness, so that the log does not show the order of arrival. */
function shuffle(rows: BallotToSeal[]): BallotToSeal[] {
  for (let last = rows.length - 1; last > 0; last -= 1) {
    const chosen = randomInt(last + 1);
    const [one, other] = [rows[last], rows[chosen]];
    if (one !== undefined && other !== undefined) [rows[last], rows[chosen]] = [other, one];
  }
  return rows;
}

async function sealBallots(
  tx: Transaction,
  definition: BallotDefinition,
  frontier: CompactRange,
  ballots: readonly BallotToSeal[],
): Promise<void> {
  if (ballots.length === 0) return;
  const { id: eventId } = definition.event;
  await insertBallots(tx, eventId, frontier.size, ballots);
  await appendLeaves(
    tx,
    eventId,
    frontier,
    ballots.map((ballot) => leafDataOf(definition, ballot)),
  );
}

/** @throws LogSetBack in an election, which has no payments to reverse: direct SQL wrote the void ballot */
async function appendVoids(
  tx: Transaction,
  { id: eventId, type }: VotingEvent,
  frontier: CompactRange,
): Promise<number> {
  const voids = await listVoidsToLog(tx, eventId);
  if (voids.length > 0 && type === 'election') throw logChanged({ frontier });
  for (const [place, { codeTag }] of voids.entries()) await noteVoidLeaf(tx, eventId, codeTag, frontier.size + place);
  const leaves = voids.map(({ codeTag, leafIndex }) => encodeLeaf(voidLeaf(eventId, codeTag, leafIndex)));
  await appendLeaves(tx, eventId, frontier, leaves);
  return voids.length;
}

const payload = z.strictObject({ eventId: z.string() });
/** Enqueued by a database trigger at every opening, change and close, and by a process that counted `FULL_QUEUE` confirms. */
export const SEQUENCE_LOG = { name: 'tend_ballot_log', maxAttempts: 5, payload } as const;

export const sequenceLogJob = (deps: SealDeps): Job<z.output<typeof payload>> =>
  defineJob({ ...SEQUENCE_LOG, work: async ({ eventId }) => void (await sequenceLog(deps, eventId, FULL_QUEUE)) });
