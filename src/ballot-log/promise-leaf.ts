import type { LogReceipts } from '#src/ballots/ballot.ts';
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
 * words below, the hash of the ballot's leaf in base64, and `until` with a date in UTC. If the log has no such leaf after that
 * date, or after the close, the promise proves that a ballot was removed.
 *
 * The second line distinguishes promises from checkpoints, which the same key signs: a checkpoint has a number there.
 */
const WORDS = 'this leaf will be in the log';

/** The last moment whose year has four digits, as readers expect it: an event may end in 9999, and the promise a day later. */
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/**
 * Signs a promise.
 * @param origin the origin of the log (`originOf`)
 * @param leafHash hash of the leaf in the tree (RFC 6962), 32 bytes
 * @param untilMs the latest time at which the leaf will be in the log
 */
export function signLogPromise(origin: string, leafHash: Uint8Array, signer: NoteSigner, untilMs: number): string {
  if (leafHash.length !== HASH_BYTES) throw new RangeError(`a leaf hash has ${HASH_BYTES} bytes`);
  const encoded = Buffer.from(leafHash).toString('base64');
  const until = new Date(Math.min(untilMs, LAST_MS)).toISOString();
  return signNote(`${origin}\n${WORDS}\n${encoded}\nuntil ${until}\n`, signer);
}

/** Minimum time between two sealings of an event's full queue: sealing three hundred ballots costs about as much as thirty. */
export const SEAL_PAUSE_MS = 200;
/** Maximum number of events with a counter. Above it, all counters are dropped; the recurring job seals the ballots counted so far. */
const MAX_COUNTED = 10_000;

/** Signs promises, and enqueues the sealing of full queues. Each process counts its own confirms, so that no confirm counts the queue. */
export function createLogReceipts(
  deps: Pick<Deps, 'db' | 'log' | 'logKey' | 'acknowledged' | 'ballotPublisher'> & {
    readonly config: Pick<Config, 'webConcurrency'>;
  },
): LogReceipts {
  const confirmed = new Map<string, number>();
  /** Events whose sealing was enqueued within the last pause, and whether their queue filled again since. */
  const announced = new Map<string, boolean>();
  // Each of several processes sees only its share of the confirms. A job that finds too few ballots in the queue seals none.
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
