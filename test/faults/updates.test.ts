import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { migrate } from '#src/database/migrate.ts';
import { SCHEMA } from '#src/database/schema-number.ts';
import { type EmbeddedDatabase, startEmbeddedDatabase } from '#src/embedded-postgres/embedded-database.ts';
import { createTestEvent } from '#test/harness/elections.ts';
import { withClient } from '#test/harness/empty-database.ts';
import { copyRelease, NEXT_NUMBER } from '#test/harness/next-release.ts';
import { voteAllTheTime } from '#test/harness/repeating-voters.ts';
import {
  type Ended,
  freePort,
  requireRefused,
  requireStarted,
  runCommand,
  type StartedService,
  startProcess,
} from '#test/harness/started-service.ts';
import { runStatements, withDatabase } from '#test/harness/test-database.ts';
import { createTestAccount, eventually, startTestService } from '#test/harness/test-service.ts';

const KEY = randomBytes(32).toString('base64');
const [OWN, NEXT] = [SCHEMA.number, NEXT_NUMBER];
const GOES = new RegExp(
  `the database goes to schema number ${NEXT}, this build serves ${OWN}: start the newer release`,
);
const IS_AT = new RegExp(`the database is at schema number ${NEXT}, this build serves ${OWN}: start the newer release`);

let folder: string;
/** The next release. */
let next: string;
/** The tests' usual server keeps nothing through a power cut, so no service starts on it. */
let server: EmbeddedDatabase;
let url: string;
const started: StartedService[] = [];

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'voting-updates-'));
  chmodSync(folder, 0o755);
  next = copyRelease(path.join(folder, 'next'));
  server = await startEmbeddedDatabase({ dataDir: path.join(folder, 'server'), log: () => undefined });
  await runStatements(server.url, ['CREATE DATABASE migrated']);
  await migrate(withDatabase(server.url, 'migrated'));
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(async () => {
  const name = `voting_${randomBytes(6).toString('hex')}`;
  await runStatements(server.url, [`CREATE DATABASE ${name} TEMPLATE migrated`]);
  url = withDatabase(server.url, name);
});
afterEach(() => {
  for (const { child } of started.splice(0)) {
    child.kill('SIGCONT');
    child.kill('SIGKILL');
  }
});

const settings = (changes: Readonly<Record<string, string>> = {}) => ({
  ...{ DATABASE_URL: url, SECRET_KEY: KEY, DATA_DIR: folder, HOST: '127.0.0.1', BASE_URL: 'https://vote.example.org' },
  ...{ BALLOT_KEYS_DIR: path.join(folder, 'ballot-keys'), EMAIL_DOMAIN_CHECK: 'off', LOG_LEVEL: 'silent' },
  ...changes,
});

async function start(root?: string, changes: Readonly<Record<string, string>> = {}): Promise<StartedService> {
  const one = requireStarted(await startProcess(settings(changes), root));
  started.push(one);
  return one;
}
const refusedStart = async (root?: string): Promise<string> => requireRefused(await startProcess(settings(), root));
const cli = (words: readonly string[], root?: string, onStart?: (child: ChildProcess) => void): Promise<Ended> =>
  runCommand(words, settings(), root, onStart);

async function query<Row extends pg.QueryResultRow>(text: string): Promise<Row[]> {
  return withClient(url, async (client) => (await client.query<Row>(text)).rows);
}
const schemaNumber = async () =>
  (
    await query<{ number: number; next: number | null; migrating: boolean }>(
      'SELECT number, next, migrating FROM schema_number',
    )
  )[0];

/** It ended by itself with 1, and said why in one line. */
async function expectReplaced(one: StartedService, why: RegExp): Promise<void> {
  const { code, stderr } = await one.ended;
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^Stopping: [^\n]+\n$/)]);
  expect(stderr).toMatch(why);
}

const plan = { votingMethod: 'plurality', candidates: ['Ada', 'Bea', 'Cai', 'Dee', 'Eva', 'Fay'] };

