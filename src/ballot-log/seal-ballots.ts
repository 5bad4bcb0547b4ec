import { randomInt } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import type { BallotDefinition, BallotDefinitionCache } from '#src/ballot-definition/ballot-definition.ts';
import { type BallotToSeal, insertBallots } from '#src/ballots/box.ts';
import { type Database, inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { defineJob, type Job } from '#src/jobs/queue.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { Ids } from '#src/platform/ids.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';
import type { Secrets } from '#src/platform/secrets.ts';
import type { BallotKeys } from '#src/voting-events/ballot-keys.ts';
import { isFinalAt, statusAt, wasOpened } from '#src/voting-events/lifecycle.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { END_MOVED } from './check-log.ts';
import { raiseAlarm } from './check-repository.ts';
import { recordCheckpoint, renewNote } from './checkpoint.ts';
import type { CheckpointMemory } from './checkpoint-memory.ts';
import { closeLog } from './close-log.ts';
import { isLogClosed, listEventsToTend, readLeastToSeal } from './due-repository.ts';
import { encodeLeaf, voidLeaf } from './leaf.ts';
import { leafDataOf } from './leaf-of-ballot.ts';
import { CompactRange } from './merkle-tree.ts';
import { readEnd, recordConfiguration } from './record-configuration.ts';
import { recordRoll } from './record-roll.ts';
import { countQueue, insertHead, lockHead, takeQueue, takeSequencer, updateHead } from './repository.ts';
import { LogSetBack, requireUndisputed } from './require-undisputed.ts';
import { restoreEnd } from './restore-end.ts';
import { mixRolls, rewriteRoll } from './rewrite-roll.ts';
import { judgeQueued, setBack } from './set-back.ts';
import type { NoteSigner } from './signed-note.ts';
import { appendLeaves } from './tree-store.ts';
import { listVoidsToLog, noteVoidLeaf } from './void-ballot.ts';

/** Moved together as soon as so many wait. */
export const FULL_QUEUE = 32;
/** Fewer than this many are not moved while ballots may still come: alone, a ballot's move would show when it came. */
export const LEAST_WHILE_OPEN = 5;
/** A transaction's ballots at most: enough to mix, few enough not to keep requests waiting while they are hashed. */
const MOST_TOGETHER = 512;

/** Logs tended at once: the close of the largest event is counted for a minute, and the others go on meanwhile. */
const TENDED_TOGETHER = 4;

/** The published count of a finished event. */
export interface FinalCount {
  /** The root of the log that lots were drawn from. */
  readonly lotRoot: Buffer;
  readonly abstentions: number;
  /** Hash of the results' `positions`, as the leaf bears it: of a large event they are not handed around. */
  readonly result: string;
}

export interface SealDeps {
  readonly db: Database;
  readonly ballotKeys: BallotKeys;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly secrets: Secrets;
  readonly definitions: BallotDefinitionCache;
  readonly logKey: NoteSigner;
  readonly checkpoints: CheckpointMemory;
  /** Makes the step of the disclosure of who voted, if one is due. */
  readonly disclose: (eventId: string) => Promise<void>;
  /** Counts a finished event: `results` brings it. */
  readonly countFinally: (definition: BallotDefinition) => Promise<FinalCount>;
}

/** Looks after the log of every event that has something to do, then mixes rolls. One that fails keeps no other from its turn. */
export async function sequenceLogs(deps: SealDeps): Promise<void> {
  const failed: unknown[] = [];
  const events = (await listEventsToTend(deps.db, LEAST_WHILE_OPEN)).values();
  const tend = async (): Promise<void> => {
    for (const eventId of events) {
      try {
        await sequenceLog(deps, eventId, LEAST_WHILE_OPEN);
      } catch (fault) {
        failed.push(fault);
        deps.log.error({ event: eventId, fault: summariseFault(fault) }, 'a ballot log could not be tended');
      }
    }
  };
  await Promise.all(Array.from({ length: TENDED_TOGETHER }, tend));
  await mixRolls(deps);
  if (failed.length > 0) throw new Error(`${failed.length} ballot logs could not be tended`);
}

/**
 * Brings an event's log up to date: its `open` leaf, changes of its configuration, waiting ballots, void ballots, and after
 * the close the `close` leaf (completions 6.2 and 6.3). Another process at the same log is left to it.
 * @param least how many ballots must wait to be moved while the event may take more
 */
export async function sequenceLog(deps: SealDeps, eventId: string, least: number): Promise<void> {
  try {
    await bringUpToDate(deps, eventId, least);
  } catch (fault) {
    // Outside of the transaction, which is undone.
    if (fault instanceof LogSetBack) {
      const { alarm, size, signed, reason } = fault;
      await raiseAlarm(deps, eventId, { alarm, size, signed, reason });
      if (reason === END_MOVED) await restoreEnd(deps, eventId);
    }
    throw fault;
  }
}

async function bringUpToDate(deps: SealDeps, eventId: string, least: number): Promise<void> {
  // Before ballots are sealed: a row of who waits to be disclosed that outlived the batch would show who was in it.
  await deps.disclose(eventId);
  for (;;) {
    const step = await appendOnce(deps, eventId, least);
    if (step.note !== undefined && !step.rehearsal) await deps.checkpoints.remember(eventId, step.note);
    if (step.forged > 0)
      await raiseAlarm(deps, eventId, {
        alarm: 'rows_disagree',
        reason: `${step.forged} waiting ballots were set back`,
      });
    if (!step.more) break;
    await setImmediate();
  }
  const event = await findEventById(deps.db, eventId);
  if (event === undefined || !isFinalAt(event, await readNow(deps.db))) return;
  await closeLog(deps, event);
  await deps.ballotKeys.destroyRetired(eventId);
  if (event.type === 'election') await rewriteRoll(deps, event);
}

interface Step {
  /** The checkpoint that was signed, if anything was appended or confirmed. */
  readonly note: string | undefined;
  /** Whether it is the log of a rehearsal, which is remembered nowhere. */
  readonly rehearsal: boolean;
  /** Whether there may be more to move. */
  readonly more: boolean;
  /** Rows of the queue that were set back. */
  readonly forged: number;
}

const NOTHING: Step = { note: undefined, rehearsal: false, more: false, forged: 0 };

/** One transaction: everything that is waiting, up to a number of ballots. */
async function appendOnce(deps: SealDeps, eventId: string, least: number): Promise<Step> {
  return inTransaction(deps.db, async (tx) => {
    if (!(await takeSequencer(tx, eventId))) return NOTHING;
    const definition = await deps.definitions.getForUpdate(tx, eventId);
    // Under the event's lock: it is not closed or opened, and no ballot is confirmed by another time, while this is decided.
    const nowMs = await readNow(tx);
    if (definition === undefined || !hasBegun(definition.event, nowMs)) return NOTHING;
    const rehearsal = definition.event.rehearsalSince !== null;
    const found = await lockHead(tx, eventId);
    await requireUndisputed(deps, tx, eventId, found);
    if (found !== undefined && found.end !== (await readEnd(tx, eventId)))
      throw new LogSetBack('ballot_log_changed', found.frontier.size, undefined, END_MOVED);
    const head = found ?? { ...EMPTY_HEAD, frontier: new CompactRange() };
    const before = head.frontier.size;
    const final = isFinalAt(definition.event, nowMs);
    // Texts may still change after the result; the log that it stands in does not (completions 6.3).
    const closed = final && (await isLogClosed(tx, eventId));
    const configured = closed ? head : await recordConfiguration(deps, tx, definition, head);
    const needed = await readLeastToSeal(tx, eventId, least);
    const rows = needed === undefined ? [] : await takeQueue(tx, eventId, needed, MOST_TOGETHER);
    const { genuine, forged } = await judgeQueued(
      tx,
      rows.length === 0 ? undefined : await deps.ballotKeys.find(definition.event),
      definition.event,
      rows,
    );
    await setBack(tx, eventId, forged);
    const seals = genuine.length > 0 || final;
    const ballots = head.ballots + genuine.length;
    const changed = closed ? head : await recordRoll(tx, definition.event, configured, { seals, ballots, nowMs });
    await sealBallots(tx, definition, head.frontier, shuffle(genuine));
    const voided = await appendVoids(tx, definition.event, head.frontier);
    const after = { ...changed, ballots };
    if (found === undefined) await insertHead(tx, eventId, after);
    else if (head.frontier.size > before || after.definitionVersion !== head.definitionVersion)
      await updateHead(tx, eventId, after);
    const confirmed = after.ballots + (await countQueue(tx, eventId));
    if (head.frontier.size === before) {
      // What a change of the end has signed meanwhile is remembered, too.
      const note =
        confirmed === head.confirmed
          ? head.note
          : await renewNote(tx, deps, definition.event, head.frontier, confirmed);
      return { note, rehearsal, more: rows.length === MOST_TOGETHER, forged: forged.length };
    }
    const note = await recordCheckpoint(tx, deps, definition.event, head.frontier, confirmed);
    const more = rows.length === MOST_TOGETHER || voided === MOST_TOGETHER;
    return { note, rehearsal, more, forged: forged.length };
  });
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
  rollHeads: null,
  rollWeight: null,
  rollIdentityChanges: null,
  rollOtherChanges: null,
  rollSeq: 0,
  closedSize: null,
  lotSeed: '',
  lotRoot: null,
  closeSalt: null,
  closeContent: null,
  rollMixedAt: null,
  rollScatteredAt: null,
};

/** Whether an event gets a log: it was open, by the organizer's word or by the clock once it was ready, or it is over without ever having been. */
function hasBegun(event: VotingEvent, nowMs: number): boolean {
  if (event.rehearsalSince !== null) return statusAt(event, nowMs) === 'open';
  return wasOpened(event, nowMs) || isFinalAt(event, nowMs);
}

/** In an order that cannot be predicted or reconstructed: no order of arrival survives. */
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
  const { id: eventId, type } = definition.event;
  await insertBallots(tx, eventId, frontier.size, ballots, type === 'election');
  await appendLeaves(
    tx,
    eventId,
    frontier,
    ballots.map((ballot) => leafDataOf(definition, ballot)),
  );
}

