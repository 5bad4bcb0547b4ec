import { CheckpointMemory } from '#src/ballot-log/checkpoint-memory.ts';
import { type NoteSigner, renameSigner } from '#src/ballot-log/signed-note.ts';

/** What the service's own log is signed with, and what remembers its head outside of the database. */
export interface ServiceLogKey {
  /** The key of the ballot logs, under the origin of this log as its name. */
  readonly signer: NoteSigner;
  readonly memory: CheckpointMemory;
}

/** The name of its file among the checkpoints in DATA_DIR. */
export const REMEMBERED_AS = 'service-log';

/** One origin for the whole service: `<name of the log key>/log`, where it is served, too. */
export function createServiceLogKey(logKey: NoteSigner, dataDir: string): ServiceLogKey {
  const signer = renameSigner(logKey, `${logKey.name}/log`);
  return { signer, memory: new CheckpointMemory(dataDir, signer) };
}