describe('a release with a higher schema number', () => {
  test('replaces the one before while votes go on: each acknowledged vote counts once, each repeated request is answered', async () => {
    const inside = await startTestService({
      ...{ databaseUrl: url, secretKey: KEY, worker: false, ballotKeysDir: path.join(folder, 'ballot-keys') },
    });
    const account = await createTestAccount(inside);
    const event = await createTestEvent(inside, account, {}, [plan]);
    await inside.stop();
    const port = await freePort();
    const [stopped, ended] = [await start(undefined, { WORKER: 'off' }), await start()];
    const votes = voteAllTheTime([stopped.port, ended.port, port], account.vote, event);
    await eventually(async () => (votes.count() > 200 ? true : undefined));
    stopped.child.kill('SIGSTOP');
    const sessions = await query("SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'voting-service%'");
    const replacing = await start(next, { PORT: String(port) });
    await expectReplaced(ended, GOES);
    for (const session of await query('SELECT pid FROM pg_stat_activity')) expect(sessions).not.toContainEqual(session);
    stopped.child.kill('SIGCONT');
    await expectReplaced(stopped, IS_AT);
    const meanwhile = votes.count();
    await eventually(async () => (votes.count() > meanwhile + 50 ? true : undefined));
    const { confirmed, mostTries } = await votes.stop();
    expect(replacing.output()).toMatch(/\d+ database sessions did not end by themselves, and are ended/);
    expect(replacing.output()).toMatch(new RegExp(`Migrated to schema number ${NEXT}; votes paused for [0-9.]+ s`));
    // The pause, in tries of 0.2 s and more.
    expect(mostTries).toBeLessThan(180);

    const call = async (method: string, target: string, key: string, body?: unknown) => {
      const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const answer = await fetch(`http://127.0.0.1:${port}${target}`, { method, headers, ...sent });
      expect(answer.status, target).toBe(200);
      return ((await answer.json()) as { data: { positions: { candidates: { id: string; votesWon: number }[] }[] } })
        .data;
    };
    await call('PATCH', `/voting-events/${event.id}`, account.write, { status: 'closed' });
    const { positions } = await call('GET', `/voting-events/${event.id}/results`, account.read);
    const counted = (positions[0]?.candidates ?? []).map(({ id, votesWon }) => [id, votesWon] as const);
    expect(new Map(counted)).toEqual(confirmed);
    expect(await replacing.stop()).toBe(0);
  }, 120_000);

  test('ends an idle process at once, and three that migrate together take turns; the one before refuses in one line', async () => {
    const old = await start();
    const check = await cli(['migrate', '--check', '--json'], next);
    expect([check.code, JSON.parse(check.stdout)]).toEqual([
      ...[1, { database: OWN, build: NEXT, pending: ['of_next_release', 'function is_process_alive'], applied: [] }],
    ]);
    const [first, second, third] = await Promise.all([
      cli(['migrate'], next),
      cli(['migrate'], next),
      startProcess(settings(), next),
    ]);
    const service = requireStarted(third);
    started.push(service);
    await expectReplaced(old, GOES);
    expect([first.code, second.code]).toEqual([0, 0]);
    const said = [first.stderr, second.stderr, service.output()].join('').match(/^Migrated to schema number [^\n]+$/gm);
    expect(said).toHaveLength(1);
    // 1.5 s for a proxy to learn of it, and no 30 s.
    expect(Number(/paused for ([0-9.]+) s/.exec(said?.[0] ?? '')?.[1])).toBeLessThan(15);
    expect(await schemaNumber()).toEqual({ number: NEXT, next: null, migrating: false });

    expect(await refusedStart()).toMatch(new RegExp(`^Cannot start: ${IS_AT.source}\\n$`));
    for (const words of [['accounts', 'list'], ['migrate'], ['migrate', '--check']])
      expect(await cli(words)).toMatchObject({
        ...{ code: 1, stdout: '', stderr: expect.stringMatching(new RegExp(`^Refused: ${IS_AT.source}.\\n$`)) },
      });
    const doctor = JSON.parse((await cli(['doctor', '--json'])).stdout) as { name: string; detail: string }[];
    expect(doctor).toContainEqual({
      ...{ name: 'schema', status: 'failed', detail: expect.stringMatching(IS_AT), cure: '' },
    });
    expect(service.child.exitCode).toBeNull();
  }, 120_000);

  test('ends several processes on one port and their jobs, also where none of them was notified', async () => {
    const old = await start(undefined, { WEB_CONCURRENCY: '2' });
    await query(`UPDATE schema_number SET next = ${NEXT}`);
    await expectReplaced(old, GOES);
    expect(await refusedStart()).toMatch(new RegExp(`^Cannot start: ${GOES.source}\\n$`));
  }, 60_000);
});

