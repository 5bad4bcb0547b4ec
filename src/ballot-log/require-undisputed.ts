import type { Transaction } from '#src/database/client.ts';
import type { CheckpointMemory } from './checkpoint-memory.ts';
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

/**
 * The root of the head must be that of its last checkpoint, what was signed last must be in the log, and no confirmed ballot
 * that was signed for may be gone, whether it waits or is sealed.
 * @throws LogSetBack after a restore of an older backup, or when the database was changed by hand
 */
export async function requireUndisputed(
  deps: { readonly checkpoints: CheckpointMemory },
  tx: Transaction,
  eventId: string,
  head: LogHead | undefined,
): Promise<void> {
  const remembered = await deps.checkpoints.recall(eventId);
  const isStored = async (signed: { readonly size: number; readonly rootHash: Uint8Array }): Promise<boolean> => {
    const stored = await findCheckpointAt(tx, eventId, signed.size);
    return stored !== undefined && equalHashes(stored.rootHash, signed.rootHash);
  };
  const { frontier } = head ?? {};
  const genuine = frontier === undefined || (await isStored({ size: frontier.size, rootHash: frontier.root() }));
  const present = (head?.ballots ?? 0) + (await countQueue(tx, eventId));
  const isComplete = present >= (head?.confirmed ?? 0);
  const known =
    remembered === undefined ||
    ((await isStored(remembered)) && present + (head?.dropped ?? 0) >= (remembered.confirmed ?? 0));
  if (genuine && isComplete && known) return;
  const alarm = genuine && isComplete ? 'ballot_log_set_back' : 'ballot_log_changed';
  throw new LogSetBack(alarm, frontier?.size ?? 0, remembered?.size);
}
