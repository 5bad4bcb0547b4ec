import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { migrate } from '#src/database/migrate.ts';
import { runJobs } from '#src/jobs/run-jobs.ts';
import { MARKER } from '#src/voting-events/key-places.ts';
import { allJobs } from '#src/work.ts';
import { cellsOf, cutAt, Killed } from '#test/harness/cells.ts';
import { runCommand } from '#test/harness/command-line.ts';
import { demand, finishEvent } from '#test/harness/elections.ts';
import {
  cast,
  confirm,
  createKeyedElection,
  type KeyedElection,
  keyFiles,
  voteWith,
} from '#test/harness/keyed-elections.ts';
import {
  hasPostgresTools,
  makeServerFolder,
  type OwnServer,
  startOwnServer,
  stopServer,
} from '#test/harness/own-server.ts';
import { freePort } from '#test/harness/started-service.ts';
import { startTestService, type TestService, untilTrue, useAccount } from '#test/harness/test-service.ts';
import { useDatabase, useFolder } from '#test/harness/use.ts';

const words = (...parts: string[]): string[] => [...parts, '--json'];

const root = useFolder('voting-key-backup-test-');
chmodSync(root, 0o711);
const databaseB = await useDatabase();
const { service, account } = await useAccount({ worker: false });
const own = (): string => service.deps.config.ballotKeysDir ?? '';

