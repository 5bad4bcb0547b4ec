import { execFileSync } from 'node:child_process';

const limit = (bytes: number | ''): void =>
  void execFileSync('prlimit', [
    '--pid',
    String(process.pid),
    `--fsize=${bytes === '' ? 'unlimited' : bytes}:unlimited`,
  ]);

/** While `work` runs, no file of this process becomes longer: as on a full disk, the last write is taken in part, and the next one fails. */
export async function onFullDisk<T>(bytes: number, work: () => Promise<T>): Promise<T> {
  limit(bytes);
  try {
    return await work();
  } finally {
    limit('');
  }
}
