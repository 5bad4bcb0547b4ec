import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { unlessSpoilt } from '#src/platform/errors.ts';
import { unless, writeWhole } from '#src/platform/files.ts';
import { checkpointFolder } from '#src/voting-events/key-places.ts';

/** The content of the checkpoint signed last, remembered outside of the database. */
export interface Remembered {
  readonly size: number;
  readonly rootHash: Uint8Array;
  /** Ballots confirmed when the checkpoint was signed; undefined for the service's own log. */
  readonly confirmed?: number;
}

interface Stored {
  readonly file: string;
  /** Undefined if a former key of the service signed it. */
  readonly head: Remembered | undefined;
}

const isLater = (one: Remembered, other: Remembered | undefined): boolean =>
  one.size > (other?.size ?? -1) || (one.size === other?.size && (one.confirmed ?? 0) > (other.confirmed ?? 0));

/**
 * Remembers each log's last checkpoint outside of the database: no second history is signed after the restore of an older backup. Each
 * checkpoint is a file of its own in the log's folder, so that a process that is held up cannot write over a later one.
 */
export class CheckpointMemory {
  readonly #folder: string;
  readonly #open: (note: string) => Remembered;
  readonly #kept = new Map<string, Remembered>();

  /** @param open verifies and reads a note; throws if the service's key did not sign it */
  constructor(dataDir: string, open: (note: string) => Remembered) {
    this.#folder = checkpointFolder(dataDir);
    this.#open = open;
  }

  async #list(eventId: string): Promise<Stored[]> {
    const folder = path.join(this.#folder, eventId);
    const names = ((await unless(readdir(folder), 'ENOENT')) ?? []).filter((name) => name.endsWith('.txt'));
    const files = names.map((name) => path.join(folder, name));
    const notes = await Promise.all(files.map((file) => unless(readFile(file, 'utf8'), 'ENOENT')));
    // Another process has removed one of the files since, after it wrote a later checkpoint.
    if (notes.includes(undefined)) return this.#list(eventId);
    return files.map((file, at) => ({ file, head: unlessSpoilt(() => this.#open(notes[at] ?? '')) }));
  }

  #last(eventId: string, stored: readonly Stored[]): Remembered | undefined {
    let last = this.#kept.get(eventId);
    for (const { head } of stored) if (head !== undefined && isLater(head, last)) last = head;
    return last;
  }

  /** The last checkpoint; undefined if none is stored, or if a former key of the service signed it. */
  async recall(eventId: string): Promise<Remembered | undefined> {
    return this.#last(eventId, await this.#list(eventId));
  }

  /** Stores a checkpoint by writing a new file and renaming it, so that a crash cannot leave half of it. Call after the commit. */
  async remember(eventId: string, note: string): Promise<void> {
    const signed = this.#open(note);
    const stored = await this.#list(eventId);
    // Two runs, also of two processes, may finish in reverse order: never replace a later checkpoint by an earlier checkpoint.
    if (isLater(this.#last(eventId, stored) ?? signed, signed)) return;
    this.#kept.set(eventId, signed);
    const file = path.join(this.#folder, eventId, `${signed.size}.${signed.confirmed ?? 0}.txt`);
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    await writeWhole(file, note, 0o600);
    for (const earlier of stored) if (earlier.file !== file) await rm(earlier.file, { force: true });
  }
}

/** Signs remembered checkpoints again where `again` answers a note: under another key, too, an older database is recognised. */
export async function rememberAgain(dataDir: string, again: (note: string) => string | undefined): Promise<void> {
  const folder = checkpointFolder(dataDir);
  for (const name of (await unless(readdir(folder, { recursive: true }), 'ENOENT')) ?? []) {
    if (!name.endsWith('.txt')) continue;
    const file = path.join(folder, name);
    const signed = again(await readFile(file, 'utf8'));
    if (signed !== undefined) await writeWhole(file, signed, 0o600);
  }
}
