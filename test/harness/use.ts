import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach } from 'vitest';
import { migrate } from '#src/database/migrate.ts';
import { createLog } from '#src/platform/log.ts';
import { startOwnDatabase } from './own-database.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import { createTestDatabase, type TestDatabase } from './test-database.ts';

/** Nothing else limits what is awaited at the top of a file: as long as a hook may take. */
const START_LIMIT_MS = 300_000;

/** What the tests of this file need, started at its top and stopped after the last of them: the newest first. */
export async function use<T extends { stop(): unknown }>(starting: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const limit = setTimeout(() => late.reject(new Error('it did not start in time')), START_LIMIT_MS);
  const started = await Promise.race([starting, late.promise]).finally(() => clearTimeout(limit));
  afterAll(async () => void (await started.stop()));
  return started;
}

/** A folder for the tests of this file, removed after the last of them. */
export function useFolder(name: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), name));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A database for the tests of this file, with the newest schema and no rows. */
export async function useDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  afterAll(() => database.drop());
  return database;
}

/** A database on a server that no other file uses, with the newest schema and no rows: for tests that look at all that the server writes. */
export async function useOwnServer(name: string): Promise<string> {
  const { url } = await use(startOwnDatabase(name, false));
  await migrate(url);
  return url;
}

/** What starts receivers for a test of this file, each stopped after it. */
export function useReceivers(): typeof startReceiver {
  const receivers: Receiver[] = [];
  afterEach(async () => {
    for (const receiver of receivers.splice(0)) await receiver.stop();
  });
  return async (answer) => {
    const receiver = await startReceiver(answer);
    receivers.push(receiver);
    return receiver;
  };
}

/** A log, and what it has written so far. */
export function keepLog(level: 'info' | 'warn' | 'error') {
  const lines: Record<string, unknown>[] = [];
  return { lines, log: createLog(level, { write: (line) => void lines.push(JSON.parse(line)) }) };
}
