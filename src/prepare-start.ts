import { randomBytes, randomInt } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type pg from 'pg';
import { checkIdentity, storeIdentity, withLogIdentity } from '#src/ballot-log/service-identity.ts';
import type { CellPlace, Config } from '#src/config.ts';
import {
  checkCopy,
  checkServer,
  type Finding,
  failed,
  lookAt,
  StartRefused,
  withConnection,
} from '#src/database/check-server.ts';
import { explainDatabaseFault } from '#src/database/explain-database-fault.ts';
import { migrate, requireMigrated } from '#src/database/migrate.ts';
import { MAIN_CELL } from '#src/database/other-cells.ts';
import { findSchemaRefusal } from '#src/database/schema-number.ts';
import { hasCode } from '#src/platform/files.ts';
import { SECRET_KEY_BYTES } from '#src/platform/secrets.ts';
import { checkKeyFolders, checkPlaces } from '#src/voting-events/check-ballot-keys.ts';
import { markFirst, shareIdentity } from '#src/voting-events/key-places.ts';

/** All checks of the start and of `doctor`. Writes nothing. @param now this machine's clock, Unix milliseconds */
export async function checkStart(config: Config, url: string, now: () => number): Promise<Finding[]> {
  try {
    const server = await checkServer(url, now, config.requireStandby);
    const { databaseReadUrl } = config;
    if (databaseReadUrl !== undefined && !server.some(({ status }) => status === 'failed'))
      server.push(await checkCopy(url, databaseReadUrl));
    const folders = await checkKeyFolders(config);
    if (server.some(({ status }) => status === 'failed')) return [...server, ...folders];
    // `lookAt` accepts any schema number, because the start may be about to migrate.
    const stored = await lookAt(url, async (client) => [
      ...(await checkIdentity(config, client)),
      ...(await checkPlaces(config, client)),
    ]);
    return [...server, ...folders, ...stored];
  } catch (fault) {
    const reason = explainDatabaseFault(fault);
    if (reason === undefined) throw fault;
    return [
      failed('database', `the database cannot be used: ${reason}`, 'Check DATABASE_URL, and that the database runs.'),
    ];
  }
}

function refuseFailed(findings: readonly Finding[]): void {
  const first = findings.find(({ status }) => status === 'failed');
  if (first !== undefined) throw new StartRefused(`${first.detail}. ${first.cure}`.trim());
}

/**
 * Checks a database, migrates it, and stores the identity of the service.
 * @returns the configuration with the stored name and key of the logs, and warnings
 * @param say receives a line for the operator for each change of the database
 * @throws StartRefused, SchemaRefused if the operator must fix something first: before any write, unless another process wrote meanwhile
 */
export async function prepareStart(config: Config, url: string, now: () => number, say: (line: string) => void) {
  const findings = await checkStart(config, url, now);
  // Ignore findings about the schema: `migrate` checks it, because another process may be migrating now.
  refuseFailed(findings.filter(({ name }) => name !== 'schema'));
  await requireWritable(config);
  await migrate(url, { insists: config.databaseUrl === undefined, say });
  return withConnection(url, async (client) => {
    await storeIdentity(config, client);
    // Another process may have stored its identity first, made with other keys.
    refuseFailed(await checkIdentity(config, client));
    await markFirst(config, client);
    // Warnings do not prevent the start, but the operator should know them.
    const warnings = findings.filter(({ status }) => status === 'warning');
    return { config: await withLogIdentity(config, client), warnings };
  });
}

/** The settings for a cell other than the main cell. */
const ofCell = (config: Config): Config => ({ ...config, databaseReadUrl: undefined });

/** @throws StartRefused if an earlier cell has the same database, by an address that is written in another way */
async function requireOwnDatabase(config: Config, mainUrl: string, name: string, client: pg.Client): Promise<void> {
  const key = randomInt(2 ** 47);
  await client.query('BEGIN');
  try {
    // Whatever its address, the lock is held in one database: another transaction of that database cannot take it.
    await client.query('SELECT pg_advisory_xact_lock($1)', [key]);
    for (const other of [{ name: MAIN_CELL, url: mainUrl }, ...config.databaseCells]) {
      if (other.name === name) return;
      // A cell that is down has another database than this cell, which answers.
      const isSame = await lookAt(other.url, (there) => isLocked(there, key)).catch((fault: unknown) => {
        if (explainDatabaseFault(fault) === undefined) throw fault;
      });
      if (isSame === true)
        throw new StartRefused(
          `the database of cell ${name} is that of cell ${other.name}, by another address. Name each database once`,
        );
    }
  } finally {
    await client.query('ROLLBACK');
  }
}

