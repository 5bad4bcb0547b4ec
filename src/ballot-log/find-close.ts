import type { Executor } from '#src/database/client.ts';
import { unlessSpoilt } from '#src/platform/errors.ts';
import { RecentMap } from '#src/platform/recent-map.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { type Checkpoint, openCheckpoint, originOf } from './checkpoint.ts';
import { type CloseOpening, closeOpeningView } from './close-opening.ts';
import { closeCommitment } from './leaf.ts';
import { equalHashes, hashLeaf, leadsToRoot, nodesOfInclusion, rootOfPrefix } from './merkle-tree.ts';
import { loadNodes } from './read-log.ts';
import { findHead, findLastClose, type LogHead, readLeaves } from './repository.ts';
import { type NoteVerifier, unlessRefused } from './signed-note.ts';
import { eventTree } from './tree-store.ts';

// Only the signed head proves that a log is closed. Direct SQL can change the other columns, and add leaves that no signed head
// includes: they neither close a log nor make a result final.

export interface SignedClose {
  readonly index: number;
  readonly at: number;
  /** The leaf's commitment, in hex. */
  readonly c: string;
  /** The root before this leaf, which seeds the lots. */
  readonly rootBefore: Uint8Array;
  /** The hash of the lots' seed in the first leaf. */
  readonly seedHash: string | undefined;
}

export type LoggedEvent = Pick<VotingEvent, 'id' | 'rehearsalSince' | 'rehearsalNumber'>;

type SignedHead = Pick<LogHead, 'frontier' | 'note' | 'confirmed'>;

interface FindDeps {
  readonly db: Executor;
  readonly logKey: NoteVerifier;
}

/** Cache by the note of the head: the leaves under a signed head never change. */
const known = new RecentMap<SignedClose>(10_000);

/** The `close` leaf under the signed head of a log; undefined if there is none, or if its inclusion cannot be proven. */
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
  if (found?.seedHash !== undefined) known.set(head.note, found);
  return found;
}

/** The index of a possible `close` leaf: the last leaf, or in a poll the last before `void` leaves. */
async function findPlace(db: Executor, eventId: string, size: number): Promise<number | undefined> {
  const [last] = await readLeaves(db, eventId, size - 1, size);
  if (last?.includes('"t":"close"') === true) return size - 1;
  return last?.includes('"t":"void"') === true ? findLastClose(db, eventId, size) : undefined;
}

/** Verifies the note of an event's log at a size; undefined if its signature, origin or size is wrong. */
function openSigned(logKey: NoteVerifier, event: LoggedEvent, note: string, size: number): Checkpoint | undefined {
  const signed = unlessRefused(() => openCheckpoint(note, logKey));
  return signed?.origin === originOf(logKey.name, event) && signed.size === size ? signed : undefined;
}

/** Whether the note of this head is signed by the service and matches its root and `confirmed` columns, which direct SQL can change. */
export function isSignedHead(
  logKey: NoteVerifier,
  event: LoggedEvent,
  { frontier, note, confirmed }: SignedHead,
): boolean {
  const signed = openSigned(logKey, event, note, frontier.size);
  return signed?.confirmed === confirmed && equalHashes(signed.rootHash, frontier.root());
}

async function readClose(
  { db }: FindDeps,
  event: LoggedEvent,
  index: number,
  head: SignedHead,
): Promise<SignedClose | undefined> {
  const found = await readSigned(db, event.id, index, head);
  if (found === undefined) return undefined;
  const { leaf, read } = found;
  // The proof of this leaf holds the nodes of the tree before it. The checkpoint of that size may have been signed with an earlier key.
  const rootBefore = rootOfPrefix(index, read);
  const seedHash = (await readSigned(db, event.id, 0, head))?.leaf.seed;
  return { index, at: leaf.at, c: leaf.c, rootBefore, seedHash };
}

/** The parsed leaf at an index, if the signed tree includes it: then the service wrote it. */
async function readSigned(db: Executor, eventId: string, index: number, { frontier }: SignedHead) {
  const { size } = frontier;
  const [data] = await readLeaves(db, eventId, index, index + 1);
  if (data === undefined) return undefined;
  try {
    const read = await loadNodes(eventTree(db, eventId), nodesOfInclusion(index, size), size);
    return leadsToRoot(hashLeaf(data), index, size, read, frontier.root())
      ? { leaf: JSON.parse(data.toString('utf8')), read }
      : undefined;
  } catch (fault) {
    // Tiles are missing.
    if (fault instanceof RangeError) return undefined;
    throw fault;
  }
}

export interface ClosedLog extends SignedClose {
  /** Undefined if the stored salt and content do not match the commitment. */
  readonly opening: CloseOpening | undefined;
}

/** Like `findClose`, with the opening from the columns of the head. */
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
  return unlessSpoilt(() => {
    const opening = closeOpeningView.parse({ salt: closeSalt.toString('base64'), ...JSON.parse(closeContent) });
    const { salt: _, ...content } = opening;
    return closeCommitment(closeSalt, content).toString('hex') === c ? opening : undefined;
  });
}

export const isClosed = async (deps: FindDeps, event: LoggedEvent): Promise<boolean> =>
  (await findClose(deps, event, await findHead(deps.db, event.id))) !== undefined;