describe('a migration', () => {
  test('waits for locks of other programs without holding any, and survives a deadlock', async () => {
    const statements = 'ALTER TABLE groups ADD COLUMN a text; ALTER TABLE sponsors ADD COLUMN a text;';
    const locking = copyRelease(path.join(folder, 'locking'), { statements });
    const isWaiting = async (table: string) =>
      (await query(`SELECT 1 FROM pg_locks WHERE NOT granted AND relation = '${table}'::regclass`)).length > 0 ||
      undefined;
    await withClient(url, async (client) => {
      // The deadlock is found by the migration, not here.
      await client.query("SET deadlock_timeout = '1h'; BEGIN; LOCK sponsors IN ACCESS SHARE MODE");
      const migrated = cli(['migrate'], locking);
      await eventually(() => isWaiting('sponsors'));
      await client.query('SELECT FROM groups');
      // Tried again, it gives up waiting, and tries again.
      await eventually(() => isWaiting('groups'));
      await eventually(async () => ((await isWaiting('groups')) === undefined ? true : undefined));
      await eventually(() => isWaiting('groups'));
      await client.query('COMMIT');
      const { code, stderr } = await migrated;
      expect([code, stderr]).toEqual([0, expect.stringContaining('Another program holds a lock on a table')]);
    });
    const [{ deadlocks } = { deadlocks: 0 }] = await query<{ deadlocks: number }>(
      'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()',
    );
    expect(deadlocks).toBe(1);
    expect(await schemaNumber()).toEqual({ number: NEXT, next: null, migrating: false });
  }, 60_000);

  test('that fails leaves the number and the tables to the release before', async () => {
    const failing = copyRelease(path.join(folder, 'failing'), {
      statements: 'ALTER TABLE groups ADD COLUMN a text; ALTER TABLE nowhere ADD COLUMN a text;',
    });
    const old = await start();
    const line = await refusedStart(failing);
    expect(line).toMatch(
      /^Cannot start: the database was not migrated: [^\n]*\(42P01\)[^\n]*the release before can be started again\n$/,
    );
    await expectReplaced(old, GOES);
    expect(await schemaNumber()).toEqual({ number: OWN, next: null, migrating: false });
    expect(await (await start()).stop()).toBe(0);
  }, 60_000);

  test('that is killed halfway is done again by the next one; the release before refuses until its operator insists', async () => {
    const sleeping = copyRelease(path.join(folder, 'sleeping'), { statements: 'SELECT pg_sleep(4);' });
    let child: ChildProcess | undefined;
    const killed = cli(['migrate'], sleeping, (process) => {
      child = process;
    });
    await eventually(
      async () =>
        (await query("SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'")).length > 0 || undefined,
    );
    child?.kill('SIGKILL');
    await killed;
    expect(await schemaNumber()).toEqual({ number: OWN, next: NEXT, migrating: true });
    expect(await refusedStart()).toMatch(new RegExp(`^Cannot start: ${GOES.source}\\n$`));
    expect((await cli(['accounts', 'list'])).stderr).toMatch(GOES);
    expect(await cli(['migrate'])).toMatchObject({ code: 0 });
    expect(await schemaNumber()).toEqual({ number: OWN, next: null, migrating: false });
    await query(`UPDATE schema_number SET next = ${NEXT}, migrating = true`);
    expect(await cli(['migrate'], next)).toMatchObject({ code: 0 });
    expect(await schemaNumber()).toEqual({ number: NEXT, next: null, migrating: false });
  }, 90_000);
});

test('two builds with one number by mistake never serve together: a start refuses, and `migrate` replaces the other', async () => {
  const twin = copyRelease(path.join(folder, 'twin'), { number: OWN });
  const old = await start();
  const line = await refusedStart(twin);
  expect(line).toMatch(/^Cannot start: another build with schema number \d+ has migrated the database: [^\n]+\n$/);
  expect(old.child.exitCode).toBeNull();
  expect(await cli(['migrate'], twin)).toMatchObject({ code: 0 });
  await expectReplaced(old, /another build with schema number/);
  expect(await refusedStart()).toMatch(/another build with schema number/);
}, 60_000);