async function isLocked(client: pg.Client, key: number): Promise<boolean> {
  const { rows } = await client.query<{ free: boolean }>('SELECT pg_try_advisory_xact_lock($1) AS free', [key]);
  return rows[0]?.free === false;
}

/** Makes an empty cell part of this service. @param config completed by the main cell's start @throws StartRefused if another service's or cell's */
export async function joinCell(config: Config, mainUrl: string, { name, url }: CellPlace): Promise<void> {
  await requireMigrated(url);
  await withConnection(url, async (client) => {
    await requireOwnDatabase(config, mainUrl, name, client);
    const isSame = await withConnection(mainUrl, (main) => shareIdentity(main, client));
    if (!isSame)
      throw new StartRefused(
        `the database of cell ${name} was made for another service. Name an empty database in DATABASE_CELLS, or serve this one by itself`,
      );
    await storeIdentity(config, client);
    refuseFailed(await checkIdentity(config, client));
  });
}

/**
 * Checks and migrates the other cells, and makes them part of this service. A cell that cannot be reached does not stop the start: a note
 * names it, and it is begun when it answers.
 * @throws StartRefused, SchemaRefused, with the name of the cell
 */
export async function prepareCells(config: Config, mainUrl: string, now: () => number, say: (line: string) => void) {
  for (const place of config.databaseCells) {
    const named = (line: string): string => `cell ${place.name}: ${line}`;
    try {
      const findings = await checkServer(place.url, now, config.requireStandby);
      refuseFailed(findings.filter(({ name }) => name !== 'schema'));
      await migrate(place.url, { say: (line) => say(named(line)) });
      await joinCell(config, mainUrl, place);
    } catch (fault) {
      const refused = fault instanceof StartRefused ? fault : findSchemaRefusal(fault);
      if (refused !== undefined) throw new StartRefused(named(refused.message));
      const reason = explainDatabaseFault(fault);
      if (reason === undefined) throw fault;
      say(`Note: ${named(`the database cannot be used: ${reason}. It is begun when it answers`)}`);
    }
  }
}

/** Checks each cell except the main cell, and returns one line for each to `doctor`. */
export async function checkCells(config: Config, now: () => number): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { name, url } of config.databaseCells) {
    const all = await checkStart(ofCell(config), url, now);
    const worst = all.find(({ status }) => status === 'failed') ?? all.find(({ status }) => status === 'warning');
    const fine = 'it answers, has this build’s schema, and is of this service';
    findings.push({ ...(worst ?? { status: 'ok', detail: fine, cure: '' }), name: `cell ${name}` });
  }
  return findings;
}

/** Checks that a process that runs jobs can store checkpoints in DATA_DIR. @throws the file system's error if it cannot */
async function requireWritable({ dataDir, worker }: Config): Promise<void> {
  if (!worker) return;
  await mkdir(dataDir, { recursive: true });
  const probe = path.join(dataDir, `.writable-${process.pid}`);
  await writeFile(probe, '');
  await rm(probe, { force: true });
}

/** Completes the configuration of a command or another process. @throws SchemaRefused if not migrated, StartRefused for a wrong key */
export async function joinRunning(config: Config, url: string): Promise<Config> {
  await requireMigrated(url);
  return withConnection(url, async (client) => {
    refuseFailed(await checkIdentity(config, client));
    return withLogIdentity(config, client);
  });
}

/** Adds the secret key of embedded mode. It is made once, and stored in DATA_DIR beside the data that it encrypts. */
export function withSecretKey(config: Config): Config {
  if (config.secretKeys.length > 0) return config;
  const file = path.join(config.dataDir, 'secret-key');
  if (!existsSync(file)) {
    mkdirSync(config.dataDir, { recursive: true });
    const part = `${file}.${randomBytes(6).toString('hex')}`;
    try {
      writeFileSync(part, randomBytes(SECRET_KEY_BYTES).toString('base64'), { mode: 0o600, flush: true });
      // Only when it is complete. Of two starts at once, both use the key of the first.
      linkSync(part, file);
    } catch (fault) {
      if (!hasCode(fault, 'EEXIST')) throw fault;
    } finally {
      rmSync(part, { force: true });
    }
  }
  return { ...config, secretKeys: [Buffer.from(readFileSync(file, 'utf8').trim(), 'base64')] };
}
