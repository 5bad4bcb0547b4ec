import type { Executor, Transaction } from '#src/database/client.ts';
import type { CheckpointMemory, Remembered } from './checkpoint-memory.ts';
import { isSignedHead, type LoggedEvent } from './find-close.ts';
import { type CompactRange, equalHashes, nodesOfPrefix, rootOfPrefix } from './merkle-tree.ts';
import { loadNodes } from './read-log.ts';
import { countQueue, type LogHead } from './repository.ts';
import type { NoteVerifier } from './signed-note.ts';
import { eventTree } from './tree-store.ts';

/** A log whose database does not hold what was signed before. Nothing is appended: it would be a second history. */
export class LogSetBack extends Error {
  readonly alarm: 'ballot_log_set_back' | 'ballot_log_changed';
  /** Leaves in the database, and in the checkpoint that was signed last. */
  readonly size: number;
  readonly signed: number | undefined;
  /** What disagrees, in words, where more is known than that. */
  readonly reason: string | undefined;

  constructor(alarm: LogSetBack['alarm'], size: number, signed: number | undefined, reason?: string) {
    super('the log of an event is not what was signed');
    this.reason = reason;
    this.alarm = alarm;
    this.size = size;
    this.signed = signed;
  }
}

/** @param reason what disagrees, in words, where more is known than that */
export const logChanged = ({ frontier }: Pick<LogHead, 'frontier'>, reason?: string): LogSetBack =>
  new LogSetBack('ballot_log_changed', frontier.size, undefined, reason);

interface SignDeps {
  readonly checkpoints: CheckpointMemory;
  readonly logKey: NoteVerifier;
}

/** Whether a log goes on from a head that was signed earlier: it is as long at least, and begins with the same leaves. */
export async function goesOnFrom(
  executor: Executor,
  eventId: string,
  frontier: CompactRange | undefined,
  { size, rootHash }: Remembered,
): Promise<boolean> {
  if (frontier === undefined || frontier.size < size) return false;
  if (frontier.size === size) return equalHashes(frontier.root(), rootHash);
  const read = await loadNodes(eventTree(executor, eventId), nodesOfPrefix(size), frontier.size);
  try {
    return equalHashes(rootOfPrefix(size, read), rootHash);
  } catch (fault) {
    // A tile or a leaf is missing.
    if (fault instanceof RangeError) return false;
    throw fault;
  }
}

/**
 * The head must be as it was signed, and what was signed last must be its beginning.
 * @returns what `requireComplete` holds the ballots against
 * @throws LogSetBack after a restore of an older backup, or when the database was changed by hand
 */
export async function requireSigned(
  deps: SignDeps,
  tx: Transaction,
  event: LoggedEvent,
  head: LogHead | undefined,
): Promise<Remembered | undefined> {
  const remembered = await deps.checkpoints.recall(event.id);
  const size = head?.frontier.size ?? 0;
  if (head !== undefined && !isSignedHead(deps.logKey, event, head))
    throw new LogSetBack('ballot_log_changed', size, remembered?.size, 'the head is not as it was signed');
  if (remembered !== undefined && !(await goesOnFrom(tx, event.id, head?.frontier, remembered)))
    throw new LogSetBack('ballot_log_set_back', size, remembered.size);
  return remembered;
}

/**
 * No confirmed ballot that was signed for may be gone, whether it waits or is sealed.
 * @param present ballots in the log and in the queue @throws LogSetBack
 */
export function requireComplete(
  head: Pick<LogHead, 'confirmed' | 'dropped' | 'frontier'> | undefined,
  remembered: Remembered | undefined,
  present: number,
): void {
  const size = head?.frontier.size ?? 0;
  if (present < (head?.confirmed ?? 0)) throw new LogSetBack('ballot_log_changed', size, remembered?.size);
  if (present + (head?.dropped ?? 0) < (remembered?.confirmed ?? 0))
    throw new LogSetBack('ballot_log_set_back', size, remembered?.size);
}

/** Both, with every row of the queue counted. @throws LogSetBack */
export async function requireUndisputed(
  deps: SignDeps,
  tx: Transaction,
  event: LoggedEvent,
  head: LogHead | undefined,
): Promise<void> {
  const remembered = await requireSigned(deps, tx, event, head);
  requireComplete(head, remembered, (head?.ballots ?? 0) + (await countQueue(tx, event.id)));
}
