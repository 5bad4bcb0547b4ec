import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { type BallotDefinition, loadBallotDefinition } from '#src/ballot-definition/ballot-definition.ts';
import { BlockSpoilt, findWrongHeads, type PlacedBallot, readSealedBallots } from '#src/ballots/box.ts';
import { atOneMoment, type Database } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import type { Clock } from '#src/platform/clock.ts';
import { unlessSpoilt } from '#src/platform/errors.ts';
import { summariseFault } from '#src/platform/log.ts';
import { sha256 } from '#src/platform/secrets.ts';
import { type CheckedRoll, checkRoll } from '#src/voters/check-roll.ts';
import { isGenuineEvent, isGenuineInvite } from '#src/voting-events/event-tag.ts';
import { listInviteRows } from '#src/voting-events/invite.ts';
import { clearDispute, findEventById } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { findUnaccounted, raiseAlarm } from './check-repository.ts';
import { parseCheckpointBody } from './checkpoint.ts';
import type { CheckpointMemory } from './checkpoint-memory.ts';
import { listLogs } from './due-repository.ts';
import { findOpenedClose, isClosed, isSignedHead } from './find-close.ts';
import { differsFromLog } from './frozen.ts';
import { leafDataOf } from './leaf-of-ballot.ts';
import { openSeed } from './lot.ts';
import { CompactRange, equalHashes, hashLeaf } from './merkle-tree.ts';
import { readEnd } from './record-configuration.ts';
import { findHead, findLastCheckpoint, type LogHead, listCheckpoints, readLeaves } from './repository.ts';
import { goesOnFrom } from './require-undisputed.ts';
import { hasForgedBallots } from './set-back.ts';
import type { NoteVerifier } from './signed-note.ts';
import { TILE_HEIGHT, TILE_WIDTH } from './tiles.ts';
import { eventTree, type NewTile } from './tree-store.ts';

export interface CheckDeps extends Pick<Deps, 'db' | 'log' | 'definitions' | 'secrets' | 'ballotKeys'> {
  readonly clock: Clock;
  readonly logKey: NoteVerifier;
  readonly checkpoints: Pick<CheckpointMemory, 'recall'>;
}

const changeShape = z.looseObject({ config: z.string(), end: z.number().nullable(), dropped: z.number().default(0) });
export const END_MOVED = 'the event ends at another time than its log says';
/** Leaves read at a time: bounds memory, and hashing them does not hold up requests for long. */
const CHUNK = 2 * TILE_WIDTH;

/**
 * Recomputes logs from their leaves and compares every checkpoint, every tile and every ballot of the box with the leaves. A
 * difference raises an alarm, which stays until a check finds no difference; nothing is repaired.
 * @param sinceMs checks logs that grew since then; 0 for all logs
 */
export async function checkLogs(deps: CheckDeps, sinceMs: number): Promise<void> {
  for (const eventId of await listLogs(deps.db, sinceMs)) {
    try {
      const reason = await checkLog(deps, eventId);
      if (reason === undefined) await clearDispute(deps.db, eventId);
      else await raiseAlarm(deps, eventId, { alarm: 'ballot_log_changed', reason });
    } catch (fault) {
      deps.log.error({ event: eventId, fault: summariseFault(fault) }, 'a ballot log could not be checked');
    }
  }
}

/**
 * How often a check that found a fault is repeated if the log or event changed during it. A check reads in many statements: a wiped
 * rehearsal or a new end between two statements looks like a fault.
 */
const CHECKS_AGAIN = 3;

/** Checks one log, in chunks. @param onRoll gets the checked roll of an election whose log is open @returns the first fault, in words */
export async function checkLog(
  deps: CheckDeps,
  eventId: string,
  onRoll?: (roll: CheckedRoll) => void,
): Promise<string | undefined> {
  for (let left = CHECKS_AGAIN; ; left -= 1) {
    const before = await readState(deps.db, eventId);
    const fault = await findFault(deps, before, onRoll);
    if (fault === undefined || left === 0 || stampOf(await readState(deps.db, eventId)) === stampOf(before))
      return fault;
  }
}

interface State {
  readonly event: VotingEvent | undefined;
  readonly head: LogHead | undefined;
}

