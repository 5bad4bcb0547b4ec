import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import { migrate } from '#src/database/migrate.ts';
import { bundlePrograms } from './bundle-programs.ts';
import { withClient } from './empty-database.ts';
import { startOwnDatabase } from './own-database.ts';
import { BUNDLES } from './programs.ts';
import { runStatements, TEMPLATE_DATABASE, withDatabase } from './test-database.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The server that test databases are made on. Made by tests, so its owner may create and drop databases. */
    databaseUrl: string;
    /** How that server copies the template soonest. */
    copyStrategy: 'FILE_COPY' | 'WAL_LOG';
  }
}

const BUILD = path.resolve(import.meta.dirname, '../../scripts/build-assets.ts');

// A template cannot be dropped; one may be left from a run that was killed.
const dropTemplate = (url: string): Promise<void> =>
  withClient(url, async (client) => {
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [TEMPLATE_DATABASE]);
    if (rowCount === 0) return;
    await client.query(`ALTER DATABASE ${TEMPLATE_DATABASE} IS_TEMPLATE false`);
    await client.query(`DROP DATABASE ${TEMPLATE_DATABASE} WITH (FORCE)`);
  });

async function createTemplate(url: string): Promise<void> {
  await dropTemplate(url);
  await runStatements(url, [`CREATE DATABASE ${TEMPLATE_DATABASE}`]);
  await migrate(withDatabase(url, TEMPLATE_DATABASE));
  await runStatements(url, [`ALTER DATABASE ${TEMPLATE_DATABASE} IS_TEMPLATE true ALLOW_CONNECTIONS false`]);
}

// Copying files takes a quarter of the work of copying by the log, and a checkpoint: that waits for the disk unless nothing is kept.
async function chooseStrategy(url: string): Promise<'FILE_COPY' | 'WAL_LOG'> {
  return await withClient(url, async (client) => {
    const { rows } = await client.query<{ fsync: string }>('SHOW fsync');
    return rows[0]?.fsync === 'off' ? 'FILE_COPY' : 'WAL_LOG';
  });
}

/** One server for all projects of the run: that of `TEST_DATABASE_URL`, or an embedded one in a temporary folder. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if ('databaseUrl' in project.getProvidedContext()) return undefined;
  const { vitest } = project;
  // What the service serves of its own making, as `npm start` builds it.
  await promisify(execFile)(process.execPath, [BUILD, '--if-needed']);
  process.env[BUNDLES] = JSON.stringify(await bundlePrograms());
  const given = process.env.TEST_DATABASE_URL;
  const server =
    given === undefined || given === ''
      ? await startOwnDatabase('tests', false)
      : { url: given, stop: async () => undefined };
  try {
    await createTemplate(server.url);
    vitest.provide('copyStrategy', await chooseStrategy(server.url));
  } catch (fault) {
    await server.stop();
    throw fault;
  }
  vitest.provide('databaseUrl', server.url);
  return async () => {
    await dropTemplate(server.url);
    await server.stop();
  };
}
