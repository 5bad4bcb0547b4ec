import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type EmbeddedDatabase, startEmbeddedDatabase } from '#src/database/embedded.ts';
import { clusterFolder, findHome } from '#src/database/embedded-home.ts';
import { migrate } from '#src/database/migrate.ts';
import { createObserverKey, LogReader } from '#test/harness/ballot-log.ts';
import { runCommand } from '#test/harness/command-line.ts';
import { createTestEvent, demand, sealBallots, type TestEvent, votePoll } from '#test/harness/elections.ts';
import {
  createTestAccount,
  eventually,
  startTestService,
  type TestAccount,
  type TestService,
} from '#test/harness/test-service.ts';

let folder: string;
const running: EmbeddedDatabase[] = [];

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'voting-backup-test-'));
  // As root, PostgreSQL runs as another user, who has to pass.
  chmodSync(folder, 0o711);
});
afterAll(async () => {
  for (const database of running) await database.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function start(name: string): Promise<EmbeddedDatabase> {
  const dataDir = path.join(folder, name);
  mkdirSync(dataDir, { recursive: true, mode: 0o711 });
  const database = await startEmbeddedDatabase({ dataDir, log: () => undefined });
  running.push(database);
  return database;
}

async function clusterOf(name: string): Promise<{ home: string; cluster: string }> {
  const home = (await findHome(path.join(folder, name))) ?? '';
  return { home, cluster: clusterFolder(home) };
}

/** A session that stays: a base backup begins and ends in one. */
async function withSession<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const append = (file: string, text: string): void => writeFileSync(file, text, { flag: 'a' });

/** A database that archives its write-ahead log, as docs/operations.md says. */
async function startArchiving(name: string, archive: string): Promise<EmbeddedDatabase> {
  await (await start(name)).stop();
  const { cluster } = await clusterOf(name);
  const { uid, gid } = statSync(cluster);
  mkdirSync(archive, { mode: 0o700 });
  chownSync(archive, uid, gid);
  const command = `test ! -f ${archive}/%f && cp %p ${archive}/%f`;
  append(path.join(cluster, 'postgresql.auto.conf'), `archive_mode = 'on'\narchive_command = '${command}'\n`);
  return start(name);
}

/** What `pg_basebackup` does, with the server's own functions: the package of the embedded database lacks the program. */
async function takeBaseBackup(url: string, name: string, target: string): Promise<void> {
  const { cluster } = await clusterOf(name);
  await withSession(url, async (client) => {
    await client.query("SELECT pg_backup_start('base', fast => true)");
    const left = [path.join(cluster, 'postmaster.pid'), path.join(cluster, 'postmaster.opts')];
    const inLog = path.join(cluster, 'pg_wal') + path.sep;
    cpSync(cluster, target, { recursive: true, filter: (file) => !left.includes(file) && !file.startsWith(inLog) });
    const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop()');
    writeFileSync(path.join(target, 'backup_label'), rows[0]?.labelfile ?? '');
  });
}

/** Puts a base backup where an embedded database is looked for, to be brought to a named moment. */
async function restore(backup: string, archive: string, from: string, name: string, moment: string): Promise<void> {
  const { home, cluster } = await clusterOf(from);
  const target = path.join(folder, name, 'postgres');
  mkdirSync(target, { recursive: true, mode: statSync(home).mode & 0o777 });
  for (const dir of [path.join(folder, name), target]) chmodSync(dir, 0o711);
  const restored = clusterFolder(target);
  cpSync(backup, restored, { recursive: true });
  cpSync(path.join(home, 'password'), path.join(target, 'password'));
  const lines = [
    `restore_command = 'cp ${archive}/%f %p'`,
    `recovery_target_name = '${moment}'`,
    "recovery_target_action = 'promote'",
    "archive_mode = 'off'",
  ];
  append(path.join(restored, 'postgresql.auto.conf'), `${lines.join('\n')}\n`);
  writeFileSync(path.join(restored, 'recovery.signal'), '');
  mkdirSync(path.join(restored, 'pg_wal'), { recursive: true });
  giveLike(cluster, restored);
}

/** Owner and modes of a cluster for a copy of it: the server refuses anything wider. */
function giveLike(cluster: string, copy: string): void {
  const { uid, gid } = statSync(cluster);
  for (const entry of readdirSync(copy, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    chmodSync(file, entry.isDirectory() ? 0o700 : 0o600);
    chownSync(file, uid, gid);
  }
  chmodSync(copy, 0o700);
  chownSync(copy, uid, gid);
}

async function vote(service: TestService, account: TestAccount, event: TestEvent, count: number): Promise<void> {
  const [position] = event.positions;
  for (let index = 0; index < count; index += 1)
    await votePoll(service, account, event, [
      { positionId: position?.id, candidateId: position?.candidates[index % 2] },
    ]);
}

describe('backup and restore', () => {
  test('give back the moment before a mistake: every ballot, the same count, the log that observers know, and voting goes on', async () => {
    const [archive, backup] = [path.join(folder, 'archive'), path.join(folder, 'base')];
    const database = await startArchiving('live', archive);
    await migrate(database.url);
    const service = await startTestService({ databaseUrl: database.url, worker: false });
    const account = await createTestAccount(service);
    const key = { key: account.read };
    const event = await createTestEvent(service, account, {}, [
      { votingMethod: 'plurality', candidates: ['Ada', 'Bea'] },
    ]);
    await vote(service, account, event, 5);
    await takeBaseBackup(database.url, 'live', backup);
    await vote(service, account, event, 6);
    await sealBallots(service, event.id);
    const observer = await createObserverKey(service, account, event.id);
    const seen = path.join(folder, 'checkpoint.txt');
    writeFileSync(seen, String((await new LogReader(service, event.id, observer).get('checkpoint')).body));
    await vote(service, account, event, 2);
    const results = `/voting-events/${event.id}/results`;
    const before = demand(await service.call('GET', results, undefined, key), 200);
    const last = await withSession(database.url, async (client) => {
      await client.query("SELECT pg_create_restore_point('before_the_mistake')");
      await client.query('DELETE FROM voting_events');
      const { rows } = await client.query<{ file: string }>(
        'SELECT pg_walfile_name(pg_current_wal_insert_lsn()) AS file',
      );
      await client.query('SELECT pg_switch_wal()');
      return path.join(archive, rows[0]?.file ?? '');
    });
    await eventually(() => (existsSync(last) ? true : undefined), 20_000);
    await service.stop();
    await database.stop();

    await restore(backup, archive, 'live', 'restored', 'before_the_mistake');
    const restored = await start('restored');
    const again = await startTestService({ databaseUrl: restored.url, secretKey: service.secretKey, worker: false });
    try {
      const after = demand(await again.call('GET', results, undefined, key), 200);
      expect({ ...after, asOf: 0 }).toEqual({ ...before, asOf: 0 });
      expect(after.stats.ballots).toBe(13);
      expect(await runCommand(again, ['recount', '--event', event.code, '--json'])).toMatchObject({ code: 0 });
      const where = ['--base-url', `http://127.0.0.1:${again.port}`, '--event', event.id, '--since', seen];
      const verified = await runCommand(again, ['log', 'verify', ...where, '--json'], { VOTING_KEY: observer });
      expect(verified).toMatchObject({ code: 0, stderr: '' });
      await vote(again, account, event, 1);
      expect(demand(await again.call('GET', results, undefined, key), 200).stats.ballots).toBe(14);
    } finally {
      await again.stop();
    }
  }, 120_000);
});
