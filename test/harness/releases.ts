import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type pg from 'pg';
import { expect } from 'vitest';
import { migrate } from '#src/database/migrate.ts';
import { SCHEMA } from '#src/database/schema-number.ts';
import { startEmbeddedDatabase } from '#src/embedded-postgres/embedded-database.ts';
import { withClient } from './empty-database.ts';
import { copyRelease, NEXT_NUMBER } from './next-release.ts';
import {
  requireRefused,
  requireStarted,
  runCommand,
  type Settings,
  type StartedService,
  startProcess,
} from './started-service.ts';
import { runStatements, withDatabase } from './test-database.ts';

export const [OWN, NEXT] = [SCHEMA.number, NEXT_NUMBER];
/** What a process of this release says while the next one migrates, and after that. */
export const MIGRATES = new RegExp(
  `the database is being migrated to schema number ${NEXT}, this build serves ${OWN}: start the newer release`,
);
export const IS_AT = new RegExp(
  `the database is at schema number ${NEXT}, this build serves ${OWN}: start the newer release`,
);

export type ReleaseDatabase = Awaited<ReturnType<Awaited<ReturnType<typeof startReleases>>['database']>>;

/** This release and the next one, on a server that keeps what it commits: on the tests' usual one, no service starts. */
export async function startReleases() {
  const folder = mkdtempSync(path.join(tmpdir(), 'voting-releases-'));
  chmodSync(folder, 0o755);
  const server = await startEmbeddedDatabase({ dataDir: path.join(folder, 'server') });
  await runStatements(server.url, ['CREATE DATABASE migrated']);
  await migrate(withDatabase(server.url, 'migrated'));
  const started: StartedService[] = [];
  /** Another release. */
  const copy = (changes: Parameters<typeof copyRelease>[1]) =>
    copyRelease(path.join(folder, randomBytes(6).toString('hex')), changes);
  return {
    /** The checkout of the next release. */
    next: copy({}),
    copy,
    /** A database that this release has migrated. Programs are of this checkout unless another root is named. */
    async database() {
      const name = `voting_${randomBytes(6).toString('hex')}`;
      await runStatements(server.url, [`CREATE DATABASE ${name} TEMPLATE migrated`]);
      const url = withDatabase(server.url, name);
      const settings: Settings = {
        ...{ DATABASE_URL: url, SECRET_KEY: randomBytes(32).toString('base64'), DATA_DIR: path.join(folder, name) },
        ...{ BALLOT_KEYS_DIR: path.join(folder, `${name}-keys`), BASE_URL: 'https://vote.example.org' },
        ...{ HOST: '127.0.0.1', EMAIL_DOMAIN_CHECK: 'off', LOG_LEVEL: 'silent' },
      };
      const query = <Row extends pg.QueryResultRow>(text: string): Promise<Row[]> =>
        withClient(url, async (client) => (await client.query<Row>(text)).rows);
      return {
        ...{ url, settings, query },
        async start(root?: string, changes?: Settings): Promise<StartedService> {
          const one = requireStarted(await startProcess({ ...settings, ...changes }, root));
          started.push(one);
          return one;
        },
        /** The one line of a start that must fail. */
        refusedStart: async (root?: string) => requireRefused(await startProcess(settings, root)),
        cli: (words: readonly string[], root?: string, onStart?: (child: ChildProcess) => void) =>
          runCommand(words, settings, root, onStart),
        schemaNumber: async (): Promise<unknown> =>
          (await query('SELECT number, next, migrating FROM schema_number'))[0],
      };
    },
    async stop(): Promise<void> {
      for (const { child } of started) {
        child.kill('SIGCONT');
        child.kill('SIGKILL');
      }
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A process that ended by itself with 1, and said why in one line. */
export async function expectReplaced(one: StartedService, why: RegExp): Promise<void> {
  const { code, stderr } = await one.ended;
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^Stopping: [^\n]+\n$/)]);
  expect(stderr).toMatch(why);
}
