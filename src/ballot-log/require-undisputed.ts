import type { Transaction } from '#src/database/client.ts';
import type { Frontier } from './frontier.ts';
import { equalHashes } from './merkle-tree.ts';
import { findCheckpointAt } from './repository.ts';
import type { Witness } from './witness.ts';

/** A log whose database does not hold what was signed before. Nothing is appended: it would be a second history. */
export class LogSetBack extends Error {
  readonly alarm: 'ballot_log_set_back' | 'ballot_log_changed';
  /** Leaves in the database, and in the checkpoint that was signed last. */
  readonly size: number;
  readonly signed: number | undefined;

  constructor(alarm: LogSetBack['alarm'], size: number, signed: number | undefined) {
    super('the log of an event is not what was signed');
    this.alarm = alarm;
    this.size = size;
    this.signed = signed;
  }
}

/**
 * The root of the head must be that of its last checkpoint, and what was signed last must be in the log.
 * @throws LogSetBack after a restore of an older backup, or when the database was changed by hand
 */
export async function requireUndisputed(
  deps: { readonly witness: Witness },
  tx: Transaction,
  eventId: string,
  frontier: Frontier | undefined,
): Promise<void> {
  const remembered = await deps.witness.recall(eventId);
  const isStored = async (signed: { readonly size: number; readonly rootHash: Uint8Array }): Promise<boolean> => {
    const stored = await findCheckpointAt(tx, eventId, signed.size);
    return stored !== undefined && equalHashes(stored.rootHash, signed.rootHash);
  };
  const genuine = frontier === undefined || (await isStored({ size: frontier.size, rootHash: frontier.root() }));
  if (genuine && (remembered === undefined || (await isStored(remembered)))) return;
  throw new LogSetBack(genuine ? 'ballot_log_set_back' : 'ballot_log_changed', frontier?.size ?? 0, remembered?.size);
}
