import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { migrate } from '#src/database/migrate.ts';
import { createObserverKey, LogReader } from '#test/harness/ballot-log.ts';
import { runCommand } from '#test/harness/command-line.ts';
import { demand, sealBallots, type TestEvent, votePoll } from '#test/harness/elections.ts';
import { withClient } from '#test/harness/empty-database.ts';
import {
  hasPostgresTools,
  makeServerFolder,
  type OwnServer,
  startOwnServer,
  startServer,
  stopServer,
} from '#test/harness/own-server.ts';
import { type Ended, freePort, runCommand as runAlone } from '#test/harness/started-service.ts';
import { startTestService, type TestAccount, type TestService, untilTrue } from '#test/harness/test-service.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const OPERATIONS = readFileSync(path.join(ROOT, 'docs/operations.md'), 'utf8');
/** What stands in the fenced blocks of "Backup and restore". */
const DOCUMENTED = [
  ...(/\n## Backup and restore\n(.*?)\n## /s.exec(OPERATIONS)?.[1] ?? '').matchAll(/^```\w+\n(.*?)^```$/gms),
].map((match) => match[1] ?? '');

/** The documented block with a word in it. */
function documented(word: string): string {
  const [block, ...more] = DOCUMENTED.filter((text) => text.includes(word));
  if (block === undefined || more.length > 0) throw new Error(`docs/operations.md has no one block with ${word}`);
  return block;
}

let folder: string;
let archive: string;
let server: OwnServer;
const restored: string[] = [];

const KEY = Buffer.alloc(32, 7).toString('base64');

/** Runs lines of the page as they stand there, with what an operator puts in. */
function runDocumented(
  text: string,
  given: Readonly<Record<string, string>>,
  changes: readonly (readonly [string, string])[] = [],
): Ended {
  const lines = changes.reduce((all, [from, to]) => {
    if (!all.includes(from)) throw new Error(`the documented lines lack ${from}`);
    return all.replaceAll(from, to);
  }, text);
  const { PATH = '', HOME = '' } = process.env;
  const env = {
    PATH: `${path.dirname(process.execPath)}:${PATH}`,
    HOME,
    SECRET_KEY: KEY,
    DATA_DIR: path.join(folder, 'data'),
    ...given,
  };
  const { status, stdout, stderr } = spawnSync('sh', ['-ec', lines], { cwd: ROOT, env, encoding: 'utf8' });
  return { code: status, stdout, stderr };
}

/** Runs `restore` with other words than the documented ones. */
const restoreWith = (...words: string[]): Promise<Ended> =>
  runAlone(
    ['restore', '--backup', path.join(folder, 'backups/2026-11-20'), '--archive', archive, '--json', ...words],
    {},
  );

const query = <Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> =>
  withClient(url, async (client) => (await client.query<Row>(text)).rows);

/** The database's own time, which the log is replayed by. */
const moment = async (url: string): Promise<string> =>
  (
    await query<{ at: string }>(
      url,
      `SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at`,
    )
  )[0]?.at ?? '';

/** Waits until everything that was written stands in the archive. */
async function awaitArchive(url: string): Promise<void> {
  const [row] = await query<{ file: string }>(url, 'SELECT pg_walfile_name(pg_current_wal_insert_lsn()) AS file');
  await query(url, 'SELECT pg_switch_wal()');
  await untilTrue(() => existsSync(path.join(archive, row?.file ?? '')), 30_000);
}

const onPort = (port: number): string => {
  const url = new URL(server.url);
  url.port = String(port);
  return url.href;
};

async function vote(service: TestService, account: TestAccount, event: TestEvent, count: number): Promise<void> {
  const [position] = event.positions;
  for (let index = 0; index < count; index += 1)
    await votePoll(service, account, event, [
      { positionId: position?.id, candidateId: position?.candidates[index % 2] },
    ]);
}

describe.skipIf(!hasPostgresTools)('backup and restore', () => {
  let account: TestAccount;
  let event: TestEvent;
  let service: TestService;
  let firstMoment = '';

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'voting-backup-test-'));
    // As root, PostgreSQL runs as another user, who has to pass.
    chmodSync(folder, 0o711);
    archive = makeServerFolder(path.join(folder, 'archive'));
    mkdirSync(path.join(folder, 'backups'));
    const lines = documented('archive_command').replaceAll('/archive/', `${archive}/`).split('\n');
    server = await startOwnServer(path.join(folder, 'live'), lines);
    await migrate(server.url);
    // Places of production's machine. They stand in the backup, and a restored server has none of them.
    for (const [name, value] of [
      ['unix_socket_directories', '/of/production'],
      ['log_directory', '/of/production/log'],
      ['logging_collector', 'on'],
      ['shared_preload_libraries', 'of_production'],
    ])
      await query(server.url, `ALTER SYSTEM SET ${name} = '${value}'`);
    service = await startTestService({ databaseUrl: server.url, worker: false });
    account = await service.account();
    event = await account.event();
  });
  afterAll(async () => {
    await service?.stop();
    for (const data of restored) stopServer(data);
    server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const results = () => `/voting-events/${event.id}/results`;
  const readResults = async (from: TestService) =>
    demand(await from.call('GET', results(), undefined, { key: account.read }), 200);

  /** The documented line, for a moment, to a folder of its own. */
  async function restoreTo(name: string, at: string): Promise<{ data: string; url: string }> {
    const data = path.join(folder, name);
    const port = await freePort();
    const given = { BACKUPS: path.join(folder, 'backups'), ARCHIVE: archive, RESTORED: data };
    const changes = [
      ['2026-11-21T09:59:00Z', at],
      ['5433', String(port)],
    ] as const;
    restored.push(data);
    const end = runDocumented(documented('-- restore '), given, changes);
    expect(end, end.stderr).toMatchObject({ code: 0 });
    expect(end.stderr).toContain(`127.0.0.1:${port}`);
    expect(end.stderr).toContain(`recount --event ${event.code}`);
    return { data, url: onPort(port) };
  }

  /** What must hold on a restored server: results, count, log; and it takes the next vote. */
  async function expectWhole(
    url: string,
    before: Record<string, unknown>,
    observer: string,
    seen: string,
  ): Promise<void> {
    const again = await startTestService({ databaseUrl: url, secretKey: service.secretKey, worker: false });
    try {
      const after = await readResults(again);
      expect({ ...after, asOf: 0 }).toEqual({ ...before, asOf: 0 });
      expect(await runCommand(again, ['recount', '--event', event.code, '--json'])).toMatchObject({ code: 0 });
      const where = ['--base-url', `http://127.0.0.1:${again.port}`, '--event', event.id, '--since', seen];
      const verified = await runCommand(again, ['log', 'verify', ...where, '--json'], { VOTING_KEY: observer });
      // Right as far as it goes: the event is open, so the log has no close yet.
      expect(verified).toMatchObject({ code: 3, stderr: '' });
      expect(JSON.parse(verified.stdout)).toMatchObject({ verified: 'partial' });
      await vote(again, account, event, 1);
      expect((await readResults(again)).stats.ballots).toBe(after.stats.ballots + 1);
    } finally {
      await again.stop();
    }
  }

  test('give back two moments in a row by the documented lines: every ballot, the same count, the log that observers know, and voting goes on', async () => {
    await vote(service, account, event, 5);
    const taken = runDocumented(documented('-- backup '), {
      BACKUP_URL: server.url,
      BACKUPS: path.join(folder, 'backups'),
    });
    expect(taken, taken.stderr).toMatchObject({ code: 0 });
    const manifest = readFileSync(path.join(folder, 'backups/2026-11-20/backup.json'), 'utf8');
    expect(JSON.parse(manifest)).toMatchObject({
      serverMajor: 15,
      timeline: 1,
      secretKeyIds: [expect.stringMatching(/^[0-9a-f]{8}$/)],
    });
    for (const secret of [KEY, new URL(server.url).password])
      expect(manifest + taken.stdout + taken.stderr).not.toContain(secret);

    await vote(service, account, event, 6);
    await sealBallots(service, event.id);
    const observer = await createObserverKey(service, account, event.id);
    const seen = path.join(folder, 'checkpoint.txt');
    writeFileSync(seen, String((await new LogReader(service, event.id, observer).get('checkpoint')).body));
    await vote(service, account, event, 2);
    firstMoment = await moment(server.url);
    const first = { at: firstMoment, results: await readResults(service) };
    expect(first.results.stats.ballots).toBe(13);
    await vote(service, account, event, 3);
    await awaitArchive(server.url);

    const rehearsal = await restoreTo('rehearsal', first.at);
    await expectWhole(rehearsal.url, first.results, observer, seen);
    // The rehearsal goes on beside production, which loses its events by mistake after some more votes.
    await query(rehearsal.url, 'SELECT pg_switch_wal()');
    await vote(service, account, event, 4);
    const second = { at: await moment(server.url), results: await readResults(service) };
    expect(second.results.stats.ballots).toBe(20);
    await query(server.url, 'DELETE FROM voting_events');
    await awaitArchive(server.url);

    const again = await restoreTo('again', second.at);
    await expectWhole(again.url, second.results, observer, seen);
    expect(
      await query(rehearsal.url, "SELECT name FROM pg_settings WHERE name = 'archive_mode' AND setting <> 'off'"),
    ).toEqual([]);
  });

  test('refuse a moment that the archive does not hold, one before the backup, and a log with a gap', async () => {
    const data = path.join(folder, 'refused');
    const late = await restoreWith('--to', data, '--at', '2999-01-01T00:00:00Z');
    expect(late).toMatchObject({ code: 1, stderr: '' });
    expect(JSON.parse(late.stdout).error.message).toMatch(
      /the moment 2999-01-01 00:00:00\+00 was not reached: the last transaction .* is of \d{4}-/,
    );
    const early = await restoreWith('--to', data, '--at', '2020-01-01T00:00:00Z');
    expect(early).toMatchObject({ code: 1, stdout: expect.stringContaining('take an older backup') });
    const unknown = await restoreWith('--to', data, '--point', 'nowhere');
    expect(unknown).toMatchObject({ code: 1, stdout: expect.stringContaining('the point nowhere was not reached') });
    const zoneless = await restoreWith('--to', data, '--at', '2026-11-21T09:59:00');
    expect(zoneless).toMatchObject({ code: 2, stdout: expect.stringContaining('time zone') });

    const { lastWalFile } = JSON.parse(readFileSync(path.join(folder, 'backups/2026-11-20/backup.json'), 'utf8'));
    const next = path.join(
      archive,
      lastWalFile.slice(0, 16) +
        (Number.parseInt(lastWalFile.slice(16), 16) + 1).toString(16).toUpperCase().padStart(8, '0'),
    );
    renameSync(next, `${next}.away`);
    const gap = await restoreWith('--to', data);
    expect(gap).toMatchObject({ code: 1, stdout: expect.stringContaining(`lacks ${path.basename(next)}`) });
    renameSync(`${next}.away`, next);
    expect(existsSync(data)).toBe(false);
    expect(existsSync(`${data}.log`)).toBe(false);
  });

  test('write neither into backup nor archive, nor over a file beside the new folder, and need a port that is free', async () => {
    const backup = path.join(folder, 'backups/2026-11-20');
    const link = path.join(folder, 'link');
    symlinkSync(archive, link);
    const within = [path.join(archive, 'restored'), path.join(backup, 'data/restored'), path.join(link, 'a/new')];
    for (const source of [archive, ...within]) {
      const inside = await restoreWith('--to', source);
      expect(inside).toMatchObject({
        code: 1,
        stdout: expect.stringContaining('lies in the backup or in the archive'),
      });
    }
    const data = path.join(folder, 'mine');
    writeFileSync(`${data}.log`, 'mine');
    const beside = await restoreWith('--to', data);
    expect(beside).toMatchObject({ code: 1, stdout: expect.stringContaining('mine.log is there already') });
    expect(readFileSync(`${data}.log`, 'utf8')).toBe('mine');
    const { port } = new URL(server.url);
    const taken = await restoreWith('--to', path.join(folder, 'new'), '--port', port);
    expect(taken).toMatchObject({ code: 1, stdout: expect.stringContaining(`port ${port} cannot be listened on`) });
    expect([existsSync(data), existsSync(path.join(folder, 'new'))]).toEqual([false, false]);
  });

  test('ask which timeline is production’s where the archive holds several, and follow the one that is named', async () => {
    const { data } = await restoreTo('fail-over', firstMoment);
    // After a fail-over the other server archives; so does a rehearsal that was set up by hand.
    stopServer(data);
    const command = `archive_command = 'test ! -f ${archive}/%f && cp %p ${archive}/%f'\n`;
    appendFileSync(path.join(data, 'postgresql.auto.conf'), `archive_mode = 'on'\n${command}`);
    const url = onPort(
      Number(/port = '(\d+)'/.exec(readFileSync(path.join(data, 'postgresql.auto.conf'), 'utf8'))?.[1]),
    );
    // A fail-over archives where it began; without that file nothing can follow it.
    const nameless = await restoreWith('--to', path.join(folder, 'nameless'), '--timeline', '2');
    expect(nameless).toMatchObject({ code: 1, stdout: expect.stringContaining('00000002.history') });
    copyFileSync(path.join(data, 'pg_wal/00000002.history'), path.join(archive, '00000002.history'));
    chmodSync(path.join(archive, '00000002.history'), 0o644);
    const bare = await restoreWith('--to', path.join(folder, 'bare'), '--timeline', '2');
    expect(bare).toMatchObject({ code: 1, stdout: expect.stringContaining('the archive lacks 00000002') });
    startServer(data);
    await query(url, 'CREATE TABLE of_the_other (id int)');
    await awaitArchive(url);

    const unclear = await restoreWith('--to', path.join(folder, 'unclear'));
    expect(unclear).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/timeline.*--timeline 2 after a fail-over, --timeline 1 where a rehearsal/),
    });
    for (const [timeline, there] of [
      [1, false],
      [2, true],
    ] as const) {
      const [target, port] = [path.join(folder, `timeline-${timeline}`), await freePort()];
      restored.push(target);
      const end = await restoreWith('--to', target, '--timeline', String(timeline), '--port', String(port));
      expect(end, end.stdout).toMatchObject({ code: 0, stderr: '' });
      const [row] = await query<{ there: boolean }>(
        onPort(port),
        "SELECT to_regclass('of_the_other') IS NOT NULL AS there",
      );
      expect([timeline, row?.there]).toEqual([timeline, there]);
    }
  });

  test('refuse a backup of a server that archives nothing, or fails to, and of the embedded database, each in one line', async () => {
    const to = path.join(folder, 'backups/none');
    const backup = (settings: Readonly<Record<string, string>>) =>
      runAlone(['backup', '--to', to], { SECRET_KEY: KEY, DATA_DIR: path.join(folder, 'data'), ...settings });
    const embedded = await backup({});
    expect(embedded).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^Refused: the embedded database is backed up by stopping the service and copying [^\n]+\n$/,
      ),
    });
    appendFileSync(path.join(server.data, 'postgresql.conf'), "archive_command = 'false'\n");
    await query(server.url, 'SELECT pg_reload_conf()');
    const failing = await backup({ DATABASE_URL: server.url });
    expect(failing).toMatchObject({ code: 1, stderr: expect.stringMatching(/could not archive [0-9A-F]{24}/) });
    expect(existsSync(path.join(to, 'backup.json'))).toBe(false);
    const [, rehearsal] = restored;
    const url = onPort(
      Number(/port = '(\d+)'/.exec(readFileSync(path.join(rehearsal ?? '', 'postgresql.auto.conf'), 'utf8'))?.[1]),
    );
    const none = await backup({ DATABASE_URL: url });
    expect(none).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^Refused: the server does not archive[^\n]+\n$/),
    });
  });
});
