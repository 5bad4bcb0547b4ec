import type { Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import type { VotingEvent } from '#src/voting-events/voting-event.ts';
import { publish, type RecordDeps } from '#src/webhooks/record-event.ts';
import { originOf, signCheckpoint } from './checkpoint.ts';
import type { CompactRange } from './compact-range.ts';
import { insertCheckpoint, updateNote } from './repository.ts';
import type { NoteSigner } from './signed-note.ts';

/**
 * Signs the head of a log, stores it as a checkpoint and publishes `log.checkpoint`, in the transaction that
 * appended to the log. Every checkpoint comes to be here and nowhere else.
 * @param confirmed ballots confirmed so far, in the log or on their way
 * @returns the signed note
 */
export async function recordCheckpoint(
  tx: Transaction,
  deps: RecordDeps & { readonly logKey: NoteSigner },
  event: VotingEvent,
  frontier: CompactRange,
  confirmed: number,
): Promise<string> {
  const { size } = frontier;
  const rootHash = Buffer.from(frontier.root());
  const note = await renewNote(tx, deps, event, frontier, confirmed);
  await insertCheckpoint(tx, event, { size, rootHash, note }, await readNow(tx));
  const about = { accountId: event.accountId, votingEventId: event.id };
  const fact = { votingEventId: event.id, size, rootHash: rootHash.toString('base64'), checkpoint: note };
  await publish(tx, deps, about, 'log.checkpoint', [fact]);
  return note;
}

/** Signs the head as it stands with the number of ballots confirmed so far, for readers of the log; its size is one that was signed. */
export async function renewNote(
  tx: Transaction,
  { logKey }: { readonly logKey: NoteSigner },
  event: VotingEvent,
  frontier: CompactRange,
  confirmed: number,
): Promise<string> {
  const head = { origin: originOf(logKey.name, event), size: frontier.size, rootHash: frontier.root() };
  const note = signCheckpoint({ ...head, confirmed }, logKey);
  await updateNote(tx, event.id, confirmed, note);
  return note;
}
