import type { Transaction } from '#src/database/client.ts';
import { microToDecimal } from '#src/platform/decimal.ts';
import type { VotingEvent } from '#src/voting-events/types.ts';
import { appendLeaves } from './append-leaves.ts';
import { encodeLeaf } from './leaf.ts';
import type { LogHead } from './repository.ts';
import { readElectorate } from './roll-repository.ts';

/** The roll of an event as the log records it: approved voters, their weight, and what was changed by hand since the opening. */
type RecordedRoll = Pick<LogHead, 'rollHeads' | 'rollWeight' | 'rollIdentityChanges' | 'rollOtherChanges'>;

const NO_ROLL: RecordedRoll = { rollHeads: null, rollWeight: null, rollIdentityChanges: null, rollOtherChanges: null };

/** Polls have no roll. */
export async function readRoll(tx: Transaction, event: VotingEvent): Promise<RecordedRoll> {
  if (event.type === 'poll') return NO_ROLL;
  const { heads, weightMicro } = await readElectorate(tx, event.id);
  return {
    rollHeads: heads,
    rollWeight: microToDecimal(weightMicro),
    rollIdentityChanges: event.identityChanges,
    rollOtherChanges: event.rollChanges,
  };
}

/**
 * Appends a `roll` leaf where the roll is another one than the log says. What an organizer changed by hand is recorded at once.
 * Voters that came, and those approved by the first use of their key, are recorded before ballots are sealed: sooner, the leaf
 * would show when one of them used a key.
 * @param seals whether ballots follow, or the close
 */
export async function recordRoll(
  tx: Transaction,
  event: VotingEvent,
  head: LogHead,
  { seals, nowMs }: { readonly seals: boolean; readonly nowMs: number },
): Promise<LogHead> {
  if (event.type === 'poll') return head;
  const changedByHand =
    head.rollIdentityChanges !== event.identityChanges || head.rollOtherChanges !== event.rollChanges;
  if (!changedByHand && !seals) return head;
  const roll = await readRoll(tx, event);
  const { rollHeads, rollWeight } = roll;
  if (!changedByHand && head.rollHeads === rollHeads && head.rollWeight === rollWeight) return head;
  if (rollHeads === null || rollWeight === null) throw new Error('an election without a roll');
  const seq = head.rollSeq + 1;
  const { id: e, identityChanges, rollChanges } = event;
  const figures = { heads: rollHeads, weight: rollWeight, identityChanges, rollChanges };
  await appendLeaves(tx, e, head.frontier, [encodeLeaf({ v: 2, t: 'roll', e, at: nowMs, ...figures, seq })]);
  return { ...head, ...roll, rollSeq: seq };
}
