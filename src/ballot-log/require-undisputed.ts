import type { Transaction } from '#src/database/client.ts';
import type { CheckpointMemory, Remembered } from './checkpoint-memory.ts';
import { equalHashes } from './merkle-tree.ts';
import { countQueue, findCheckpointAt, type LogHead } from './repository.ts';

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

interface SignDeps {
  readonly checkpoints: CheckpointMemory;
}

/**
 * The root of the head must be that of its last checkpoint, and what was signed last must be in the log.
 * @returns what `requireComplete` holds the ballots against
 * @throws LogSetBack after a restore of an older backup, or when the database was changed by hand
 */
export async function requireSigned(
  deps: SignDeps,
  tx: Transaction,
  eventId: string,
  head: LogHead | undefined,
): Promise<Remembered | undefined> {
  const remembered = await deps.checkpoints.recall(eventId);
  const isStored = async (signed: { readonly size: number; readonly rootHash: Uint8Array }): Promise<boolean> => {
    const stored = await findCheckpointAt(tx, eventId, signed.size);
    return stored !== undefined && equalHashes(stored.rootHash, signed.rootHash);
  };
  const { frontier } = head ?? {};
  if (frontier !== undefined && !(await isStored({ size: frontier.size, rootHash: frontier.root() })))
    throw new LogSetBack('ballot_log_changed', frontier.size, remembered?.size);
  if (remembered !== undefined && !(await isStored(remembered)))
    throw new LogSetBack('ballot_log_set_back', frontier?.size ?? 0, remembered.size);
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
  eventId: string,
  head: LogHead | undefined,
): Promise<void> {
  const remembered = await requireSigned(deps, tx, eventId, head);
  requireComplete(head, remembered, (head?.ballots ?? 0) + (await countQueue(tx, eventId)));
}
