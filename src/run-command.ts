import { randomBytes } from 'node:crypto';
import { readSandboxAddress } from '#sandbox/sandbox-address.ts';
import { VotingServiceError } from '#sdk/index.ts';
import { unauthorized } from '#src/accounts/authenticate.ts';
import { findAccount } from '#src/accounts/repository.ts';
import { createApp } from '#src/app.ts';
import { findCell } from '#src/cells/find-cell.ts';
import type { Answer, Cli } from '#src/commands/cli.ts';
import { FileRefused } from '#src/commands/read-lines.ts';
import { type Config, ConfigError, loadEnvironmentFile, readConfig, readProgramFolders } from '#src/config.ts';
import { StartRefused } from '#src/database/check-server.ts';
import { readNow } from '#src/database/database-clock.ts';
import { explainDatabaseFault } from '#src/database/explain-database-fault.ts';
import { migrate } from '#src/database/migrate.ts';
import { CellSilent, MAIN_CELL } from '#src/database/other-cells.ts';
import { findSchemaRefusal } from '#src/database/schema-number.ts';
import type { Deps } from '#src/deps.ts';
import { connectEmbeddedDatabase } from '#src/embedded-postgres/embedded-database.ts';
import { EmbeddedDatabaseInUse } from '#src/embedded-postgres/lock.ts';
import type { Authentication } from '#src/http/authenticate.ts';
import { type Caller, OPERATOR } from '#src/http/caller.ts';
import { RateLimiter } from '#src/http/rate-limit.ts';
import { PaymentProviderRefused, PaymentProviderUnavailable } from '#src/payment-providers/provider-fault.ts';
import { monotonicMs, systemClock } from '#src/platform/clock.ts';
import { ApiError, conflict, type Issue, orNotFound } from '#src/platform/errors.ts';
import { explainFileFault } from '#src/platform/files.ts';
import { FolderUnusable } from '#src/platform/key-folders.ts';
import { createLog } from '#src/platform/log.ts';
import { checkCells, checkStart, joinCell, joinRunning, withSecretKey } from '#src/prepare-start.ts';
import { openClients } from '#src/run-remote.ts';
import { listen } from '#src/server/listen.ts';
import { closeDeps, createDeps } from '#src/service.ts';
import { requireRoomForVoters } from '#src/voters/take-rows.ts';
import { findAnyEvent } from '#src/voting-events/access.ts';

// The database access of commands. It is loaded only when a command needs it, so that `--help` starts quickly.

/** The name after `--cell`. It is searched for in argv, because a command may choose its cell before it reads its options. */
function namedCell(): string | undefined {
  const at = process.argv.findIndex((word) => /^--cell(?:=|$)/.test(word));
  return at < 0 ? undefined : (process.argv[at]?.split('=')[1] ?? process.argv[at + 1] ?? '');
}

/** @throws ConfigError for a cell that DATABASE_CELLS does not name */
function urlOfCell({ databaseCells }: Config, main: string): string {
  const named = namedCell();
  if (named === undefined || named === MAIN_CELL) return main;
  const place = databaseCells.find(({ name }) => name === named);
  if (place === undefined) throw new ConfigError(`--cell: DATABASE_CELLS names no cell ${named}`);
  return place.url;
}

/** Arguments that are IDs, or that follow `--event`. */
function namedThings(): string[] {
  const words = process.argv.slice(2).flatMap((word) => /^(--[a-z-]+)=(.*)$/s.exec(word)?.slice(1) ?? [word]);
  return words.filter((word, at) => /^(?:acc|evt|key|biz|pay)_[0-9a-z]+$/.test(word) || words[at - 1] === '--event');
}

/** The cell (database) of a command: the cell after `--cell`, the cell with the thing that an argument names, or the main cell. */
async function chooseCell(main: Deps): Promise<Deps> {
  const cells = [...main.cells.values()];
  for (const named of namedThings()) {
    const found = await findCell(cells, named);
    if (found !== undefined) return found;
  }
  return main;
}

/** Passes the settings and the URL of the configured or embedded server to `work`. Then stops an embedded server that it started. */
async function atDatabase(work: (given: Config, url: string, isOwn: boolean) => Promise<Answer>): Promise<Answer> {
  loadEnvironmentFile();
  const given = readConfig();
  if (given.databaseUrl !== undefined) return work(given, urlOfCell(given, given.databaseUrl), false);
  const database = await connectEmbeddedDatabase(given.dataDir);
  try {
    return await work(given, database.url, !database.isServed);
  } finally {
    await database.stop();
  }
}

/** Returns false for a fault of the database or a refusal. @throws any other error */
function isRefused(fault: unknown): false {
  if (
    explainDatabaseFault(fault) === undefined &&
    !(fault instanceof StartRefused) &&
    findSchemaRefusal(fault) === undefined
  )
    throw fault;
  return false;
}

