import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { unlessSpoilt } from '#src/platform/errors.ts';
import { unless } from '#src/platform/files.ts';
import { checkpointFolder } from '#src/voting-events/key-places.ts';

/** The content of the checkpoint signed last, remembered outside of the database. */
export interface Remembered {
  readonly size: number;
  readonly rootHash: Uint8Array;
  /** Ballots confirmed when the checkpoint was signed; undefined for the service's own log. */
  readonly confirmed?: number;
}

const isLater = (one: Remembered, other: Remembered | undefined): boolean =>
  one.size > (other?.size ?? -1) || (one.size === other?.size && (one.confirmed ?? 0) > (other.confirmed ?? 0));

/** Remembers each log's last checkpoint outside of the database: no second history is signed after the restore of an older backup. */
export class CheckpointMemory {
  readonly #folder: string;
  readonly #open: (note: string) => Remembered;
  readonly #kept = new Map<string, Remembered>();

  /** @param open verifies and reads a note; throws if the service's key did not sign it */
  constructor(dataDir: string, open: (note: string) => Remembered) {
    this.#folder = checkpointFolder(dataDir);
    this.#open = open;
  }

  #file(eventId: string): string {
    return path.join(this.#folder, `${eventId}.txt`);
  }

  /** The last checkpoint; undefined if none is stored, or if a former key of the service signed it. */
  async recall(eventId: string): Promise<Remembered | undefined> {
    const note = await unless(readFile(this.#file(eventId), 'utf8'), 'ENOENT');
    const kept = this.#kept.get(eventId);
    if (note === undefined) return kept;
    const written = unlessSpoilt(() => this.#open(note));
    return kept !== undefined && isLater(kept, written) ? kept : written;
  }

  /** Stores a checkpoint by writing a new file and renaming it, so that a crash cannot leave half of it. Call after the commit. */
  async remember(eventId: string, note: string): Promise<void> {
    const signed = this.#open(note);
    // Two runs, also of two processes, may finish in reverse order: never replace a later checkpoint by an earlier checkpoint.
    const written = await this.recall(eventId);
    if (isLater(this.#kept.get(eventId) ?? signed, signed) || isLater(written ?? signed, signed)) return;
    this.#kept.set(eventId, signed);
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    // A random file name, because two writes for one log may run concurrently.
    const beside = `${this.#file(eventId)}.${randomBytes(8).toString('hex')}.new`;
    await writeFile(beside, note, { mode: 0o600 });
    await rename(beside, this.#file(eventId));
  }
}
