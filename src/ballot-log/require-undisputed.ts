import type { Executor, Transaction } from '#src/database/client.ts';
import type { CheckpointMemory, Remembered } from './checkpoint-memory.ts';
import { isSignedHead, type LoggedEvent } from './find-close.ts';
import { type CompactRange, equalHashes, nodesOfPrefix, rootOfPrefix } from './merkle-tree.ts';
import { loadNodes } from './read-log.ts';
import { countQueue, type LogHead } from './repository.ts';
import type { NoteVerifier } from './signed-note.ts';
import { eventTree } from './tree-store.ts';

/** Thrown if the database does not match what was signed for a log. Appending would fork the log, so nothing is appended. */
export class LogSetBack extends Error {
  readonly alarm: 'ballot_log_set_back' | 'ballot_log_changed';
  /** Number of leaves: `size` in the database, `signed` in the last remembered checkpoint, if there is one. */
  readonly size: number;
  readonly signed: number | undefined;
  /** The disagreement in words, if known. */
  readonly reason: string | undefined;

  constructor(alarm: LogSetBack['alarm'], size: number, signed: number | undefined, reason?: string) {
    super('the log of an event is not what was signed');
    this.reason = reason;
    this.alarm = alarm;
    this.size = size;
    this.signed = signed;
  }
}

/** @param reason the disagreement in words, if known */
export const logChanged = ({ frontier }: Pick<LogHead, 'frontier'>, reason?: string): LogSetBack =>
  new LogSetBack('ballot_log_changed', frontier.size, undefined, reason);

interface SignDeps {
  readonly checkpoints: CheckpointMemory;
  readonly logKey: NoteVerifier;
}

/** Whether a log extends a head that was signed earlier: it is at least as long, and begins with the same leaves. */
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
    // A tile or leaf is missing.
    if (fault instanceof RangeError) return false;
    throw fault;
  }
}

/**
 * Requires that the head matches its signed note and extends the last remembered checkpoint.
 * @returns the remembered checkpoint, for `requireComplete`
 * @throws LogSetBack after the restore of an older backup, or after direct SQL
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

/** Requires that no ballot of a signed `confirmed` line is missing. @param present ballots in log and queue @throws LogSetBack */
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

/** Runs `requireSigned` and `requireComplete`, counting the queue. @throws LogSetBack */
export async function requireUndisputed(
  deps: SignDeps,
  tx: Transaction,
  event: LoggedEvent,
  head: LogHead | undefined,
): Promise<void> {
  const remembered = await requireSigned(deps, tx, event, head);
  requireComplete(head, remembered, (head?.ballots ?? 0) + (await countQueue(tx, event.id)));
}
