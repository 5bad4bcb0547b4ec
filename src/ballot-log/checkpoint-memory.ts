import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { unless } from '#src/platform/files.ts';
import { checkpointFolder } from '#src/voting-events/key-places.ts';

/** What was signed last, remembered outside of the database. */
export interface Remembered {
  readonly size: number;
  readonly rootHash: Uint8Array;
  /** Ballots confirmed by then; undefined for the service's own log. */
  readonly confirmed?: number;
}

const isLater = (one: Remembered, other: Remembered | undefined): boolean =>
  one.size > (other?.size ?? -1) || (one.size === other?.size && (one.confirmed ?? 0) > (other.confirmed ?? 0));

/**
 * Remembers the last checkpoint of each log in a folder outside of the database: a database that was set back to an older
 * state does not take this along, so that the service does not sign a second, different history over it.
 */
export class CheckpointMemory {
  readonly #folder: string;
  readonly #open: (note: string) => Remembered;
  readonly #kept = new Map<string, Remembered>();

  /** @param open reads a note that was signed by the service's key, and throws for every other */
  constructor(dataDir: string, open: (note: string) => Remembered) {
    this.#folder = checkpointFolder(dataDir);
    this.#open = open;
  }

  #file(eventId: string): string {
    return path.join(this.#folder, `${eventId}.txt`);
  }

  /** Undefined where nothing is remembered, or what is was signed by a key that is not the service's any more. */
  async recall(eventId: string): Promise<Remembered | undefined> {
    const note = await unless(readFile(this.#file(eventId), 'utf8'), 'ENOENT');
    const kept = this.#kept.get(eventId);
    if (note === undefined) return kept;
    let written: Remembered | undefined;
    try {
      written = this.#open(note);
    } catch {
      written = undefined;
    }
    return kept !== undefined && isLater(kept, written) ? kept : written;
  }

  /** Written to a file beside and renamed: a crash leaves the old one or the new one. Best after the commit it speaks of. */
  async remember(eventId: string, note: string): Promise<void> {
    const signed = this.#open(note);
    // Two runs may end in the other order: memory never goes back.
    if (isLater(this.#kept.get(eventId) ?? signed, signed)) return;
    this.#kept.set(eventId, signed);
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    // Each writing has a name of its own: two of one log may be under way in one process.
    const beside = `${this.#file(eventId)}.${randomBytes(8).toString('hex')}.new`;
    await writeFile(beside, note, { mode: 0o600 });
    await rename(beside, this.#file(eventId));
  }
}
