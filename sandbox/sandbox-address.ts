import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const fileIn = (dataDir: string): string => path.join(dataDir, 'sandbox-address');

/** Publishes for other programs of the same data folder where the sandbox answers. */
export function writeSandboxAddress(dataDir: string, url: string): void {
  writeFileSync(fileIn(dataDir), `${url}\n`);
}

/** Where a sandbox of this data folder answers, as far as one was started. */
export function readSandboxAddress(dataDir: string): string | undefined {
  return existsSync(fileIn(dataDir)) ? readFileSync(fileIn(dataDir), 'utf8').trim() : undefined;
}

export function removeSandboxAddress(dataDir: string): void {
  rmSync(fileIn(dataDir), { force: true });
}