const readState = async (db: Database, eventId: string): Promise<State> => ({
  event: await findEventById(db, eventId),
  head: await findHead(db, eventId),
});

/** Identifies the state that a check read. The event's tag also covers its rehearsal and the generation of its invites. */
const stampOf = ({ event, head }: State): string =>
  JSON.stringify([event?.tag.toString('base64'), event?.definitionVersion, head?.frontier.size]);

async function findFault(
  deps: CheckDeps,
  { event, head }: State,
  onRoll: ((roll: CheckedRoll) => void) | undefined,
): Promise<string | undefined> {
  const definition = event === undefined ? undefined : await deps.definitions.get(event);
  if (event === undefined || definition === undefined || head === undefined) return undefined;
  const { id: eventId } = event;
  const { size } = head.frontier;
  const replay = new LogReplay();
  const seen = new SeenBallots();
  let last: ReturnType<typeof changeOf>;
  let dropped = 0;
  while (replay.frontier.size < size) {
    const from = replay.frontier.size;
    const to = Math.min(size, from + CHUNK);
    const leaves = await readLeaves(deps.db, eventId, from, to);
    if (leaves.length !== to - from) return `leaves are missing between ${from} and ${to}`;
    const hashes = leaves.map(hashLeaf);
    const fault =
      (await checkCheckpoints(deps, eventId, replay, hashes)) ??
      (await checkTiles(deps, eventId, replay.takeFullTiles())) ??
      (await checkBallots(deps, definition, from, leaves));
    if (fault !== undefined) return fault;
    if (from === 0 && !isOwnSeed(deps, event, head, leaves[0])) return 'the log says another seed of the lot';
    for (const [place, data] of leaves.entries()) {
      if (isBallot(data)) seen.add(hashes[place] ?? hashLeaf(data));
      const said = changeOf(data);
      last = said ?? last;
      dropped += said?.dropped ?? 0;
    }
    await setImmediate();
  }
  if (await seen.isAnyTwice()) return 'a ballot stands in the log twice';
  if (!equalHashes(replay.frontier.root(), head.frontier.root())) return 'the head has another root than its leaves';
  if (last !== undefined && last.end !== (await readEnd(deps.db, eventId))) return END_MOVED;
  if (last !== undefined && last.config !== head.configHash) return 'the log says another configuration than its head';
  if (dropped !== head.dropped) return 'another number of ballots was dropped than the log says';
  // Read the definition from the database: a cached definition may be older than the change.
  const present = await loadBallotDefinition(deps.db, eventId);
  if (present !== undefined && (await differsFromLog(deps, present))) return 'what ballots depend on was changed';
  const unaccounted = await findUnaccounted(deps.db, eventId);
  return (
    unaccounted ??
    (await checkMarks(deps, event, head)) ??
    (await checkRows(deps, event, onRoll)) ??
    (await checkSigned(deps, eventId))
  );
}

/** Checks that the columns which mark a log as closed and an event as final, used by lists and readers, agree with the signed head. */
async function checkMarks(deps: CheckDeps, event: VotingEvent, head: LogHead): Promise<string | undefined> {
  const close = await findOpenedClose(deps, event, head);
  if (head.closedSize !== (close === undefined ? null : close.index + 1))
    return 'the log is marked as closed, or as open, and its leaves say otherwise';
  if (close === undefined) {
    if (event.finalAt !== null || head.closeSalt !== null)
      return 'the event is marked as final, and its log is not closed';
    return undefined;
  }
  if (close.opening === undefined) return 'what stands beside the close does not open it';
  const isRight = head.lotRoot !== null && equalHashes(close.rootBefore, head.lotRoot);
  return isRight ? undefined : 'lots are drawn from another root than that before the close';
}

const isBallot = (leaf: Buffer): boolean => leaf.includes('"t":"ballot"');

/** The configuration hash, end and dropped ballots of an `open` or `config` leaf; undefined for other leaves, or if it cannot be parsed. */
export function changeOf(data: Buffer): z.output<typeof changeShape> | undefined {
  if (!data.includes('"t":"open"') && !data.includes('"t":"config"')) return undefined;
  return unlessSpoilt(() => changeShape.parse(JSON.parse(data.toString('utf8'))));
}

