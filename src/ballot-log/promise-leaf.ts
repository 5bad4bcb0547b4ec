import type { LogReceipts } from '#src/ballots/log-receipts.ts';
import type { Config } from '#src/config.ts';
import type { Deps } from '#src/deps.ts';
import { enqueue } from '#src/jobs/queue.ts';
import { summariseFault } from '#src/platform/log.ts';
import { originOf } from './checkpoint.ts';
import { leafDataOf } from './leaf-of-ballot.ts';
import { HASH_BYTES, hashLeaf } from './merkle-tree.ts';
import { FULL_QUEUE, SEQUENCE_LOG } from './seal-ballots.ts';
import { type NoteSigner, signNote } from './signed-note.ts';

/**
 * The promise that a confirmed ballot will be in the log: a signed note of four lines, `<key name>/<voting event id>`, the
 * words below, the hash of the ballot's leaf in base64, and `until` with a date in UTC. The holder of one that finds no such
 * leaf after that date, or after the close, holds the proof that a ballot was removed.
 *
 * The second line keeps promises and checkpoints apart, which the same key signs: a checkpoint has a number there.
 */
const WORDS = 'this leaf will be in the log';

/**
 * The note as text.
 * @param origin of the log that it promises by: `originOf`
 * @param leafHash hash of the leaf in the tree (RFC 6962), 32 bytes
 * @param untilMs until when the leaf will be in the log
 */
export function signLogPromise(origin: string, leafHash: Uint8Array, signer: NoteSigner, untilMs: number): string {
  if (leafHash.length !== HASH_BYTES) throw new RangeError(`a leaf hash has ${HASH_BYTES} bytes`);
  const encoded = Buffer.from(leafHash).toString('base64');
  return signNote(`${origin}\n${WORDS}\n${encoded}\nuntil ${new Date(untilMs).toISOString()}\n`, signer);
}

/**
 * Between two times that a full queue of an event is announced. What fills it meanwhile is sealed together: each sealing, and the
 * step of the disclosure before it, costs about as much for three hundred ballots as for thirty.
 */
export const SEAL_PAUSE_MS = 200;
/** Events that this process counts confirms of at most; the recurring job sees to those that were forgotten. */
const MAX_COUNTED = 10_000;

/**
 * Signs what a voter is promised, and has a full queue sealed soon: each process counts its own confirms in memory, so that
 * no confirm asks the database how many wait.
 */
export function createLogReceipts(
  deps: Pick<Deps, 'db' | 'log' | 'logKey' | 'acknowledged' | 'ballotPublisher'> & {
    readonly config: Pick<Config, 'webConcurrency'>;
  },
): LogReceipts {
  const confirmed = new Map<string, number>();
  /** Events that were announced less than a pause ago, and whether another queue has filled since. */
  const announced = new Map<string, boolean>();
  // Each of several processes sees its part; a job that comes before the queue is full leaves it alone.
  const enough = Math.ceil(FULL_QUEUE / deps.config.webConcurrency);
  const announce = (eventId: string): void => {
    announced.set(eventId, false);
    const endPause = (): void => {
      const again = announced.get(eventId);
      announced.delete(eventId);
      if (again === true) announce(eventId);
    };
    setTimeout(endPause, SEAL_PAUSE_MS).unref();
    enqueue(deps.db, SEQUENCE_LOG, { eventId }, { key: `ballot_log:${eventId}` }).catch((fault: unknown) =>
      deps.log.warn({ event: eventId, fault: summariseFault(fault) }, 'a full queue waits for the recurring job'),
    );
  };
  return {
    promise: (definition, ballot, untilMs) =>
      signLogPromise(
        originOf(deps.logKey.name, definition.event),
        hashLeaf(leafDataOf(definition, ballot)),
        deps.logKey,
        untilMs,
      ),
    confirmed(event, { ballotId, leafTag }) {
      const eventId = event.id;
      deps.acknowledged.note(event, ballotId, leafTag);
      deps.ballotPublisher.grew(eventId);
      const count = (confirmed.get(eventId) ?? 0) + 1;
      if (count < enough) {
        if (confirmed.size >= MAX_COUNTED) confirmed.clear();
        confirmed.set(eventId, count);
        return;
      }
      confirmed.delete(eventId);
      if (announced.has(eventId)) announced.set(eventId, true);
      else announce(eventId);
    },
  };
}
