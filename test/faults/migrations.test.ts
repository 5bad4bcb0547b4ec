import type { ChildProcess } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { withClient } from '#test/harness/empty-database.ts';
import {
  expectReplaced,
  IS_AT,
  MIGRATES,
  NEXT,
  OWN,
  type ReleaseDatabase,
  startReleases,
} from '#test/harness/releases.ts';
import { eventually, untilTrue } from '#test/harness/test-service.ts';
import { use } from '#test/harness/use.ts';

const releases = await use(startReleases());

describe('a release with a higher schema number', () => {
  test('ends an idle process at once, and three that migrate together take turns; the one before refuses in one line', async () => {
    const on = await releases.database();
    const old = await on.start();
    const check = await on.cli(['migrate', '--check', '--json'], releases.next);
    expect([check.code, JSON.parse(check.stdout)]).toEqual([
      ...[1, { database: OWN, build: NEXT, pending: ['of_next_release', 'function is_process_alive'], applied: [] }],
    ]);
    const [first, second, service] = await Promise.all([
      on.cli(['migrate'], releases.next),
      on.cli(['migrate'], releases.next),
      on.start(releases.next),
    ]);
    await expectReplaced(old, MIGRATES);
    expect([first.code, second.code]).toEqual([0, 0]);
    const said = [first.stderr, second.stderr, service.output()].join('').match(/^Migrated to schema number [^\n]+$/gm);
    expect(said).toHaveLength(1);
    // 1.5 s for a proxy to learn of it, and no 30 s.
    expect(Number(/paused for ([0-9.]+) s/.exec(said?.[0] ?? '')?.[1])).toBeLessThan(15);
    expect(await on.schemaNumber()).toEqual({ number: NEXT, next: null, migrating: false });

    expect(await on.refusedStart()).toMatch(new RegExp(`^Cannot start: ${IS_AT.source}\\n$`));
    const commands = [['accounts', 'list'], ['migrate'], ['migrate', '--check']];
    for (const ended of await Promise.all(commands.map((words) => on.cli(words))))
      expect(ended).toMatchObject({
        ...{ code: 1, stdout: '', stderr: expect.stringMatching(new RegExp(`^Refused: ${IS_AT.source}.\\n$`)) },
      });
    const doctor = JSON.parse((await on.cli(['doctor', '--json'])).stdout) as { name: string; detail: string }[];
    expect(doctor).toContainEqual({
      ...{ name: 'schema', status: 'failed', detail: expect.stringMatching(IS_AT), cure: '' },
    });
    expect(service.child.exitCode).toBeNull();
  });

  test('ends several processes on one port and their jobs, also where none of them was notified', async () => {
    const on = await releases.database();
    const old = await on.start(undefined, { WEB_CONCURRENCY: '2' });
    await on.query(`UPDATE schema_number SET next = ${NEXT}`);
    await expectReplaced(old, MIGRATES);
    expect(await on.refusedStart()).toMatch(new RegExp(`^Cannot start: ${MIGRATES.source}\\n$`));
  });
});

/** Begins a migration that lies in the middle of its statements, for so many seconds, when this returns. */
async function migrateHalfway(on: ReleaseDatabase, seconds: number) {
  const started = Promise.withResolvers<ChildProcess>();
  const sleeping = releases.copy({ statements: `SELECT pg_sleep(${seconds});` });
  const ended = on.cli(['migrate'], sleeping, started.resolve);
  await eventually(
    async () =>
      (await on.query("SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'")).length > 0 || undefined,
  );
  return { child: await started.promise, ended };
}

