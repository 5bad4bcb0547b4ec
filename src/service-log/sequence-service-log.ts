import { logOrigin, signCheckpoint, takeQueuedCheckpoints } from '#src/ballot-log/checkpoint.ts';
import type { CompactRange } from '#src/ballot-log/compact-range.ts';
import { equalHashes } from '#src/ballot-log/merkle-tree.ts';
import type { NoteSigner } from '#src/ballot-log/signed-note.ts';
import { appendToTree } from '#src/ballot-log/tree-store.ts';
import type { Config } from '#src/config.ts';
import { type Database, inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { enqueue } from '#src/jobs/queue.ts';
import type { Log } from '#src/platform/log.ts';
import { ASK_WITNESSES } from './ask-witnesses.ts';
import { checkpointLeaf, eventTag } from './checkpoint-leaf.ts';
import {
  findCompactRange,
  findServiceCheckpoint,
  insertServiceCheckpoint,
  serviceTreeStore,
  storeCompactRange,
  takeServiceSequencer,
} from './repository.ts';
import { REMEMBERED_AS, type ServiceLogKey } from './service-log-key.ts';

export interface ServiceLogDeps {
  readonly db: Database;
  readonly log: Log;
  readonly logKey: NoteSigner;
  readonly serviceLog: ServiceLogKey;
  readonly config: Pick<Config, 'witnesses'>;
}

/** Leaves of one transaction at most. */
const MOST_TOGETHER = 1_000;

/** The service's own log does not hold what was signed before: nothing is appended, it would be a second history. */
export class ServiceLogSetBack extends Error {}

/**
 * Gives every new checkpoint of an event its leaf in the service's own log, and signs the new head. Casts and seals wait for
 * nothing of it: they leave a row in a queue. Another process at it is left to it.
 */
export async function sequenceServiceLog(deps: ServiceLogDeps): Promise<void> {
  for (;;) {
    const { note, more } = await appendOnce(deps);
    if (note !== undefined) await deps.serviceLog.memory.remember(REMEMBERED_AS, note);
    if (!more) return;
  }
}

const appendOnce = (deps: ServiceLogDeps): Promise<{ readonly note: string | undefined; readonly more: boolean }> =>
  inTransaction(deps.db, async (tx) => {
    const nothing = { note: undefined, more: false };
    if (!(await takeServiceSequencer(tx))) return nothing;
    const frontier = await findCompactRange(tx);
    await requireGenuine(deps, tx, frontier);
    const queued = await takeQueuedCheckpoints(tx, MOST_TOGETHER);
    if (queued.length === 0) return nothing;
    const leaves = queued.map(({ eventId, size, rootHash }) => {
      const origin = logOrigin(deps.logKey.name, eventId);
      return { data: checkpointLeaf({ origin, size, rootHash }), eventTag: eventTag(origin), size };
    });
    await appendToTree(
      serviceTreeStore(tx, leaves),
      frontier,
      leaves.map(({ data }) => data),
    );
    await storeCompactRange(tx, frontier);
    const { signer } = deps.serviceLog;
    const head = { size: frontier.size, rootHash: Buffer.from(frontier.root()) };
    const note = signCheckpoint({ origin: signer.name, ...head }, signer);
    await insertServiceCheckpoint(tx, { ...head, note, createdAt: await readNow(tx) });
    if (deps.config.witnesses.length > 0) await enqueue(tx, ASK_WITNESSES, {}, { key: ASK_WITNESSES.name });
    return { note, more: queued.length === MOST_TOGETHER };
  });

/** @throws ServiceLogSetBack after a restore of an older backup, or when the database was changed by hand */
async function requireGenuine(deps: ServiceLogDeps, tx: Transaction, frontier: CompactRange): Promise<void> {
  const isStored = async (size: number, rootHash: Uint8Array): Promise<boolean> => {
    const stored = size === 0 ? undefined : await findServiceCheckpoint(tx, size);
    return size === 0 || (stored !== undefined && equalHashes(stored.rootHash, rootHash));
  };
  const remembered = await deps.serviceLog.memory.recall(REMEMBERED_AS);
  const isGenuine = await isStored(frontier.size, frontier.root());
  const isKnown = remembered === undefined || (await isStored(remembered.size, remembered.rootHash));
  if (isGenuine && isKnown) return;
  const alarm = isGenuine ? 'ballot_log_set_back' : 'ballot_log_changed';
  deps.log.error(
    { alarm, size: frontier.size, signed: remembered?.size },
    'the log of the service is not what was signed',
  );
  throw new ServiceLogSetBack('the log of the service is not what was signed');
}