/** Whether the lot seed stored with the head matches the hash in the `open` leaf. */
function isOwnSeed(
  { secrets }: CheckDeps,
  event: VotingEvent,
  { lotSeed }: LogHead,
  open: Buffer | undefined,
): boolean {
  const seed = openSeed(secrets, event, lotSeed);
  return seed !== undefined && open?.includes(`"seed":"${sha256(seed).toString('hex')}"`) === true;
}

/** Checks the event's row and, until the log is closed, its queued ballots, invites and roll. After the close nothing depends on them. */
async function checkRows(
  deps: CheckDeps,
  event: VotingEvent,
  onRoll: ((roll: CheckedRoll) => void) | undefined,
): Promise<string | undefined> {
  if (!isGenuineEvent(deps.secrets, event)) return 'the event is not as the service wrote it';
  if (await isClosed(deps, event)) return undefined;
  const fault = await findForgedRow(deps, event, onRoll);
  // A close meanwhile destroys the election's key, without which every row seems forged.
  return fault !== undefined && (await isClosed(deps, event)) ? undefined : fault;
}

async function findForgedRow(
  { db, secrets, ballotKeys }: Pick<CheckDeps, 'db' | 'secrets' | 'ballotKeys'>,
  event: VotingEvent,
  onRoll: ((roll: CheckedRoll) => void) | undefined,
): Promise<string | undefined> {
  const own = await ballotKeys.find(event);
  const invites = await listInviteRows(db, event.id);
  if (!invites.every((invite) => isGenuineInvite(secrets, invite, event)))
    return 'an invite is not as the service wrote it';
  if (await hasForgedBallots(db, own, event)) return 'a waiting ballot is not as the service wrote it';
  if (event.type === 'poll') return undefined;
  const roll = await checkRoll(db, secrets, own, event);
  if (typeof roll === 'string') return roll;
  onRoll?.(roll);
  return undefined;
}

/** A growing list of the first eight bytes of leaf hashes. */
class HashHeads {
  #heads = new BigUint64Array(16);
  #count = 0;