/** Runs `work` on the database. Without DATABASE_URL, uses or starts the embedded database. */
export const withDeps = (work: (deps: Deps) => Promise<Answer>): Promise<Answer> =>
  atDatabase(async (given, url, isOwn) => {
    // Migrate only an embedded database that this command has started. `migrate` or the start of the service migrates any other.
    if (isOwn) await migrate(url, { insists: true });
    const config = await joinRunning(withSecretKey(given), url);
    const main = createDeps(config, given.databaseUrl ?? url, createLog('silent'), readSandboxAddress(given.dataDir));
    for (const place of config.databaseCells) {
      const cell = main.cells.get(place.name);
      if (cell === undefined) continue;
      // A cell that does not answer, or belongs to another service, stays unserved. A command that needs it reports this.
      cell.standing.isServed =
        place.url === url || (await joinCell(config, main.databaseUrl, place).then(() => true, isRefused));
    }
    // A command has no heartbeat. Without this, the clock of the operator's machine would decide expiries and time windows.
    for (const { standing, clock, db } of main.cells.values()) {
      const askedAt = monotonicMs();
      if (standing.isServed) clock.follow(await readNow(db), askedAt, monotonicMs());
    }
    const named = main.cells.get(namedCell() ?? '');
    const deps = named ?? (config.databaseCells.length === 0 ? main : await chooseCell(main));
    try {
      return await work(deps);
    } finally {
      await closeDeps(main);
    }
  });

/** Serves the API only to this command, as the account that owns an event, so that the operator needs no API key of this account. */
export const withOwnService = (reference: string, work: Parameters<Cli['withOwnService']>[1]): Promise<Answer> =>
  withDeps(async (deps) => {
    const event = await findAnyEvent(deps.db, reference);
    const account = orNotFound(await findAccount(deps.db, event.accountId));
    // Any user of this machine can reach the port, so a random key protects it during this run.
    const key = randomBytes(32).toString('hex');
    const caller: Caller = {
      ...{ keyId: OPERATOR, keyName: OPERATOR, keyHint: '', keyExpiresAt: null, keyCreatedAt: 0 },
      ...{ accountId: account.id, accountName: account.name, plan: account.plan, votingEventId: null },
      scopes: ['read', 'write'],
      requestsPerMinute: 1_000_000,
    };
    const authenticator: Authentication = {
      async authenticate(authorization) {
        if (authorization !== `Bearer ${key}`) throw unauthorized();
        return caller;
      },
      accountOf: () => account.id,
    };
    const noHealth = () => Promise.reject(new Error('a command has no health'));
    const app = createApp(deps, new RateLimiter(), noHealth, () => undefined, authenticator);
    const listener = await listen({ fetch: (request, env) => app.fetch(request, env), port: 0, host: '127.0.0.1' });
    try {
      const clients = openClients({ baseUrl: `http://127.0.0.1:${listener.port}`, key });
      return await work(...clients, (count) => requireRoomForVoters(deps.db, deps, event.id, account.plan, count));
    } finally {
      await listener.close(0);
    }
  });

/** Passes the settings to `work`, with the embedded database's URL if no other is set. Neither migrates nor checks. */
export const withDatabase = (work: Parameters<Cli['withDatabase']>[0]): Promise<Answer> =>
  atDatabase((given, url) => {
    const config = withSecretKey(given);
    const now = () => systemClock.now();
    const check = async (withCells = false) => [
      ...(await checkStart(config, url, now)),
      ...(withCells && url === given.databaseUrl ? await checkCells(config, now) : []),
    ];
    return work(config, check, url);
  });

/** Passes the settings and the URL of a configured server to `work`. Refuses the embedded database, which is backed up as files. */
export function withServer(work: Parameters<Cli['withServer']>[0]): Promise<Answer> {
  loadEnvironmentFile();
  const config = readConfig();
  if (config.databaseUrl === undefined)
    throw conflict(
      'embedded_database',
      `the embedded database is backed up by stopping the service and copying ${config.dataDir}. With DATABASE_URL set, that server is backed up.`,
    );
  return work(config, urlOfCell(config, config.databaseUrl), readProgramFolders());
}

/** Passes the folders of PostgreSQL's programs to `work`. Reads no other setting. */
export function withPrograms(work: Parameters<Cli['withPrograms']>[0]): Promise<Answer> {
  loadEnvironmentFile();
  return work(readProgramFolders());
}

function wordsOfRefusal(fault: ApiError | VotingServiceError): string {
  if (fault.code === 'not_found') return 'there is nothing with this ID or code.';
  const issues = (fault.details?.['issues'] ?? []) as readonly Issue[];
  return issues.length > 1 ? issues.map(({ field, message }) => `\n  ${field}: ${message}`).join('') : fault.message;
}

/** The error message for the user of a command. Undefined for a bug, whose stack trace is then printed. */
export function wordsOf(fault: unknown): string | undefined {
  if (fault instanceof ConfigError || fault instanceof EmbeddedDatabaseInUse) return fault.message;
  if (fault instanceof CellSilent) return `Refused: ${fault.message}; \`cells status\` says why.`;
  if (fault instanceof FileRefused) return `Refused: ${fault.message}`;
  if (fault instanceof FolderUnusable) return `Refused: ${fault.message}.`;
  if (fault instanceof ApiError || fault instanceof VotingServiceError) return `Refused: ${wordsOfRefusal(fault)}`;
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
