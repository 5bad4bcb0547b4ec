import type { Executor } from '#src/database/client.ts';
import { RecentMap } from '#src/platform/recent-map.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { type Checkpoint, openCheckpoint, originOf } from './checkpoint.ts';
import { type CloseOpening, openClose } from './close-opening.ts';
import { closeCommitment } from './leaf.ts';
import { equalHashes, hashLeaf, leadsToRoot, nodesOfInclusion } from './merkle-tree.ts';
import { loadNodes } from './read-log.ts';
import { findCheckpointAt, findHead, findLastClose, type LogHead, readLeaves } from './repository.ts';
import { NoteRefused, type NoteVerifier } from './signed-note.ts';
import { eventTree } from './tree-store.ts';

// Whether a log is closed is what its signed head says. Columns beside it, and leaves that no signed head holds, are written by anybody
// who writes to the database: they close nothing, and nothing is final by them.

/** The `close` leaf of a log. */
export interface SignedClose {
  readonly index: number;
  readonly at: number;
  /** Its commitment, in hex. */
  readonly c: string;
  /** The root before it, which lots are drawn from; undefined where no signed head of that size is left. */
  readonly rootBefore: Uint8Array | undefined;
  /** The hash of the lot's seed in the first leaf. */
  readonly seedHash: string | undefined;
}

export type LoggedEvent = Pick<VotingEvent, 'id' | 'rehearsalSince' | 'rehearsalNumber'>;

type SignedHead = Pick<LogHead, 'frontier' | 'note' | 'confirmed'>;

interface FindDeps {
  readonly db: Executor;
  readonly logKey: NoteVerifier;
}

/** By their notes, of heads that were looked at: what a signed head holds never changes. */
const known = new RecentMap<SignedClose>(10_000);

/** The `close` leaf that the signed head of a log holds; undefined where it holds none, or nothing proves it. */
export async function findClose(
  deps: FindDeps,
  event: LoggedEvent,
  head: SignedHead | undefined,
): Promise<SignedClose | undefined> {
  if (head === undefined || !isSignedHead(deps.logKey, event, head)) return undefined;
  const kept = known.get(head.note);
  if (kept !== undefined) return kept;
  const place = await findPlace(deps.db, event.id, head.frontier.size);
  const found = place === undefined ? undefined : await readClose(deps, event, place, head);
  if (found?.rootBefore !== undefined && found.seedHash !== undefined) known.set(head.note, found);
  return found;
}

/** Where a log of `size` leaves has what may be its `close` leaf: last, or in a poll with `void` leaves behind it. */
async function findPlace(db: Executor, eventId: string, size: number): Promise<number | undefined> {
  const [last] = await readLeaves(db, eventId, size - 1, size);
  if (last?.includes('"t":"close"') === true) return size - 1;
  return last?.includes('"t":"void"') === true ? findLastClose(db, eventId, size) : undefined;
}

/** What a note of the service says of the log of an event at a size; undefined for a note that is another one. */
function openSigned(logKey: NoteVerifier, event: LoggedEvent, note: string, size: number): Checkpoint | undefined {
  try {
    const signed = openCheckpoint(note, logKey);
    return signed.origin === originOf(logKey.name, event) && signed.size === size ? signed : undefined;
  } catch (fault) {
    if (fault instanceof NoteRefused) return undefined;
    throw fault;
  }
}

/** Whether the service's key has signed this head, root and number of confirmed ballots: the columns beside can be written by SQL. */
export function isSignedHead(
  logKey: NoteVerifier,
  event: LoggedEvent,
  { frontier, note, confirmed }: SignedHead,
): boolean {
  const signed = openSigned(logKey, event, note, frontier.size);
  return signed?.confirmed === confirmed && equalHashes(signed.rootHash, frontier.root());
}

async function readClose(
  { db, logKey }: FindDeps,
  event: LoggedEvent,
  index: number,
  head: SignedHead,
): Promise<SignedClose | undefined> {
  const leaf = await readSigned(db, event.id, index, head);
  if (leaf === undefined) return undefined;
  const before = await findCheckpointAt(db, event.id, index);
  const rootBefore = before === undefined ? undefined : openSigned(logKey, event, before.note, index)?.rootHash;
  const seedHash = (await readSigned(db, event.id, 0, head))?.seed;
  return { index, at: leaf.at, c: leaf.c, rootBefore, seedHash };
}

/** A leaf, where it stands in the tree that was signed: the service wrote it. */
async function readSigned(db: Executor, eventId: string, index: number, { frontier }: SignedHead) {
  const { size } = frontier;
  const [data] = await readLeaves(db, eventId, index, index + 1);
  if (data === undefined) return undefined;
  try {
    const read = await loadNodes(eventTree(db, eventId), nodesOfInclusion(index, size), size);
    return leadsToRoot(hashLeaf(data), index, size, read, frontier.root())
      ? JSON.parse(data.toString('utf8'))
      : undefined;
  } catch (fault) {
    // Tiles are missing.
    if (fault instanceof RangeError) return undefined;
    throw fault;
  }
}

/** A log that is closed, and what its `close` leaf commits to. */
export interface ClosedLog extends SignedClose {
  /** Undefined where what stands beside the leaf does not open it. */
  readonly opening: CloseOpening | undefined;
}

/** The same with what opens it, as it stands with the head. */
export async function findOpenedClose(
  deps: FindDeps,
  event: LoggedEvent,
  head: LogHead | undefined,
): Promise<ClosedLog | undefined> {
  const close = await findClose(deps, event, head);
  if (close === undefined || head === undefined) return undefined;
  return { ...close, opening: openingOf(close, head) };
}

function openingOf({ c }: SignedClose, { closeSalt, closeContent }: LogHead): CloseOpening | undefined {
  if (closeSalt === null || closeContent === null) return undefined;
  try {
    const opening = openClose(closeSalt, closeContent);
    const { salt: _, ...content } = opening;
    return closeCommitment(closeSalt, content).toString('hex') === c ? opening : undefined;
  } catch {
    // Changed by hand: not even JSON, or a salt of another length.
    return undefined;
  }
}

export const isClosed = async (deps: FindDeps, event: LoggedEvent): Promise<boolean> =>
  (await findClose(deps, event, await findHead(deps.db, event.id))) !== undefined;
