import { readSandboxAddress } from '#sandbox/sandbox-address.ts';
import type { Answer, Cli } from '#src/commands/cli.ts';
import { print } from '#src/commands/print.ts';
import { RollRefused } from '#src/commands/read-lines.ts';
import { ConfigError, loadEnvironmentFile, readConfig, readProgramFolders } from '#src/config.ts';
import { StartRefused } from '#src/database/check-server.ts';
import { explainDatabaseFault } from '#src/database/explain-database-fault.ts';
import { migrate } from '#src/database/migrate.ts';
import { findSchemaRefusal } from '#src/database/schema-number.ts';
import type { Deps } from '#src/deps.ts';
import { connectEmbeddedDatabase } from '#src/embedded-postgres/embedded-database.ts';
import { EmbeddedDatabaseInUse } from '#src/embedded-postgres/lock.ts';
import { PaymentProviderRefused, PaymentProviderUnavailable } from '#src/payment-providers/provider.ts';
import { systemClock } from '#src/platform/clock.ts';
import { ApiError, conflict, type Issue } from '#src/platform/errors.ts';
import { explainFileFault } from '#src/platform/explain-file-fault.ts';
import { FolderUnusable } from '#src/platform/key-folders.ts';
import { createLog } from '#src/platform/log.ts';
import { checkStart, joinRunning, withSecretKey } from '#src/prepare-start.ts';
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
    // The embedded database is this checkout's own; another one, or one that is served, is migrated by `migrate` and by the start alone.
    if (database?.isServed === false) await migrate(url, { insists: true });
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

function wordsOfRefusal(fault: ApiError): string {
  if (fault.code === 'not_found') return 'there is nothing with this ID or code.';
  const issues = (fault.details?.['issues'] ?? []) as readonly Issue[];
  return issues.length > 1 ? issues.map(({ field, message }) => `\n  ${field}: ${message}`).join('') : fault.message;
}

/** What was wrong, for the person who typed the command; undefined for a fault of our own, which keeps its stack. */
export function wordsOf(fault: unknown): string | undefined {
  if (fault instanceof ConfigError || fault instanceof EmbeddedDatabaseInUse) return fault.message;
  if (fault instanceof RollRefused) return `Refused: ${fault.message}`;
  if (fault instanceof FolderUnusable) return `Refused: ${fault.message}.`;
  if (fault instanceof ApiError) return `Refused: ${wordsOfRefusal(fault)}`;
  if (fault instanceof PaymentProviderUnavailable || fault instanceof PaymentProviderRefused)
    return `Refused: ${fault.message}. Check the credentials, and that the provider can be reached.`;
  const refusal = fault instanceof StartRefused ? fault : findSchemaRefusal(fault);
  if (refusal !== undefined) return `Refused: ${refusal.message}.`;
  const file = explainFileFault(fault);
  if (file !== undefined) return `Refused: ${file}.`;
  const reason = explainDatabaseFault(fault);
  return reason === undefined
    ? undefined
    : `Refused: the database could not be used: ${reason}. Check DATABASE_URL, and that the database runs; then try again.`;
}