describe('the keys of open elections', () => {
  test('go from a folder of copies with an election that is deleted, when nothing else is left of it', async () => {
    const to = path.join(root, 'deleted-keys');
    const election = await createKeyedElection(service, account, [1]);
    const foreign = `evt_${'0'.repeat(24)}.${'0'.repeat(16)}.key`;
    expect(await runCommand(service, words('backup', '--keys', to))).toMatchObject({ code: 0 });
    expect(keyFiles(to, election.id)).toHaveLength(1);
    writeFileSync(path.join(to, foreign), 'of another service');
    expect((await account.delete(`/voting-events/${election.id}?force=true`)).status).toBe(204);
    const { jobDatabases, log } = service.deps;
    const runner = await runJobs(jobDatabases.deletions, log, allJobs(service.deps), []);
    await untilTrue(async () => {
      const rows = await service.query('SELECT FROM voting_events WHERE id = $1', [election.id]);
      return rows.length === 0;
    });
    await runner.stop();
    await service.deps.ballotKeys.destroyRetired();
    await runCommand(service, words('backup', '--keys', to));
    expect(keyFiles(to, election.id)).toEqual([]);
    expect(readdirSync(to)).toContain(foreign);
  });

  test('stay in a folder of copies while their account moves', async () => {
    const cells = { DATABASE_CELLS: `b=${databaseB.url}` };
    await using moving = await startTestService({ worker: false, environment: cells });
    const to = path.join(root, 'moving-keys');
    const backUp = (cell: string) => runCommand(moving, words('backup', '--keys', to, '--cell', cell), cells);
    for (const cut of ['copied', 'switched'] as const) {
      const election = await createKeyedElection(moving, await moving.account('enterprise', 'main'), [1]);
      await backUp('main');
      await expect(cellsOf(moving).move(election.account, 'main', 'b', cutAt(cut))).rejects.toThrow(Killed);
      for (const cell of ['main', 'b']) expect(await backUp(cell)).toMatchObject({ code: 0 });
      expect(keyFiles(to, election.id)).toHaveLength(1);
    }
  });

  test('are written to a folder of their own, which loses those of elections that are over', async () => {
    const [over, open] = [
      await createKeyedElection(service, account, [1]),
      await createKeyedElection(service, account, [1]),
    ];
    const to = path.join(root, 'kept-keys');
    const first = await runCommand(service, words('backup', '--keys', to));
    expect(first, first.stdout + first.stderr).toMatchObject({ code: 0 });
    expect(JSON.parse(first.stdout)).toMatchObject({ written: 2, removed: 0, eventsWithoutKey: [] });
    // The folder of a backup is none of the service's until `ballot-keys init` has seen that no key is missing.
    expect(readdirSync(to)).toEqual(readdirSync(own()).filter((name) => name !== MARKER));
    expect(statSync(path.join(to, readdirSync(to)[0] ?? '')).mode & 0o777).toBe(0o600);
    await finishEvent(service, over.id);
    const second = await runCommand(service, words('backup', '--keys', to));
    expect(JSON.parse(second.stdout)).toMatchObject({ written: 1, removed: 1 });
    expect(keyFiles(to, over.id)).toEqual([]);
    expect(keyFiles(to, open.id)).toHaveLength(1);
    for (const file of readdirSync(own())) rmSync(path.join(own(), file));
    const lacking = await runCommand(service, words('backup', '--keys', path.join(root, 'elsewhere')));
    expect(lacking).toMatchObject({ code: 1, stdout: expect.stringContaining(open.code) });
    const doctor = await runCommand(service, words('doctor'));
    expect(JSON.parse(doctor.stdout)).toContainEqual(
      expect.objectContaining({
        name: 'keys of open elections',
        status: 'failed',
        detail: expect.stringContaining(open.code),
      }),
    );
  });

  test('never come together with a backup of the database', async () => {
    for (const wrong of [
      ['backup'],
      ['backup', '--to', path.join(root, 'a'), '--keys', path.join(root, 'b')],
      ['backup', '--keys', ''],
      ['backup', '--to', ''],
    ])
      expect(await runCommand(service, words(...wrong))).toMatchObject({ code: 2 });
    const [linked, mounted] = [path.join(root, 'linked'), path.join(root, 'mounted')];
    symlinkSync(service.deps.config.dataDir, linked);
    const toKeys = path.join(root, 'to-keys');
    symlinkSync(own(), toKeys);
    mkdirSync(mounted);
    writeFileSync(path.join(mounted, MARKER), 'of a service');
    const base = path.join(root, 'base');
    mkdirSync(path.join(base, 'data'), { recursive: true });
    writeFileSync(path.join(base, 'backup.json'), '{}');
    // As `backup --to` leaves its folder while it works: backup.json is written last.
    const begun = path.join(root, 'begun');
    mkdirSync(path.join(begun, 'data', 'pg_wal'), { recursive: true });
    const beside = [base, begun].flatMap((one) => [one, path.join(one, 'keys'), path.join(one, 'data')]);
    const within = [path.join(own(), 'within'), path.join(toKeys, 'a', 'new')];
    for (const inside of [service.deps.config.dataDir, ...within, linked, mounted, ...beside]) {
      const refused = await runCommand(service, words('backup', '--keys', inside));
      expect(refused).toMatchObject({ code: 1, stdout: expect.stringContaining('a place of its own') });
    }
    for (const inside of within) {
      const refused = await runCommand(service, words('backup', '--to', inside));
      expect(refused).toMatchObject({ code: 1, stdout: expect.stringContaining('a place of its own') });
    }
    expect(existsSync(path.join(root, 'a'))).toBe(false);
  });

  test('are looked for by doctor, which says what to do where a folder is away', async () => {
    const doctor = async (settings: Record<string, string>) =>
      JSON.parse((await runCommand(service, words('doctor'), settings)).stdout) as { name: string; status: string }[];
    const stateOf = (findings: { name: string; status: string }[], name: string) =>
      findings.find((one) => one.name === name)?.status;
    expect(stateOf(await doctor({}), 'keys of elections')).toBe('ok');
    expect(stateOf(await doctor({ BALLOT_KEYS_DIR: '', BALLOT_KEYS_COPIES: '' }), 'keys of elections')).toBe('warning');
    expect(
      stateOf(await doctor({ BALLOT_KEYS_DIR: path.join(import.meta.filename, 'keys') }), 'keys of elections'),
    ).toBe('failed');
    expect(stateOf(await doctor({ BALLOT_KEYS_COPIES: path.join(root, 'nowhere') }), 'copies of keys')).toBe('warning');
    const copies = await runCommand(service, words('doctor'), { BALLOT_KEYS_DIR: '', BALLOT_KEYS_COPIES: '/tmp' });
    expect(copies).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('BALLOT_KEYS_COPIES needs BALLOT_KEYS_DIR'),
    });
  });
});

