import { randomBytes } from 'node:crypto';
import { type Executor, inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { microToDecimal } from '#src/platform/decimal.ts';
import { type CheckedRoll, turnoutByGroup } from '#src/voters/check-roll.ts';
import { isFinalAt } from '#src/voting-events/lifecycle.ts';
import { clearDispute, markFinal } from '#src/voting-events/repository.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { checkLog } from './check-log.ts';
import { sumAtClose } from './check-repository.ts';
import { recordCheckpoint } from './checkpoint.ts';
import { findClose } from './find-close.ts';
import { type CloseContent, closeCommitment, encodeLeaf, SALT_BYTES } from './leaf.ts';
import { equalHashes } from './merkle-tree.ts';
import { countParticipants, readRollChanges } from './record-roll.ts';
import { countQueue, findHead, type LogHead, lockHead, takeSequencer, updateHead } from './repository.ts';
import { logChanged, requireUndisputed } from './require-undisputed.ts';
import type { FinalCount, SealDeps } from './seal-ballots.ts';
import type { NoteSigner } from './signed-note.ts';
import { appendLeaves } from './tree-store.ts';
import { listVoidsToLog } from './void-ballot.ts';

/**
 * Writes the `close` leaf, once, when no ballot can come any more: a salted commitment to the result and to all inputs of the
 * count. A ballot that becomes void later gets its `void` leaf after the `close` leaf, and stays in the final result
 * (completions 6.3 and 7.4).
 */
export async function closeLog(deps: SealDeps, event: VotingEvent): Promise<void> {
  const definition = await deps.definitions.get(event);
  const head = await findHead(deps.db, event.id);
  if (definition === undefined || head === undefined || !(await isReadyToClose(deps, event, head))) return;
  // The count uses the present ballots, names and rules: check first that every ballot still matches the commitment in its leaf.
  let roll: CheckedRoll | undefined;
  const fault = await checkLog(deps, event.id, (checked) => {
    roll = checked;
  });
  if (fault !== undefined) throw logChanged(head, fault);
  // The check found no fault, so the cause of any earlier alarm is gone.
  await clearDispute(deps.db, event.id);
  const count = await deps.countFinally(definition, roll);
  const { lotRoot } = count;
  const note = await inTransaction(deps.db, async (tx) => {
    if (!(await takeSequencer(tx, event.id))) return undefined;
    const current = await deps.definitions.getForUpdate(tx, event.id);
    const head = await lockHead(tx, event.id);
    // The definition changed since the count or since its last leaf, or ballots are still queued: a later run closes the log.
    if (current === undefined || head === undefined) return undefined;
    const { definitionVersion } = definition.event;
    if (current.event.definitionVersion !== definitionVersion || head.definitionVersion !== definitionVersion)
      return undefined;
    if (!(await isReadyToClose({ ...deps, db: tx }, current.event, head))) return undefined;
    await requireUndisputed(deps, tx, current.event, head);
    // A leaf was appended during the count. The lots must use the root right before the `close` leaf, so a later run counts again.
    if (!equalHashes(lotRoot, head.frontier.root())) return undefined;
    const content = await describeClose(tx, current.event, head, count, roll);
    // The log's last `roll` leaf is not the present roll: the next run records it first.
    if (!isRecorded(head, content)) return undefined;
    const nowMs = await readNow(tx);
    const closeSalt = randomBytes(SALT_BYTES);
    const c = closeCommitment(closeSalt, content).toString('hex');
    await appendLeaves(tx, event.id, head.frontier, [encodeLeaf({ v: 2, t: 'close', e: event.id, at: nowMs, c })]);
    const closeContent = canonicalJson(content);
    const closedSize = head.frontier.size;
    await updateHead(tx, event.id, { ...head, lotRoot, closedSize, closeSalt, closeContent });
    await markFinal(tx, deps.secrets, current.event, nowMs);
    // A rehearsal keeps its ballot key until its end, which retires the key.
    if (current.event.rehearsalSince === null) await deps.ballotKeys.retire(tx, event.id);
    return recordCheckpoint(tx, deps, event, head.frontier, head.ballots);
  });
  if (note !== undefined && event.rehearsalSince === null) await deps.checkpoints.remember(event.id, note);
}

const isRecorded = (head: LogHead, { electorate, identityChanges, rollChanges }: CloseContent): boolean =>
  electorate === null ||
  (electorate.heads === head.rollHeads &&
    electorate.weight === head.rollWeight &&
    identityChanges === head.rollIdentityChanges &&
    rollChanges === head.rollOtherChanges);

/** Whether only the `close` leaf is missing: no ballot can come any more, the queue is empty, and void ballots have their leaves. */
async function isReadyToClose(
  deps: { readonly db: Executor; readonly logKey: NoteSigner },
  event: VotingEvent,
  head: LogHead,
): Promise<boolean> {
  if (!isFinalAt(event, await readNow(deps.db)) || (await findClose(deps, event, head)) !== undefined) return false;
  // The count leaves out void ballots, so their `void` leaves must come before the `close` leaf.
  return (await countQueue(deps.db, event.id)) === 0 && (await listVoidsToLog(deps.db, event.id)).length === 0;
}

/** @throws LogSetBack if ballots, participants and roll of an election do not agree: the result then stays provisional */
async function describeClose(
  tx: Transaction,
  event: VotingEvent,
  head: LogHead,
  { abstentions, result }: FinalCount,
  electorate: CheckedRoll | undefined,
): Promise<CloseContent> {
  const { configHash, dropped } = head;
  const { ballots, weightMicro, agree } = await sumAtClose(tx, event.id);
  if (event.type === 'election' && electorate === undefined) throw logChanged(head, 'the roll was not checked');
  const participants = event.type === 'poll' ? null : await countParticipants(tx, event.id);
  // Only direct SQL can make these numbers disagree.
  const isPlausible =
    agree &&
    (electorate === undefined ||
      (participants !== null &&
        participants >= ballots &&
        participants <= ballots + dropped &&
        ballots <= electorate.heads &&
        weightMicro <= electorate.weightMicro));
  if (!isPlausible) throw logChanged(head);
  return {
    title: event.title,
    config: configHash,
    ballots,
    weight: microToDecimal(weightMicro),
    abstentions,
    participants,
    electorate:
      electorate === undefined ? null : { heads: electorate.heads, weight: microToDecimal(electorate.weightMicro) },
    ...(await readRollChanges(tx, event.id)),
    byGroup: electorate === undefined ? [] : turnoutByGroup(electorate),
    result,
  };
}
