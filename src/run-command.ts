import { readSandboxAddress } from '#sandbox/sandbox-address.ts';
import type { Answer, Cli } from '#src/commands/cli.ts';
import { explainFault } from '#src/commands/explain-fault.ts';
import { print } from '#src/commands/print.ts';
import { ConfigError, loadEnvironmentFile, readConfig, readProgramFolders } from '#src/config.ts';
import { migrate } from '#src/database/migrate.ts';
import type { Deps } from '#src/deps.ts';
import { connectEmbeddedDatabase } from '#src/embedded-postgres/embedded-database.ts';
import { EmbeddedDatabaseInUse } from '#src/embedded-postgres/lock.ts';
import { systemClock } from '#src/platform/clock.ts';
import { conflict } from '#src/platform/errors.ts';
import { createLog } from '#src/platform/log.ts';
import { checkStart, joinRunning } from '#src/prepare-start.ts';
import { withSecretKey } from '#src/secret-key.ts';
import { closeDeps, createDeps } from '#src/service.ts';

// What commands do their work with. Loaded when one does: help and completion need nothing of it.

const REFUSED = 1;

/** Opens the database of the running service, or its own for the time of the command, does the work, and prints. */
export async function withDeps(work: (deps: Deps) => Promise<Answer>, json: boolean): Promise<void> {
  loadEnvironmentFile();
  const given = readConfig();
  const database = given.databaseUrl === undefined ? await connectEmbeddedDatabase(given.dataDir) : undefined;
  const url = given.databaseUrl ?? database?.url ?? '';
  try {
    // The embedded database is this checkout's own; another one is migrated by `migrate` and by the start alone.
    if (database !== undefined) await migrate(url);
    const deps = createDeps(
      await joinRunning(withSecretKey(given), url),
      url,
      createLog('silent'),
      readSandboxAddress(given.dataDir),
    );
    try {
      const answer = await work(deps);
      show(answer, json);
    } finally {
      await closeDeps(deps);
    }
  } finally {
    await database?.stop();
  }
}

/** Gives the settings, with the address of the embedded database where there is no other; nothing is migrated or checked. */
export async function withDatabase(work: Parameters<Cli['withDatabase']>[0], json: boolean): Promise<void> {
  loadEnvironmentFile();
  const given = readConfig();
  const database = given.databaseUrl === undefined ? await connectEmbeddedDatabase(given.dataDir) : undefined;
  try {
    const config = withSecretKey(given);
    const url = given.databaseUrl ?? database?.url ?? '';
    const answer = await work(config, () => checkStart(config, url, () => systemClock.now()), url);
    show(answer, json);
  } finally {
    await database?.stop();
  }
}

function show(answer: Answer, json: boolean): void {
  print(answer, json);
  if (answer.refused === true) process.exitCode = REFUSED;
}

/** Gives the settings and the address of a server of its own; the embedded one is backed up in another way. */
export async function withServer(work: Parameters<Cli['withServer']>[0], json: boolean): Promise<void> {
  loadEnvironmentFile();
  const config = readConfig();
  if (config.databaseUrl === undefined)
    throw conflict(
      'embedded_database',
      `the embedded database is backed up by stopping the service and copying ${config.dataDir}. With DATABASE_URL set, that server is backed up.`,
    );
  show(await work(config, config.databaseUrl, readProgramFolders()), json);
}

/** Gives where PostgreSQL's programs may be; no setting of the service is read. */
export async function withPrograms(work: Parameters<Cli['withPrograms']>[0], json: boolean): Promise<void> {
  loadEnvironmentFile();
  show(await work(readProgramFolders()), json);
}

/** What was wrong, in words for a person; undefined for a fault of our own, which keeps its stack. */
export function wordsOf(fault: unknown): string | undefined {
  return fault instanceof ConfigError || fault instanceof EmbeddedDatabaseInUse ? fault.message : explainFault(fault);
}
