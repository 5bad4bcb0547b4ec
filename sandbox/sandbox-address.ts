import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const fileIn = (dataDir: string): string => path.join(dataDir, 'sandbox-address');

/** Writes the sandbox's URL into the data folder, for other programs that use the folder. */
export function writeSandboxAddress(dataDir: string, url: string): void {
  writeFileSync(fileIn(dataDir), `${url}\n`);
}

/** The URL of the sandbox of a data folder; undefined if none was started. */
export function readSandboxAddress(dataDir: string): string | undefined {
  return existsSync(fileIn(dataDir)) ? readFileSync(fileIn(dataDir), 'utf8').trim() : undefined;
}

export function removeSandboxAddress(dataDir: string): void {
  rmSync(fileIn(dataDir), { force: true });
}