/** @throws LogSetBack in an election, where nothing is paid for and nothing can be reversed: somebody wrote to the database */
async function appendVoids(
  tx: Transaction,
  { id: eventId, type }: VotingEvent,
  frontier: CompactRange,
): Promise<number> {
  const voids = await listVoidsToLog(tx, eventId, MOST_TOGETHER);
  if (voids.length > 0 && type === 'election') throw new LogSetBack('ballot_log_changed', frontier.size, undefined);
  for (const [place, { codeTag }] of voids.entries()) await noteVoidLeaf(tx, eventId, codeTag, frontier.size + place);
  const leaves = voids.map(({ codeTag, leafIndex }) => encodeLeaf(voidLeaf(eventId, codeTag, leafIndex)));
  await appendLeaves(tx, eventId, frontier, leaves);
  return voids.length;
}

const payload = z.strictObject({ eventId: z.string() });
/** Enqueued by the database with every opening, change and close, and when a process saw a full queue go by. */
export const SEQUENCE_LOG = { name: 'tend_ballot_log', maxAttempts: 5, payload } as const;

export function sequenceLogJob(deps: SealDeps): Job<z.output<typeof payload>> {
  return defineJob({ ...SEQUENCE_LOG, work: ({ eventId }) => sequenceLog(deps, eventId, FULL_QUEUE) });
}
