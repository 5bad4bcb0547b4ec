import { inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { MINUTE_MS } from '#src/platform/clock.ts';
import { isFinalAt } from '#src/voting-events/lifecycle.ts';
import { findEventById } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { recordCheckpoint } from './checkpoint.ts';
import { isLogClosed } from './due-repository.ts';
import { encodeLeaf } from './leaf.ts';
import { countQueue, findHead, lockHead, takeSequencer, updateHead } from './repository.ts';
import { requireUndisputed } from './require-undisputed.ts';
import type { SealDeps } from './seal-ballots.ts';
import { appendLeaves, eventTree } from './tree-store.ts';
import { listVoidsToLog } from './void-ballot.ts';

/** How long the close of an event waits for witnesses who do not sign. Then it closes without them. */
const PATIENCE_MS = 10 * MINUTE_MS;

/** A head of the service's own log that holds a head of an event, as witnesses have signed it. */
export interface CosignedHead {
  /** The text that they signed: origin, size and root of the service's own log. */
  readonly checkpoint: string;
  /** Where the event's head stands in it, and the inclusion proof in base64. */
  readonly index: number;
  readonly hashes: readonly string[];
  /** Their signature lines, one or more. */
  readonly cosignatures: readonly string[];
}

/** Whether the log of an event has everything but its end: no ballot can come any more, and void ones have their leaves. */
export async function isReadyToClose(tx: Transaction, event: VotingEvent, nowMs: number): Promise<boolean> {
  if (!isFinalAt(event, nowMs) || (await isLogClosed(tx, event.id))) return false;
  // Void ballots are out of the count; their leaves come first.
  return (await countQueue(tx, event.id)) === 0 && (await listVoidsToLog(tx, event.id, 1)).length === 0;
}

/**
 * Where witnesses are set, writes the `witness` leaf before the close: what they signed of the log with all its ballots. Lots are
 * drawn from the root before the `close` leaf, so an operator who orders the last ballots cannot try out which order wins
 * (completions 5.4).
 * @returns whether the event may be closed now: its last leaf is of witnesses, there are none, or they did not sign for ten minutes
 */
export async function recordCosignature(deps: SealDeps, event: VotingEvent): Promise<boolean> {
  const { cosignedHead } = deps;
  const before = await findHead(deps.db, event.id);
  if (cosignedHead === undefined || before === undefined) return cosignedHead === undefined;
  const { size } = before.frontier;
  if (await endsWithWitness(deps, event.id, size)) return true;
  const cosigned = await cosignedHead(event.id, size);
  if (cosigned === undefined) {
    if (!isFinalAt(event, (await readNow(deps.db)) - PATIENCE_MS)) return false;
    deps.log.warn({ event: event.id }, 'an event closes without a cosignature: no witness signed its log in time');
    return true;
  }
  const note = await inTransaction(deps.db, async (tx) => {
    if (!(await takeSequencer(tx, event.id))) return undefined;
    const head = await lockHead(tx, event.id);
    const current = await findEventById(tx, event.id);
    // Another leaf came, or is on its way: the next turn asks for its head.
    if (head === undefined || current === undefined || head.frontier.size !== size) return undefined;
    const at = await readNow(tx);
    if (!(await isReadyToClose(tx, current, at))) return undefined;
    await requireUndisputed(deps, tx, event.id, head);
    await appendLeaves(tx, event.id, head.frontier, [encodeLeaf({ v: 2, t: 'witness', e: event.id, at, ...cosigned })]);
    await updateHead(tx, event.id, head);
    return recordCheckpoint(tx, deps, current, head.frontier, head.ballots);
  });
  if (note !== undefined) await deps.checkpoints.remember(event.id, note);
  return note !== undefined;
}

async function endsWithWitness({ db }: SealDeps, eventId: string, size: number): Promise<boolean> {
  const [last] = await eventTree(db, eventId).readLeaves(size - 1, size);
  return last !== undefined && JSON.parse(last.toString('utf8')).t === 'witness';
}