describe.skipIf(!hasPostgresTools)('a restored database', () => {
  let server: OwnServer;
  let service: TestService;
  let election: KeyedElection;
  let code: string;
  const restored: string[] = [];

  beforeAll(async () => {
    const archive = makeServerFolder(path.join(root, 'archive'));
    server = await startOwnServer(path.join(root, 'live'), [
      'archive_mode = on',
      `archive_command = 'cp %p ${archive}/%f'`,
    ]);
    await migrate(server.url);
    const ballotKeysDir = path.join(root, 'keys');
    mkdirSync(ballotKeysDir);
    service = await startTestService({ databaseUrl: server.url, worker: false, ballotKeysDir });
    const account = await service.account();
    election = await createKeyedElection(service, account, [1, 2, 1]);
    await voteWith(service, election, [0, 1]);
    code = demand(await cast(service, election, 2), 201).confirmationCode;
    const keys = await runCommand(service, words('backup', '--keys', path.join(root, 'key-backup')));
    expect(keys, keys.stdout).toMatchObject({ code: 0 });
    const taken = await runCommand(service, words('backup', '--to', path.join(root, 'backup')));
    expect(taken, taken.stdout).toMatchObject({ code: 0 });
  });
  afterAll(async () => {
    await service?.stop();
    for (const data of restored) stopServer(data);
    server?.stop();
  });

  async function restore(name: string, ...more: string[]) {
    const [to, port] = [path.join(root, name), await freePort()];
    restored.push(to);
    const where = ['--backup', path.join(root, 'backup'), '--archive', path.join(root, 'archive'), '--to', to];
    const end = await runCommand(undefined, words('restore', ...where, '--port', String(port), ...more));
    expect(end, end.stdout + end.stderr).toMatchObject({ code: 0 });
    const url = new URL(server.url);
    url.port = String(port);
    return { url: url.href, found: JSON.parse(end.stdout) };
  }

  const init = async (url: string, keys: string) =>
    JSON.parse(
      (
        await runCommand(service, words('ballot-keys', 'init'), {
          ...{ DATABASE_URL: url, BALLOT_KEYS_DIR: keys, DATA_DIR: root },
        })
      ).stdout,
    );

  test('says which open elections have no key; with the key’s backup it takes votes, without it none, and after the end it never can', async () => {
    const keys = path.join(root, 'key-backup');
    const with_ = await restore('with', '--keys', keys);
    expect(with_.found).toMatchObject({ eventsWithoutKey: [] });
    expect((await init(with_.url, keys)).marked).toEqual([keys, path.join(root, 'checkpoints')]);
    const able = await startTestService({
      ...{ databaseUrl: with_.url, secretKey: service.secretKey, worker: false, ballotKeysDir: keys },
    });
    demand(await confirm(able, election, code), 200);
    await finishEvent(able, election.id);
    const read = { key: election.account.read };
    const results = demand(await able.call('GET', `/voting-events/${election.id}/results`, undefined, read), 200);
    expect(results).toMatchObject({ final: true, disputed: false, stats: { ballots: 3 } });
    expect(keyFiles(keys, election.id)).toEqual([]);
    await able.stop();

    const without = await restore('without', '--keys', keys);
    expect(without.found).toMatchObject({ eventsWithoutKey: [election.code] });
    rmSync(path.join(keys, MARKER));
    expect((await init(without.url, keys)).error.message).toContain(`${keys} has no key of ${election.code}`);
    const unable = await startTestService({
      ...{ databaseUrl: without.url, secretKey: service.secretKey, worker: false, ballotKeysDir: keys },
    });
    const refused = await confirm(unable, election, code);
    expect([refused.status, refused.body.error.details.reason]).toEqual([500, 'ballot_key_unavailable']);
    await unable.deps.ballotKeys.destroyRetired();
    await unable.stop();
  });
});
