import {
  findCheckpointAt,
  forgetQueuedCheckpoints,
  headBody,
  logOrigin,
  openCheckpoint,
  openHead,
  readQueuedCheckpoints,
  signHead,
  type TreeHead,
} from '#src/ballot-log/checkpoint.ts';
import { CheckpointMemory } from '#src/ballot-log/checkpoint-memory.ts';
import { type CompactRange, equalHashes } from '#src/ballot-log/merkle-tree.ts';
import { serviceLogName } from '#src/ballot-log/service-identity.ts';
import { type NoteSigner, renameSigner, unlessRefused } from '#src/ballot-log/signed-note.ts';
import { appendToTree } from '#src/ballot-log/tree-store.ts';
import type { Config } from '#src/config.ts';
import { type Database, type Executor, inTransaction, type Transaction } from '#src/database/client.ts';
import { readNow } from '#src/database/database-clock.ts';
import { mainOf, servedCells } from '#src/database/other-cells.ts';
import type { Deps } from '#src/deps.ts';
import { enqueue } from '#src/jobs/queue.ts';
import { canonicalJson } from '#src/platform/canonical-json.ts';
import { summariseFault } from '#src/platform/log.ts';
import { sha256 } from '#src/platform/secrets.ts';
import { ASK_WITNESSES } from './ask-witnesses.ts';
import {
  findCompactRange,
  findServiceCheckpoint,
  insertServiceCheckpoint,
  serviceTreeStore,
  storeCompactRange,
  takeServiceSequencer,
  withoutLogged,
} from './repository.ts';

/** The signer of the service's own log, and the memory of the log's head outside of the database. */
export interface ServiceLogKey {
  /** The key of the ballot logs. Its name is replaced by the origin of this log. */
  readonly signer: NoteSigner;
  readonly memory: CheckpointMemory;
}

const REMEMBERED_AS = 'service-log';

/** Makes the signer: the service's own log has the origin `<name of the log key>/log`, and is served below the path `/log`. */
export function createServiceLogKey(logKey: NoteSigner, dataDir: string): ServiceLogKey {
  const signer = renameSigner(logKey, serviceLogName(logKey));
  return { signer, memory: new CheckpointMemory(dataDir, (note) => openHead(note, signer)) };
}

/** Identifies an event's log in the service's own log; only a reader who knows the event's ID can compute it. */
export const eventTag = (origin: string): Buffer => sha256(`event${origin}`);

/**
 * The leaf of a checkpoint: canonical JSON of `{ v: 2, t: "checkpoint", e, c }` with two hashes in lowercase hex. `e` is
 * SHA-256("event" ‖ origin), `c` is SHA-256("checkpoint" ‖ the first three lines of the checkpoint: origin, size, root).
 * A reader of the event's log can recompute both. Other readers learn neither size nor root of a log that is not public.
 */
export function checkpointLeaf(head: TreeHead): Buffer {
  const commitment = sha256(`checkpoint${headBody(head)}`);
  const leaf = { v: 2, t: 'checkpoint', e: eventTag(head.origin).toString('hex'), c: commitment.toString('hex') };
  return Buffer.from(canonicalJson(leaf));
}

export type ServiceLogDeps = Pick<Deps, 'db' | 'log' | 'logKey' | 'serviceLog' | 'checkpoints' | 'cell' | 'cells'> & {
  readonly config: Pick<Config, 'witnesses'>;
};

const MOST_TOGETHER = 1_000;

/** Thrown if the database does not match the signed heads of this log. Nothing is appended, because that would fork the log. */
export class ServiceLogSetBack extends Error {}

/**
 * Appends a leaf for every queued checkpoint of every cell (a cell is one of the service's databases), and signs the new head. Does nothing
 * if another process has the lock. The log is in the main cell. A cell that does not answer is left for the next run.
 */
export async function sequenceServiceLog(any: ServiceLogDeps): Promise<void> {
  const deps = mainOf(any);
  await sequenceOf(deps, deps.db);
  for (const { cell, db } of servedCells(deps)) {
    await sequenceOf(deps, db).catch((fault: unknown) =>
      deps.log.warn({ cell, fault: summariseFault(fault) }, 'the checkpoints of a cell wait'),
    );
  }
}

/** @param from the database of the cell whose queue is sequenced */
async function sequenceOf(deps: ServiceLogDeps, from: Database): Promise<void> {
  for (;;) {
    const { note, more, taken } = await appendOnce(deps, from);
    if (note !== undefined) await deps.serviceLog.memory.remember(REMEMBERED_AS, note);
    // Delete from the other database after this commit. If that fails, the checkpoint is taken again, and its leaf is found in the log.
    if (from !== deps.db) await forgetQueuedCheckpoints(from, taken);
    if (!more) return;
  }
}

type Queued = Awaited<ReturnType<typeof readQueuedCheckpoints>>;

interface Appended {
  readonly note: string | undefined;
  readonly more: boolean;
  readonly taken: Queued;
}

const appendOnce = (deps: ServiceLogDeps, from: Database): Promise<Appended> =>
  inTransaction(deps.db, async (tx) => {
    const nothing = { note: undefined, more: false, taken: [] };
    if (!(await takeServiceSequencer(tx))) return nothing;
    const frontier = await findCompactRange(tx);
    await requireGenuine(deps, tx, frontier);
    const queue = from === deps.db ? tx : from;
    const queued = await readQueuedCheckpoints(queue, MOST_TOGETHER);
    const more = queued.length === MOST_TOGETHER;
    if (queued.length === 0) return nothing;
    if (queue === tx) await forgetQueuedCheckpoints(tx, queued);
    await rememberMissed(deps, queue, queued);
    const all = queued.map(({ eventId, size, rootHash }) => {
      const origin = logOrigin(deps.logKey.name, eventId);
      return { data: checkpointLeaf({ origin, size, rootHash }), eventTag: eventTag(origin), size };
    });
    // A queue moves with its account, so two cells may both have a checkpoint queued.
    const leaves = deps.cells.size === 1 ? all : await withoutLogged(tx, all);
    if (leaves.length === 0) return { note: undefined, more, taken: queued };
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
    return { note, more, taken: queued };
  });

/**
 * Remembers the checkpoints of events outside of the database, if a process died, or lost the answer to its commit, before it did so.
 * Otherwise the restore of an older state would go unnoticed. @param queued smaller sizes of an event come first
 */
async function rememberMissed(
  { checkpoints, logKey }: ServiceLogDeps,
  executor: Executor,
  queued: readonly { readonly eventId: string; readonly size: number }[],
): Promise<void> {
  for (const [eventId, size] of new Map(queued.map((one) => [one.eventId, one.size]))) {
    if (((await checkpoints.recall(eventId))?.size ?? -1) >= size) continue;
    const note = (await findCheckpointAt(executor, eventId, size))?.note;
    // A note that an earlier key signed cannot be verified, and is not remembered.
    if (note !== undefined && unlessRefused(() => openCheckpoint(note, logKey)) !== undefined)
      await checkpoints.remember(eventId, note);
  }
}

/** Compares the log with the signed heads. @throws ServiceLogSetBack after the restore of an older backup, or after direct SQL */
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