  add(head: bigint): void {
    if (this.#count === this.#heads.length) {
      const grown = new BigUint64Array(2 * this.#count);
      grown.set(this.#heads);
      this.#heads = grown;
    }
    this.#heads[this.#count] = head;
    this.#count += 1;
  }

  isAnyTwice(): boolean {
    const heads = this.#heads.subarray(0, this.#count).sort();
    return heads.some((head, index) => index > 0 && head === heads[index - 1]);
  }
}

/** Detects a ballot that was sealed twice, by the first eight bytes of its hash. False alarms in ten million ballots: 1 in 300,000. */
class SeenBallots {
  /** One list per first byte of the hash: sorting a single list of ten million would block the event loop for seconds. */
  readonly #byFirst = Array.from({ length: 256 }, () => new HashHeads());

  add(hash: Uint8Array): void {
    this.#byFirst[hash[0] ?? 0]?.add(Buffer.from(hash.subarray(0, 8)).readBigUInt64BE());
  }

  async isAnyTwice(): Promise<boolean> {
    for (const heads of this.#byFirst) {
      if (heads.isAnyTwice()) return true;
      await setImmediate();
    }
    return false;
  }
}

/** Grows a tree from leaf hashes and returns tiles as they become full. Holds at most 256 hashes per level, and full tiles until taken. */
class LogReplay {
  readonly frontier = new CompactRange();
  readonly #open = new Map<number, Uint8Array[]>();
  #full: NewTile[] = [];

  append(leafHash: Uint8Array): void {
    this.frontier.append(leafHash, ({ level, index }, hash) => {
      if (level % TILE_HEIGHT !== 0) return;
      const above = level / TILE_HEIGHT;
      if (above > 0) {
        const hashes = Buffer.concat(this.#open.get(above - 1) ?? []);
        this.#full.push({ level: above - 1, tileIndex: index, hashes, root: Buffer.from(hash) });
        this.#open.set(above - 1, []);
      }
      this.#open.getOrInsertComputed(above, () => []).push(hash);
    });
  }

  takeFullTiles(): NewTile[] {
    const full = this.#full;
    this.#full = [];
    return full;
  }
}

/** Appends the hashes, and compares the root at each size that has a checkpoint. */
async function checkCheckpoints(
  deps: CheckDeps,
  eventId: string,
  replay: LogReplay,
  hashes: readonly Uint8Array[],
): Promise<string | undefined> {
  const { frontier } = replay;
  const signed = await listCheckpoints(deps.db, eventId, frontier.size, frontier.size + hashes.length);
  let next = 0;
  for (const hash of hashes) {
    replay.append(hash);
    const checkpoint = signed[next];
    if (checkpoint?.size !== frontier.size) continue;
    next += 1;
    const signedHead = unlessSpoilt(() =>
      parseCheckpointBody(checkpoint.note.slice(0, checkpoint.note.indexOf('\n\n') + 1)),
    );
    const genuine = signedHead?.size === frontier.size && equalHashes(signedHead.rootHash, frontier.root());
    if (!genuine || !equalHashes(checkpoint.rootHash, signedHead.rootHash))
      return `the checkpoint of ${frontier.size} leaves has another root`;
  }
  return undefined;
}

async function checkTiles(deps: CheckDeps, eventId: string, tiles: readonly NewTile[]): Promise<string | undefined> {
  const tree = eventTree(deps.db, eventId);
  for (const { level, tileIndex: index, hashes, root } of tiles) {
    const stored = await tree.findTile(level, index);
    if (stored?.hashes.equals(hashes) !== true || !equalHashes(stored.root, root))
      return `tile ${level}/${index} is another one`;
  }
  return undefined;
}

/** Compares the head with its signature and with the remembered checkpoint, read before the snapshot because the log may grow meanwhile. */
async function checkSigned(deps: CheckDeps, eventId: string): Promise<string | undefined> {
  const remembered = await deps.checkpoints.recall(eventId);
  return atOneMoment(deps.db, async (tx) => {
    const [event, head] = [await findEventById(tx, eventId), await findHead(tx, eventId)];
    // The event was deleted meanwhile.
    if (event === undefined || head === undefined) return undefined;
    const { frontier, confirmed, dropped } = head;
    if ((await findLastCheckpoint(tx, eventId))?.size !== frontier.size)
      return `nothing was signed at ${frontier.size} leaves`;
    if (!isSignedHead(deps.logKey, event, head)) return 'the head is not as it was signed';
    if (remembered === undefined) return undefined;
    const isKnown =
      (await goesOnFrom(tx, eventId, frontier, remembered)) && confirmed + dropped >= (remembered.confirmed ?? 0);
    return isKnown
      ? undefined
      : `what was signed at ${remembered.size} leaves is not there: an older state was restored`;
  });
}

/** Ballots of the box for a range of leaves. The limit is twice the number of leaves, so that a second ballot for a leaf is seen. */
async function readBallotsOf(
  db: Database,
  eventId: string,
  from: number,
  to: number,
): Promise<readonly PlacedBallot[] | BlockSpoilt> {
  try {
    return await readSealedBallots(db, eventId, { after: from - 1, upTo: String(to - 1), limit: 2 * (to - from) });
  } catch (fault) {
    if (fault instanceof BlockSpoilt) return fault;
    throw fault;
  }
}

/** Checks that every `ballot` leaf of a chunk has exactly one ballot in the box, with the committed content. */
async function checkBallots(
  { db }: CheckDeps,
  definition: BallotDefinition,
  from: number,
  leaves: readonly Buffer[],
): Promise<string | undefined> {
  const expected = new Map<number, Buffer>();
  for (const [place, data] of leaves.entries()) {
    if (isBallot(data)) expected.set(from + place, data);
  }
  const ballots = await readBallotsOf(db, definition.event.id, from, from + leaves.length);
  if (ballots instanceof BlockSpoilt) return ballots.message;
  for (const ballot of ballots) {
    const data = expected.get(ballot.leafIndex);
    const own = unlessSpoilt(() => leafDataOf(definition, ballot));
    if (data === undefined || own?.equals(data) !== true)
      return `the ballot at ${ballot.leafIndex} is not the one in the log`;
    expected.delete(ballot.leafIndex);
  }
  const [missing] = expected.keys();
  if (missing !== undefined) return `the ballot at ${missing} is missing in the box`;
  const hidden = await findWrongHeads(db, definition.event.id, from, from + leaves.length);
  return hidden === undefined ? undefined : `a ballot of the block at ${hidden} is not found by its code`;
}
