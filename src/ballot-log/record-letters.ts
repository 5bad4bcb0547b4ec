import type { Transaction } from '#src/database/client.ts';
import type { Deps } from '#src/deps.ts';
import { type LockedEvent, noteInEvent } from '#src/voting-events/repository.ts';
import { lettersOf } from '#src/voting-events/voting-event.ts';
import type { RecordDeps } from '#src/webhooks/record-event.ts';
import { recordGrown } from './checkpoint.ts';
import { encodeLeaf } from './leaf.ts';
import { recordWaitingChange } from './record-configuration.ts';
import { lockHead, updateHead } from './repository.ts';
import { requireUndisputed } from './require-undisputed.ts';
import { appendLeaves } from './tree-store.ts';

type LetterDeps = RecordDeps & Pick<Deps, 'secrets' | 'definitions' | 'logKey' | 'checkpoints'>;

/** Records how many voter keys were printed (completions 10.9). Call `waitForSequencer` first, then lock the event. @throws LogSetBack */
export async function recordLetters(
  tx: Transaction,
  deps: LetterDeps,
  event: LockedEvent,
  printed: number,
): Promise<void> {
  const n = lettersOf(event) + printed;
  const counted = event.rehearsalSince === null ? { lettersPrinted: n } : { rehearsalLetters: n };
  await noteInEvent(tx, deps.secrets, event, counted);
  const head = await lockHead(tx, event.id);
  // No log yet: the `open` leaf will contain the number.
  if (head === undefined) return;
  await requireUndisputed(deps, tx, event, head);
  const current = await recordWaitingChange(deps, tx, event, head);
  await appendLeaves(tx, event.id, current.frontier, [encodeLeaf({ v: 2, t: 'letters', e: event.id, n })]);
  await updateHead(tx, event.id, current);
  await recordGrown(tx, deps, event, current);
}
