import { setImmediate } from 'node:timers/promises';
import type { BallotPaper, PaperShelf } from '#src/ballot-paper/paper.ts';
import type { Database } from '#src/database/client.ts';
import { type Log, summariseFault } from '#src/platform/log.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import { openCheckpoint, parseCheckpointBody } from './checkpoint.ts';
import { Frontier } from './frontier.ts';
import { leafDataOf } from './leaf-of-ballot.ts';
import { equalHashes, hashLeaf } from './merkle-tree.ts';
import { readHashTile } from './read-log.ts';
import { findCheckpointAt, findHead, listCheckpoints, listLogs, readLeaves, readSealedBallots } from './repository.ts';
import { NoteRefused, type NoteVerifier } from './signed-note.ts';
import { TILE_WIDTH } from './tiles.ts';
import type { Witness } from './witness.ts';

export interface CheckDeps {
  readonly db: Database;
  readonly log: Log;
  readonly papers: PaperShelf;
  readonly logKey: NoteVerifier;
  readonly witness: Witness;
}

/** Leaves that are held at a time, whatever the size of the log. */
const CHUNK = 16 * TILE_WIDTH;

/**
 * Computes logs anew from their leaves and compares everything that was ever signed, every full tile and every ballot of
 * the box with them. What does not agree is an alarm of its own; nothing is mended.
 * @param sinceMs logs that grew since; 0 for all
 */
export async function checkLogs(deps: CheckDeps, sinceMs: number): Promise<void> {
  for (const eventId of await listLogs(deps.db, sinceMs)) {
    try {
      const fault = await checkLog(deps, eventId);
      if (fault !== undefined)
        deps.log.error(
          { event: eventId, alarm: 'ballot_log_changed', reason: fault },
          'a ballot log is not what was signed',
        );
    } catch (fault) {
      deps.log.error({ event: eventId, fault: summariseFault(fault) }, 'a ballot log could not be checked');
    }
  }
}

/** What is wrong with a log, in words, or undefined when everything agrees. Reads it in chunks: memory does not grow with it. */
export async function checkLog(deps: CheckDeps, eventId: string): Promise<string | undefined> {
  const event = await findEventById(deps.db, eventId);
  const paper = event === undefined ? undefined : await deps.papers.take(event);
  const head = await findHead(deps.db, eventId);
  if (paper === undefined || head === undefined) return undefined;
  const { size } = head.frontier;
  const frontier = new Frontier();
  while (frontier.size < size) {
    const from = frontier.size;
    const to = Math.min(size, from + CHUNK);
    const leaves = await readLeaves(deps.db, eventId, from, to);
    if (leaves.length !== to - from) return `leaves are missing between ${from} and ${to}`;
    const hashes = leaves.map(hashLeaf);
    const fault =
      (await checkCheckpoints(deps, eventId, frontier, hashes)) ??
      (await checkTiles(deps, eventId, from, hashes)) ??
      (await checkBallots(deps, paper, from, leaves));
    if (fault !== undefined) return fault;
    await setImmediate();
  }
  if (!equalHashes(frontier.root(), head.frontier.root())) return 'the head has another root than its leaves';
  return (await checkSignature(deps, eventId, size)) ?? checkWitness(deps, eventId);
}

/** Appends the hashes, and compares the root at each size that was signed. */
async function checkCheckpoints(
  deps: CheckDeps,
  eventId: string,
  frontier: Frontier,
  hashes: readonly Uint8Array[],
): Promise<string | undefined> {
  const signed = await listCheckpoints(deps.db, eventId, frontier.size, frontier.size + hashes.length);
  let next = 0;
  for (const hash of hashes) {
    frontier.append(hash);
    const checkpoint = signed[next];
    if (checkpoint?.size !== frontier.size) continue;
    next += 1;
    const { size, rootHash } = parseCheckpointBody(checkpoint.note.slice(0, checkpoint.note.indexOf('\n\n') + 1));
    const genuine = size === frontier.size && equalHashes(rootHash, frontier.root());
    if (!genuine || !equalHashes(checkpoint.rootHash, rootHash))
      return `the checkpoint of ${frontier.size} leaves has another root`;
  }
  return undefined;
}

async function checkTiles(
  deps: CheckDeps,
  eventId: string,
  from: number,
  hashes: readonly Buffer[],
): Promise<string | undefined> {
  for (let at = 0; at + TILE_WIDTH <= hashes.length; at += TILE_WIDTH) {
    const index = (from + at) / TILE_WIDTH;
    const stored = await readHashTile(deps.db, eventId, { level: 0, index, width: TILE_WIDTH });
    if (stored?.equals(Buffer.concat(hashes.slice(at, at + TILE_WIDTH))) !== true)
      return `tile 0/${index} is another one`;
  }
  return undefined;
}

/** Older checkpoints may have been signed by a key that was replaced; the one that is served must bear the present one's. */
async function checkSignature(deps: CheckDeps, eventId: string, size: number): Promise<string | undefined> {
  const last = await findCheckpointAt(deps.db, eventId, size);
  if (last === undefined) return `nothing was signed at ${size} leaves`;
  try {
    openCheckpoint(last.note, deps.logKey);
    return undefined;
  } catch (fault) {
    if (!(fault instanceof NoteRefused)) throw fault;
    return `the last checkpoint is refused: ${fault.message}`;
  }
}

/** Every `ballot` leaf of a chunk must have its ballot in the box, with the content that it is committed to, and no other. */
async function checkBallots(
  { db }: CheckDeps,
  paper: BallotPaper,
  from: number,
  leaves: readonly Buffer[],
): Promise<string | undefined> {
  const expected = new Map<number, Buffer>();
  for (const [place, data] of leaves.entries()) {
    if (data.includes('"t":"ballot"')) expected.set(from + place, data);
  }
  const ballots = await readSealedBallots(db, paper.event.id, from - 1, leaves.length);
  for (const ballot of ballots.filter(({ leafIndex }) => leafIndex < from + leaves.length)) {
    const data = expected.get(ballot.leafIndex);
    if (data === undefined || !leafDataOf(paper, ballot).equals(data))
      return `the ballot at ${ballot.leafIndex} is not the one in the log`;
    expected.delete(ballot.leafIndex);
  }
  const [missing] = expected.keys();
  return missing === undefined ? undefined : `the ballot at ${missing} is missing in the box`;
}

async function checkWitness(deps: CheckDeps, eventId: string): Promise<string | undefined> {
  const remembered = await deps.witness.recall(eventId);
  if (remembered === undefined) return undefined;
  const [stored] = await listCheckpoints(deps.db, eventId, remembered.size - 1, remembered.size);
  const known = stored !== undefined && equalHashes(stored.rootHash, remembered.rootHash);
  return known ? undefined : `what was signed at ${remembered.size} leaves is not there: an older state was restored`;
}
