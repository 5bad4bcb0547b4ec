import { open, stat } from 'node:fs/promises';

/** Whether an error has one of these codes, such as `ENOENT`. */
export function hasCode(fault: unknown, ...codes: readonly string[]): boolean {
  return fault instanceof Error && 'code' in fault && codes.some((code) => code === fault.code);
}

/** The result of work; undefined if it fails with one of these codes. */
export async function unless<Given>(work: Promise<Given>, ...codes: readonly string[]): Promise<Given | undefined> {
  return work.catch((fault: unknown) => {
    if (hasCode(fault, ...codes)) return undefined;
    throw fault;
  });
}

/** Whether the path leads to something; a dangling link does not. */
export const exists = async (file: string): Promise<boolean> =>
  (await unless(stat(file), 'ENOENT', 'ENOTDIR')) !== undefined;

/** Syncs a folder to the disk, so that files created or renamed in it survive a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
