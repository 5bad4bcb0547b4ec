import { constants } from 'node:fs';
import { access, mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { hasCode, syncFolder, unless, writeWhole } from './files.ts';
import { makeClearable, takeRandomBytes } from './random-bytes.ts';

const OWNER_ONLY = 0o600;
const FOLDER_MODE = 0o700;
/** The name of a file that is still being written (`writeWhole`). */
const PART = /^\..+\.[0-9a-f]{12}$/;
/** A key is far smaller. Of a larger file only the first bytes are read, which suffices to see that it is no key. */
const MOST_BYTES = 1_024;

/** A folder that cannot hold keys now. The message names the folder and the reason, never a key. */
export class FolderUnusable extends Error {
  readonly folder: string;

  constructor(folder: string, cause: unknown) {
    const reason: unknown = cause instanceof Error ? Reflect.get(cause, 'code') : cause;
    super(`${folder} cannot be used (${typeof reason === 'string' ? reason : 'unknown'})`, { cause });
    this.folder = folder;
  }
}

/** Makes a folder with its parents, and syncs each of them to the disk. */
async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  if (first === undefined) return;
  for (let made = folder; ; made = path.dirname(made)) {
    await syncFolder(path.dirname(made));
    if (made === first || made === path.dirname(made)) return;
  }
}

/** Small secret files (mode 0600), copied to several folders. A file is complete or absent, and is synced before a call returns. */
export class KeyFolders {
  readonly main: string;
  readonly copies: readonly string[];

  /** @param main created if missing @param copies never created: a missing folder is a disk that is not mounted */
  constructor(main: string, copies: readonly string[] = []) {
    this.main = main;
    this.copies = copies;
  }

  get all(): readonly string[] {
    return [this.main, ...this.copies];
  }

  /**
   * Writes a file to every folder. Removes it from all if one cannot be written, or if `check` throws.
   * @param check whether these are still the folders to write to: another disk may have come in the place of one
   * @throws FolderUnusable
   */
  async write(name: string, content: Uint8Array, check = async (): Promise<void> => undefined): Promise<void> {
    try {
      for (const folder of this.all) await this.writeTo(folder, name, content);
      await check();
    } catch (fault) {
      // Ignore a failed removal: the folder that could not be written does not have the file.
      await Promise.allSettled(this.all.map((folder) => removeFrom(folder, name)));
      throw fault;
    }
  }

  /** Writes a file to one of the folders. @throws FolderUnusable */
  async writeTo(folder: string, name: string, content: Uint8Array | string): Promise<void> {
    try {
      if (folder === this.main) await makeFolder(folder);
      await writeWhole(path.join(folder, name), content, OWNER_ONLY);
      await syncFolder(folder);
    } catch (fault) {
      throw new FolderUnusable(folder, fault);
    }
  }

  /** The first copy that passes `isRight`, if any; the caller must wipe it. Rejected contents are wiped here. */
  async read(name: string, isRight: (content: Buffer) => boolean): Promise<Buffer | undefined> {
    for (const folder of this.all) {
      const content = await readBytes(path.join(folder, name)).catch(() => undefined);
      if (content === undefined) continue;
      if (isRight(content)) return content;
      content.fill(0);
    }
    return undefined;
  }

  /** Overwrites a file and removes it, in every folder. @throws FolderUnusable if one of them cannot be changed */
  async destroy(name: string): Promise<void> {
    const ends = await Promise.allSettled(this.all.map((folder) => removeFrom(folder, name)));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  /** The names of the files in a folder; none if the main folder does not exist yet. @throws FolderUnusable */
  async list(folder: string): Promise<string[]> {
    try {
      return (await readdir(folder)).filter((name) => !name.startsWith('.')).toSorted();
    } catch (fault) {
      if (folder === this.main && hasCode(fault, 'ENOENT')) return [];
      throw new FolderUnusable(folder, fault);
    }
  }

  /** Destroys the parts of interrupted writes. Only for a folder that no other process writes to. */
  async destroyParts(folder: string): Promise<void> {
    const names = (await unless(readdir(folder), 'ENOENT')) ?? [];
    for (const name of names) if (PART.test(name)) await removeFrom(folder, name);
  }

  /** Whether files could be written to a folder now. Nothing is written. @throws FolderUnusable */
  async check(folder: string): Promise<void> {
    try {
      const place = folder === this.main ? await firstThere(folder) : folder;
      await access(place, constants.R_OK | constants.W_OK | constants.X_OK);
    } catch (fault) {
      throw new FolderUnusable(folder, fault);
    }
  }
}

/** A folder, or its nearest parent that exists. */
async function firstThere(folder: string): Promise<string> {
  try {
    await stat(folder);
    return folder;
  } catch (fault) {
    const parent = path.dirname(folder);
    if (!hasCode(fault, 'ENOENT') || parent === folder) throw fault;
    return firstThere(parent);
  }
}

/** Reads a file into memory that can be wiped: `readFile` would leave copies. */
async function readBytes(file: string): Promise<Buffer> {
  await using handle = await open(file, constants.O_RDONLY);
  const { size } = await handle.stat();
  const content = makeClearable(Math.min(size, MOST_BYTES));
  const { bytesRead } = await handle.read(content, 0, content.length, 0);
  return content.subarray(0, bytesRead);
}

/** Overwrites a file with random bytes. Most disks overwrite in place; some write elsewhere and keep the old bytes. */
async function overwrite(file: string): Promise<void> {
  const { size } = await stat(file);
  await using handle = await open(file, 'r+');
  await handle.write(takeRandomBytes(size), 0, size, 0);
  await handle.sync();
}

async function removeFrom(folder: string, name: string): Promise<void> {
  const file = path.join(folder, name);
  try {
    // Throws if the folder is missing: the file may still exist on a disk that is not mounted.
    await stat(folder);
    await unless(overwrite(file), 'ENOENT');
    await rm(file, { force: true });
    await syncFolder(folder);
  } catch (fault) {
    throw new FolderUnusable(folder, fault);
  }
}