describe('a migration', () => {
  test('waits for locks of other programs without holding any, and survives a deadlock', async () => {
    const on = await releases.database();
    const statements = 'ALTER TABLE groups ADD COLUMN a text; ALTER TABLE sponsors ADD COLUMN a text;';
    const locking = releases.copy({ statements });
    const isWaiting = async (table: string) =>
      (await on.query(`SELECT 1 FROM pg_locks WHERE NOT granted AND relation = '${table}'::regclass`)).length > 0 ||
      undefined;
    // The deadlock is found by the migration, a little before it gives up waiting, and not here.
    await on.query(`ALTER DATABASE ${new URL(on.url).pathname.slice(1)} SET deadlock_timeout = '1800ms'`);
    await withClient(on.url, async (client) => {
      await client.query("SET deadlock_timeout = '1h'; BEGIN; LOCK sponsors IN ACCESS SHARE MODE");
      const migrated = on.cli(['migrate'], locking);
      await eventually(() => isWaiting('sponsors'));
      await client.query('SELECT FROM groups');
      // Tried again, it gives up waiting, and tries again.
      await eventually(() => isWaiting('groups'));
      await untilTrue(async () => (await isWaiting('groups')) === undefined);
      await eventually(() => isWaiting('groups'));
      await client.query('COMMIT');
      const { code, stderr } = await migrated;
      expect([code, stderr]).toEqual([0, expect.stringContaining('Another program holds a lock on a table')]);
    });
    const [{ deadlocks } = { deadlocks: 0 }] = await on.query<{ deadlocks: number }>(
      'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()',
    );
    expect(deadlocks).toBe(1);
    expect(await on.schemaNumber()).toEqual({ number: NEXT, next: null, migrating: false });
  });

  test('that fails leaves the number and the tables to the release before', async () => {
    const on = await releases.database();
    const failing = releases.copy({
      statements: 'ALTER TABLE groups ADD COLUMN a text; ALTER TABLE nowhere ADD COLUMN a text;',
    });
    const old = await on.start();
    const line = await on.refusedStart(failing);
    expect(line).toMatch(
      /^Cannot start: the database was not migrated: [^\n]*\(42P01\)[^\n]*the release before can be started again\n$/,
    );
    await expectReplaced(old, MIGRATES);
    expect(await on.schemaNumber()).toEqual({ number: OWN, next: null, migrating: false });
    expect(await (await on.start()).stop()).toBe(0);
  });

  test('that is killed halfway is done again by the next one; the release before refuses until its operator insists', async () => {
    const on = await releases.database();
    const { child, ended } = await migrateHalfway(on, 4);
    child.kill('SIGKILL');
    await ended;
    expect(await on.schemaNumber()).toEqual({ number: OWN, next: NEXT, migrating: true });
    expect(await on.refusedStart()).toMatch(new RegExp(`^Cannot start: ${MIGRATES.source}\\n$`));
    expect((await on.cli(['accounts', 'list'])).stderr).toMatch(MIGRATES);
    expect(await on.cli(['migrate'])).toMatchObject({ code: 0 });
    expect(await on.schemaNumber()).toEqual({ number: OWN, next: null, migrating: false });
    await on.query(`UPDATE schema_number SET next = ${NEXT}, migrating = true`);
    expect(await on.cli(['migrate'], releases.next)).toMatchObject({ code: 0 });
    expect(await on.schemaNumber()).toEqual({ number: NEXT, next: null, migrating: false });
  });
});

test('a migration that is stopped halfway stands in the way of no other: its session is ended, and it says so in one line', async () => {
  const on = await releases.database();
  const { child, ended } = await migrateHalfway(on, 2);
  child.kill('SIGSTOP');
  const next = await on.cli(['migrate'], releases.next);
  expect(next).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('Another process is migrating this database'),
  });
  expect(await on.schemaNumber()).toEqual({ number: NEXT, next: null, migrating: false });
  child.kill('SIGCONT');
  expect(await ended).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^(?:Processes [^\n]+\n)?Refused: [^\n]+run `migrate` again\.\n$/),
  });
});

test('two builds with one number by mistake never serve together: a start refuses, and `migrate` replaces the other', async () => {
  const on = await releases.database();
  const twin = releases.copy({ number: OWN });
  const old = await on.start();
  const line = await on.refusedStart(twin);
  expect(line).toMatch(/^Cannot start: another build with schema number \d+ has migrated the database: [^\n]+\n$/);
  expect(old.child.exitCode).toBeNull();
  expect(await on.cli(['migrate'], twin)).toMatchObject({ code: 0 });
  await expectReplaced(old, /another build with schema number/);
  expect(await on.refusedStart()).toMatch(/another build with schema number/);
});
