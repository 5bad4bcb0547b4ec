import { access, open } from 'node:fs/promises';

/** Whether a fault of the system carries one of these codes, such as `ENOENT`. */
export function hasCode(fault: unknown, ...codes: readonly string[]): boolean {
  return fault instanceof Error && 'code' in fault && codes.some((code) => code === fault.code);
}

/** Whether the path leads to something; a dangling link does not. */
export async function exists(file: string): Promise<boolean> {
  try {
    await access(file);
    return true;
  } catch (fault) {
    if (hasCode(fault, 'ENOENT', 'ENOTDIR')) return false;
    throw fault;
  }
}

/** Makes the names in a folder (new, renamed) survive a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
