import {
  findCheckpointAt,
  headBody,
  logOrigin,
  openCheckpoint,
  openHead,
  signHead,
  type TreeHead,
  takeQueuedCheckpoints,
} from '#src/ballot-log/checkpoint.ts';
import { CheckpointMemory } from '#src/ballot-log/checkpoint-memory.ts';
import { type CompactRange, equalHashes } from '#src/ballot-log/merkle-tree.ts';
import { type NoteSigner, renameSigner, unlessRefused } from '#src/ballot-log/signed-note.ts';
import { appendToTree } from '#src/ballot-log/tree-store.ts';
import type { Config } from '#src/config.ts';
import { inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import type { Deps } from '#src/deps.ts';
import { enqueue } from '#src/jobs/queue.ts';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { sha256 } from '#src/platform/secrets.ts';
import { ASK_WITNESSES } from './ask-witnesses.ts';
import {
  findCompactRange,
  findServiceCheckpoint,
  insertServiceCheckpoint,
  serviceTreeStore,
  storeCompactRange,
  takeServiceSequencer,
} from './repository.ts';

/** The signer of the service's own log, and the memory of its head outside of the database. */
export interface ServiceLogKey {
  /** The key of the ballot logs, with the origin of this log as its name. */
  readonly signer: NoteSigner;
  readonly memory: CheckpointMemory;
}

const REMEMBERED_AS = 'service-log';

/** The service's own log has the origin `<name of the log key>/log`, and is served below the path `/log`. */
export function createServiceLogKey(logKey: NoteSigner, dataDir: string): ServiceLogKey {
  const signer = renameSigner(logKey, `${logKey.name}/log`);
  return { signer, memory: new CheckpointMemory(dataDir, (note) => openHead(note, signer)) };
}

/** Identifies an event's log in the service's own log, only for readers who know the event's ID. */
export const eventTag = (origin: string): Buffer => sha256(`event${origin}`);

/**
 * The leaf of a checkpoint: canonical JSON of `{ v: 2, t: "checkpoint", e, c }` with two hashes in lowercase hex. `e` is
 * SHA-256("event" ‖ origin), `c` is SHA-256("checkpoint" ‖ the first three lines of the checkpoint: origin, size, root).
 * A reader of the event's log can recompute both; other readers learn neither size nor root of a log that is not public.
 */
export function checkpointLeaf(head: TreeHead): Buffer {
  const commitment = sha256(`checkpoint${headBody(head)}`);
  const leaf = { v: 2, t: 'checkpoint', e: eventTag(head.origin).toString('hex'), c: commitment.toString('hex') };
  return Buffer.from(canonicalJson(leaf));
}

export type ServiceLogDeps = Pick<Deps, 'db' | 'log' | 'logKey' | 'serviceLog' | 'checkpoints'> & {
  readonly config: Pick<Config, 'witnesses'>;
};

const MOST_TOGETHER = 1_000;

/** Thrown if the database does not match what was signed for this log. Appending would fork the log, so nothing is appended. */
export class ServiceLogSetBack extends Error {}

/** Appends a leaf for every queued checkpoint, and signs the new head. Does nothing if another process holds the lock. */
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
    await rememberMissed(deps, tx, queued);
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
    const note = signHead({ origin: signer.name, ...head }, signer);
    await insertServiceCheckpoint(tx, { ...head, note, createdAt: await readNow(tx) });
    if (deps.config.witnesses.length > 0) await enqueue(tx, ASK_WITNESSES, {}, { key: ASK_WITNESSES.name });
    return { note, more: queued.length === MOST_TOGETHER };
  });

/**
 * Remembers outside of the database the checkpoints of events whose process died, or lost the answer to its commit, before it did: else
 * the restore of a state before them would go unnoticed. @param queued an event's smaller sizes first
 */
async function rememberMissed(
  { checkpoints, logKey }: ServiceLogDeps,
  tx: Transaction,
  queued: readonly { readonly eventId: string; readonly size: number }[],
): Promise<void> {
  for (const [eventId, size] of new Map(queued.map((one) => [one.eventId, one.size]))) {
    if (((await checkpoints.recall(eventId))?.size ?? -1) >= size) continue;
    const note = (await findCheckpointAt(tx, eventId, size))?.note;
    // A note under an earlier key of the logs cannot be remembered.
    if (note !== undefined && unlessRefused(() => openCheckpoint(note, logKey)) !== undefined)
      await checkpoints.remember(eventId, note);
  }
}

/** @throws ServiceLogSetBack after the restore of an older backup, or after direct SQL */
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
