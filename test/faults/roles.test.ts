import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { visitor } from '#test/harness/elections.ts';
import { withClient } from '#test/harness/empty-database.ts';
import { hasPostgresTools, makeServerFolder, type OwnServer, startOwnServer } from '#test/harness/own-server.ts';
import { ask } from '#test/harness/real-processes.ts';
import { type Ended, requireRefused, requireStarted, runCommand, startProcess } from '#test/harness/started-service.ts';
import { runStatements } from '#test/harness/test-database.ts';

const ROLES = path.resolve(import.meta.dirname, '../../deploy/roles.sql');
const KEY = Buffer.alloc(32, 9).toString('base64');

let folder: string;
let server: OwnServer;

/** The file as an operator runs it. @param url of the role that runs it */
function runRoles(url: string): Ended {
  const words = ['-X', '-v', 'ON_ERROR_STOP=1', '-d', url, '-f', ROLES];
  const { status, stdout, stderr } = spawnSync('psql', words, { encoding: 'utf8' });
  return { code: status, stdout, stderr };
}

function urlOf(role: string): string {
  const url = new URL(server.url);
  [url.username, url.password] = [role, 'secret'];
  return url.href;
}

const refusal = (url: string, statement: string): Promise<string> =>
  withClient(url, (client) =>
    client.query(statement).then(
      () => 'done',
      (fault: unknown) => (fault instanceof pg.DatabaseError ? (fault.code ?? '') : String(fault)),
    ),
  );

describe.skipIf(!hasPostgresTools)('deploy/roles.sql', () => {
  const settings = (url: string) => ({
    ...{ DATABASE_URL: url, SECRET_KEY: KEY, DATA_DIR: path.join(folder, 'data'), BASE_URL: 'http://localhost:3000' },
  });

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'voting-roles-test-'));
    chmodSync(folder, 0o711);
    mkdirSync(path.join(folder, 'data'));
    const archive = makeServerFolder(path.join(folder, 'archive'));
    server = await startOwnServer(path.join(folder, 'server'), [
      'archive_mode = on',
      `archive_command = 'cp %p ${archive}/%f'`,
    ]);
  });
  afterAll(() => {
    server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('makes an owner that migrates, a service that votes and deletes and cannot rewrite, and a role for backups; twice changes nothing', async () => {
    const first = runRoles(server.url);
    expect(first, first.stderr).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('Now run `migrate` as voting_owner'),
    });
    expect(runRoles(server.url)).toMatchObject({ code: 0 });
    await runStatements(
      server.url,
      ['owner', 'app', 'backup'].map((name) => `ALTER ROLE voting_${name} PASSWORD 'secret'`),
    );

    // Before the owner has migrated, the service refuses in one line.
    const early = await requireRefused(await startProcess(settings(urlOf('voting_app'))));
    expect(early).toMatch(/^Cannot start: [^\n]*run `migrate`[^\n]* as the owner[^\n]*\n$/);
    const migrated = await runCommand(['migrate'], settings(urlOf('voting_owner')));
    expect(migrated, migrated.stderr).toMatchObject({ code: 0 });
    // As the superuser, and then as the owner, who could have made none of the roles.
    for (const url of [server.url, urlOf('voting_owner'), urlOf('voting_owner')])
      expect(runRoles(url)).toMatchObject({ code: 0, stderr: '' });

    const app = settings(urlOf('voting_app'));
    const json = async (...words: string[]) => {
      const { code, stdout, stderr } = await runCommand([...words, '--json'], app);
      expect([code, stderr], stdout).toEqual([0, '']);
      return JSON.parse(stdout);
    };
    const account = await json('accounts', 'create', '--name', 'Club');
    const [write, vote] = await Promise.all(
      ['read,write', 'vote'].map(
        async (scopes) =>
          (await json('keys', 'create', '--account', account.id, '--name', scopes, '--scopes', scopes)).key,
      ),
    );
    const service = requireStarted(await startProcess(app));
    try {
      const call = async (method: string, target: string, key: string, body?: unknown) => {
        const answer = await ask(service.port, method, target, { key, body });
        const text = await answer.text();
        expect(answer.status, text).toBeLessThan(300);
        return text === '' ? undefined : JSON.parse(text).data;
      };
      const event = await call('POST', '/voting-events', write, { title: 'A poll', type: 'poll' });
      const base = `/voting-events/${event.id}`;
      const position = await call('POST', `${base}/positions`, write, { title: 'Which?', votingMethod: 'plurality' });
      const candidate = await call('POST', `${base}/candidates`, write, { name: 'Ada', positionIds: [position.id] });
      await call('PATCH', base, write, { status: 'open' });
      const ballot = { visitorId: visitor(), votes: [{ positionId: position.id, candidateId: candidate.id }] };
      const { confirmationCode } = await call('POST', `/public${base}/ballot/cast`, vote, ballot);
      await call('POST', `/public${base}/ballot/confirm`, vote, { confirmationCode });
      expect((await call('GET', `${base}/results`, write)).stats.ballots).toBe(1);
      await call('PATCH', base, write, { status: 'closed' });

      for (const statement of [
        "UPDATE log_leaves SET data = ''",
        'DELETE FROM log_checkpoints',
        "UPDATE ballot_blocks SET entries = ''",
        'DELETE FROM ballot_blocks',
        'DELETE FROM service_identity',
        'DELETE FROM audit_entries',
        "UPDATE audit_entries SET action = 'voter.updated'",
        'UPDATE schema_number SET number = number + 1',
        'DROP TABLE ballot_blocks',
        'CREATE TABLE other (id int)',
        "SET session_replication_role = 'replica'",
      ])
        expect([statement, await refusal(urlOf('voting_app'), statement)]).toEqual([statement, '42501']);
      expect(await refusal(urlOf('voting_backup'), 'SELECT * FROM voters')).toBe('42501');

      await call('DELETE', `${base}?force=true`, write);
      expect(service.output()).not.toContain('42501');
    } finally {
      expect(await service.stop()).toBe(0);
    }
    // `migrate` may end sessions of the service.
    const session = new pg.Client({ connectionString: urlOf('voting_app') });
    const ended = new Promise((resolve) => session.on('error', resolve));
    await session.connect();
    const terminate = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'voting_app'";
    expect(await refusal(urlOf('voting_owner'), terminate)).toBe('done');
    await ended;
    // A newer release on the schema of the one before: each says what is to be done, in one line.
    await runStatements(server.url, ['UPDATE schema_number SET number = number - 1']);
    const old = await requireRefused(await startProcess(app));
    expect(old).toMatch(
      /^Cannot start: the database is at schema number [^\n]*run `migrate`[^\n]* as the owner[^\n]*\n$/,
    );
    for (const words of [['migrate'], ['accounts', 'list']])
      expect(await runCommand(words, app)).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/^Refused: [^\n]+\n$/),
      });

    const taken = await runCommand(['backup', '--to', path.join(folder, 'backup')], settings(urlOf('voting_backup')));
    expect(taken, taken.stderr).toMatchObject({ code: 0 });
  });
});
