import { setTimeout as delay } from 'node:timers/promises';
import { runSandbox } from '#sandbox/run-sandbox.ts';
import { sequenceLog } from '#src/ballot-log/seal-ballots.ts';
import { type Config, ConfigError, listUnknownSettings } from '#src/config.ts';
import { StartRefused } from '#src/database/check-server.ts';
import { explainDatabaseFault } from '#src/database/explain-database-fault.ts';
import { findSchemaRefusal } from '#src/database/schema-number.ts';
import { showDemo } from '#src/demo/show-demo.ts';
import { startEmbeddedDatabase } from '#src/embedded-postgres/embedded-database.ts';
import { EmbeddedDatabaseInUse } from '#src/embedded-postgres/lock.ts';
import { endInTime, serveWithMany } from '#src/many-processes.ts';
import { systemClock } from '#src/platform/clock.ts';
import { explainFileFault } from '#src/platform/files.ts';
import { createLog } from '#src/platform/log.ts';
import { TIME_LIMITS } from '#src/platform/time-limits.ts';
import { prepareCells, prepareStart, withSecretKey } from '#src/prepare-start.ts';
import { AssetsMissing, readAssets } from '#src/reference/built-assets.ts';
import { closeDeps, createDeps, startService } from '#src/service.ts';
import { sealDeps } from '#src/work.ts';

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** One line for an error that the operator can fix; undefined for any other error. */
function plainReason(fault: unknown): string | undefined {
  const worded = [AssetsMissing, ConfigError, EmbeddedDatabaseInUse, StartRefused];
  if (fault instanceof Error && worded.some((kind) => fault instanceof kind)) return `Cannot start: ${fault.message}`;
  const schema = findSchemaRefusal(fault);
  if (schema !== undefined) return `Cannot start: ${schema.message}`;
  const code = fault instanceof Error ? Reflect.get(fault, 'code') : undefined;
  if (code === 'EADDRINUSE') return 'Cannot start: the port is already in use. Set PORT to another one.';
  if (Reflect.get(Object(fault), 'syscall') === 'listen')
    return code === 'EACCES'
      ? 'Cannot start: this user may not listen on the port. Set PORT to one above 1023.'
      : `Cannot start: HOST is no address of this machine (${code}). Set it to 127.0.0.1, or to 0.0.0.0 for every address.`;
  const file = explainFileFault(fault);
  if (file !== undefined) return `Cannot start: ${file}. Check DATA_DIR, and let the service write there.`;
  const reason = explainDatabaseFault(fault);
  return reason === undefined ? undefined : `Cannot start: the database cannot be used: ${reason}. Check DATABASE_URL.`;
}

/** Starts the service. @returns also the sandbox and the embedded database, if they were started; if the start fails, both are stopped */
async function start(given: Config) {
  await readAssets();
  for (const line of listUnknownSettings()) say(`Note: ${line}. See .env.example.`);
  const embedded = given.databaseUrl === undefined;
  if (embedded) say('Starting the embedded database …');
  await using begun = new AsyncDisposableStack();
  const database = embedded ? await startEmbeddedDatabase({ dataDir: given.dataDir }) : undefined;
  begun.defer(async () => database?.stop());
  const url = given.databaseUrl ?? database?.url ?? '';
  const { config, warnings } = await prepareStart(withSecretKey(given), url, () => systemClock.now(), say);
  // With the embedded database, omit warnings, whose causes the user cannot fix.
  if (!embedded) for (const { detail, cure } of warnings) say(`Note: ${detail}. ${cure}`.trim());
  await prepareCells(config, url, () => systemClock.now(), say);
  let address: string | undefined;
  const sandbox =
    embedded && !config.production
      ? await runSandbox({
          dataDir: config.dataDir,
          port: config.port === 0 ? 0 : config.port + 1,
          production: config.production,
          now: () => systemClock.now(),
          serviceAddress: () => address,
        })
      : undefined;
  begun.defer(async () => sandbox?.stop());
  const deps = createDeps(config, url, createLog(config.logLevel), sandbox?.url);
  const alone = config.webConcurrency === 1;
  const service = alone
    ? await startService(deps, url)
    : await serveWithMany(config, { databaseUrl: url, sandboxUrl: sandbox?.url }, say);
  address = `http://${config.host === '0.0.0.0' ? 'localhost' : config.host}:${service.port}`;
  const processes = alone ? '' : ` with ${config.webConcurrency} processes`;
  say(`Listening on ${address}${processes}`);
  const seal = (eventId: string): Promise<unknown> => sequenceLog(sealDeps(deps), eventId, 1);
  if (embedded) await showDemo(deps, address, sandbox !== undefined, seal, say);
  // With several processes, this process only supervises the others.
  if (!alone) await closeDeps(deps);
  // `isTrial`: Ctrl-C stops the service at once, because on a developer's machine no proxy must notice the stop first.
  return { service, beside: begun.move(), isTrial: embedded && !config.production };
}

/** A supervisor, or Ctrl-C, signals every process of the service within this time. */
const SIGNALLED_WITHIN_MS = 500;

/** Runs until it is asked to stop, or another build replaces it. The exit status is 0 after a clean stop, otherwise 1. */
export async function runMain(read: () => Config): Promise<void> {
  // A line for people that a full disk does not take must not end the process.
  process.stdout.on('error', () => undefined);
  try {
    // Listen for signals before the start: a stop during the start then waits until the start ends, and shuts down cleanly.
    const asked = Promise.withResolvers<'SIGTERM' | 'SIGINT'>();
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => asked.resolve(signal));
    // Set the limit here, because a start may wait longer than a stop may take, for example for another process's migration.
    asked.promise.then(() => endInTime(TIME_LIMITS.stopMs));
    const { service, beside, isTrial } = await start(read()).catch(async (fault: unknown) => {
      // The signal may also end a process that the start waits for, even before it arrives here: the start then fails.
      if (plainReason(fault) === undefined && (await Promise.race([asked.promise, delay(SIGNALLED_WITHIN_MS)])))
        process.exit(0);
      throw fault;
    });
    const why = await Promise.race([asked.promise, service.replaced]);
    const isAsked = why === 'SIGTERM' || why === 'SIGINT';
    if (!isAsked) process.stderr.write(`Stopping: ${why}\n`);
    endInTime(TIME_LIMITS.stopMs);
    await service.stop(isTrial && why === 'SIGINT' ? 0 : TIME_LIMITS.drainMs);
    await beside.disposeAsync();
    process.exit(isAsked ? 0 : 1);
  } catch (fault) {
    const reason = plainReason(fault);
    if (reason === undefined) throw fault;
    process.stderr.write(`${reason}\n`);
    process.exit(1);
  }
}
