import { randomBytes } from 'node:crypto';
import { open, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Whether an error has one of these codes, such as `ENOENT`. */
export function hasCode(fault: unknown, ...codes: readonly string[]): boolean {
  return fault instanceof Error && 'code' in fault && codes.some((code) => code === fault.code);
}

/** The result of `work`; undefined if it fails with one of these codes. Other errors are thrown. */
export async function unless<Given>(work: Promise<Given>, ...codes: readonly string[]): Promise<Given | undefined> {
  return work.catch((fault: unknown) => {
    if (hasCode(fault, ...codes)) return undefined;
    throw fault;
  });
}

/** Whether a path leads to a file or folder; false for a dangling link. */
export const exists = async (file: string): Promise<boolean> =>
  (await unless(stat(file), 'ENOENT', 'ENOTDIR')) !== undefined;

/** Where a folder is, or will be once it is made: links in its path are followed. @param folder absolute */
export const resolveLinks = (folder: string): Promise<string> =>
  realpath(folder).catch(async () => path.join(await resolveLinks(path.dirname(folder)), path.basename(folder)));

/** Syncs a folder to the disk, so that files created or renamed in it survive a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, 'r');
  await handle.sync();
}

/** Writes a file whole or not at all: beside it, then renamed. What was written of a file that is not finished is removed. */
export async function writeWhole(file: string, content: Parameters<typeof writeFile>[1], mode: number): Promise<void> {
  const part = path.join(path.dirname(file), `.${path.basename(file)}.${randomBytes(6).toString('hex')}`);
  try {
    await writeFile(part, content, { flag: 'wx', mode, flush: true });
    await rename(part, file);
  } catch (fault) {
    await rm(part, { force: true }).catch(() => undefined);
    throw fault;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'it lies on a disk that can only be read',
  ENOSPC: 'the disk is full',
  EDQUOT: 'this user has no room left there',
  ENOENT: 'its folder is not there',
  ENOTDIR: 'a part of its path is no folder',
  EISDIR: 'it is a folder',
  EEXIST: 'it is there already',
};

/** Explains an error of the file system: `/data/x cannot be used: the disk is full (ENOSPC)`; undefined for any other error. */
export function explainFileFault(fault: unknown): string | undefined {
  if (!(fault instanceof Error)) return undefined;
  const [code, file]: readonly unknown[] = [Reflect.get(fault, 'code'), Reflect.get(fault, 'path')];
  if (typeof code !== 'string' || typeof file !== 'string') return undefined;
  const reason = REASONS[code];
  return reason === undefined ? undefined : `${file} cannot be used: ${reason} (${code})`;
}
