import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import pg from 'pg';
import { beforeEach, describe, expect, test } from 'vitest';
import { readConfig } from '#src/config.ts';
import { migrate } from '#src/database/migrate.ts';
import { startEmbeddedDatabase } from '#src/embedded-postgres/embedded-database.ts';
import { withClient } from '#test/harness/empty-database.ts';
import { freePort, requireRefused, requireStarted, runCommand, startProcess } from '#test/harness/started-service.ts';
import { runStatements, withDatabase } from '#test/harness/test-database.ts';
import { eventually } from '#test/harness/test-service.ts';
import { use, useFolder } from '#test/harness/use.ts';

const newKey = () => randomBytes(32).toString('base64');
const KEY = newKey();
const PGBOUNCER = '/usr/sbin/pgbouncer';

/** The tests' usual server keeps nothing through a power cut, so no service starts on it. */
let database: { readonly url: string };

const folder = useFolder('voting-start-');
chmodSync(folder, 0o755);
const server = await use(startEmbeddedDatabase({ dataDir: path.join(folder, 'server') }));
await runStatements(server.url, ['CREATE DATABASE migrated']);
await migrate(withDatabase(server.url, 'migrated'));

async function createDatabase(template?: string): Promise<{ readonly name: string; readonly url: string }> {
  const name = `voting_${randomBytes(6).toString('hex')}`;
  await runStatements(server.url, [`CREATE DATABASE ${name}${template === undefined ? '' : ` TEMPLATE ${template}`}`]);
  return { name, url: withDatabase(server.url, name) };
}

beforeEach(async () => {
  database = await createDatabase('migrated');
});

const settings = (changes: Readonly<Record<string, string>> = {}) => ({
  ...{ DATABASE_URL: database.url, SECRET_KEY: KEY, DATA_DIR: folder, BASE_URL: 'https://vote.example.org' },
  ...changes,
});
const start = (changes: Readonly<Record<string, string>> = {}) => startProcess(settings(changes));
const cli = (words: readonly string[], changes: Readonly<Record<string, string>> = {}) =>
  runCommand(words, settings(changes));

const query = <Row extends pg.QueryResultRow>(text: string, url = database.url): Promise<Row[]> =>
  withClient(url, async (client) => (await client.query<Row>(text)).rows);

/** Everything that stands in the database, tables and rows. By one connection: one for each of its tables would take seconds. */
const fingerprint = (): Promise<string> =>
  withClient(database.url, async (client) => {
    const { rows: tables } = await client.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
       WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`,
    );
    const parts: string[] = [];
    for (const { name } of tables) {
      const { rows } = await client.query<{ hash: string }>(
        `SELECT md5(coalesce(string_agg(t::text, ',' ORDER BY t::text), '')) AS hash FROM ${name} t`,
      );
      parts.push(`${name} ${rows[0]?.hash}`);
    }
    return parts.join('\n');
  });

/** Starts once with the key that the database will be used with. */
async function useOnce(): Promise<void> {
  expect(await requireStarted(await start()).stop()).toBe(0);
}

/** One line, nothing written, and the same words from `doctor`. */
async function expectRefused(words: string, changes: Readonly<Record<string, string>> = {}): Promise<void> {
  const before = await fingerprint();
  const line = await requireRefused(await start(changes));
  expect(line).toMatch(/^Cannot start: [^\n]+\n$/);
  expect(line).toContain(words);
  expect(line).not.toContain('    at ');
  const doctor = await cli(['doctor', '--json'], changes);
  expect(doctor.code).toBe(1);
  const findings = JSON.parse(doctor.stdout) as { status: string; detail: string; cure: string }[];
  expect(findings.filter(({ status }) => status === 'failed').map(({ detail }) => detail)).toEqual([
    expect.stringContaining(words),
  ]);
  expect(await fingerprint()).toBe(before);
}

describe('a start is refused in one line, and writes nothing', () => {
  test('under a secret key that the database was not used with', async () => {
    await useOnce();
    await expectRefused('SECRET_KEY is not the one', { SECRET_KEY: newKey() });
    // Listed beside the right one it is the first step of a rotation, and after it the new one stands alone.
    const next = newKey();
    expect(await requireStarted(await start({ SECRET_KEY: `${KEY},${next}` })).stop()).toBe(0);
    expect(await requireStarted(await start({ SECRET_KEY: `${next},${KEY}` })).stop()).toBe(0);
    await expectRefused('signed with another key', { SECRET_KEY: next });
  });

  test('under another key for the logs', async () => {
    await useOnce();
    await expectRefused('signed with another key', { LOG_SIGNING_KEY: newKey() });
  });

  test('with a wrong password, user, database, host or port', async () => {
    const changed = (change: (url: URL) => void): Readonly<Record<string, string>> => {
      const url = new URL(database.url);
      change(url);
      return { DATABASE_URL: url.href };
    };
    for (const [words, change] of [['(3D000)', (url: URL) => (url.pathname = '/nowhere')]] as const)
      await expectRefused(words, changed(change));
    const wrong = changed((url) => (url.username = 'stranger'));
    expect(await requireRefused(await start(wrong))).toMatch(/^Cannot start: [^\n]*\((28P01|28000)\)[^\n]*\n$/);
  });

  test('on a server that is too old, whose clock is off, or that may lose commits', async () => {
    const name = new URL(database.url).pathname.slice(1);
    // Names before the built-in ones on the search path answer for the server.
    await runStatements(database.url, [
      `ALTER DATABASE ${name} SET search_path = public, pg_catalog`,
      `CREATE FUNCTION public.current_setting(text) RETURNS text LANGUAGE sql STABLE AS $$
         SELECT CASE $1 WHEN 'server_version_num' THEN '140012' WHEN 'server_version' THEN '14.12' ELSE pg_catalog.current_setting($1) END $$`,
    ]);
    await expectRefused('PostgreSQL 14.12 is too old');
    await runStatements(database.url, [
      'DROP FUNCTION public.current_setting(text)',
      `CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
         SELECT pg_catalog.clock_timestamp() + interval '10 seconds' $$`,
    ]);
    await expectRefused('s behind the database’s');
    await runStatements(database.url, [
      'DROP FUNCTION public.clock_timestamp()',
      `ALTER DATABASE ${name} SET synchronous_commit = off`,
    ]);
    await expectRefused('synchronous_commit is off');
  });

  test('on a database of another program', async () => {
    const { url } = await createDatabase();
    await runStatements(url, ['CREATE TABLE recipes (name text)']);
    expect(await requireRefused(await start({ DATABASE_URL: url }))).toContain('tables of another program');
    for (const words of [['accounts', 'list'], ['migrate'], ['migrate', '--check'], ['jobs', 'list']]) {
      const { code, stderr } = await cli(words, { DATABASE_URL: url });
      expect([code, stderr]).toEqual([1, expect.stringMatching(/^Refused: [^\n]*tables of another program[^\n]*\n$/)]);
    }
    const own =
      "SELECT schemaname || '.' || tablename AS name FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')";
    expect(await query(own, url)).toEqual([{ name: 'public.recipes' }]);
  });

  test.skipIf(!existsSync(PGBOUNCER) && process.env['REQUIRE_PGBOUNCER'] === undefined)(
    'through a pooler in transaction mode',
    async () => {
      const [port, url] = [await freePort(), new URL(database.url)];
      const file = path.join(folder, 'pgbouncer.ini');
      const begin = async () => {
        writeFileSync(
          file,
          `[databases]\n* = host=${url.hostname} port=${url.port} user=${url.username} password=${url.password}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\nmax_client_conn = 100\ndefault_pool_size = 40\nignore_startup_parameters = extra_float_digits,statement_timeout,lock_timeout,idle_in_transaction_session_timeout\n`,
          { mode: 0o644 },
        );
        const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
        const child = spawn(PGBOUNCER, [...user, file], { stdio: 'ignore' });
        await eventually(async () => {
          const client = new pg.Client({ connectionString: `postgres://x@127.0.0.1:${port}${url.pathname}` });
          return client.connect().then(
            () => client.end().then(() => true),
            () => undefined,
          );
        });
        return child;
      };
      const through = { DATABASE_URL: `postgres://x@127.0.0.1:${port}${url.pathname}` };
      const pooler = await begin();
      try {
        expect(await requireRefused(await start(through))).toMatch(/^Cannot start: [^\n]*transaction mode[^\n]*\n$/);
        expect((await cli(['migrate'], through)).stderr).toMatch(
          /^Refused: [^\n]*transaction mode[^\n]*Pause[^\n]*\n$/,
        );
      } finally {
        pooler.kill('SIGKILL');
        await once(pooler, 'exit');
      }
    },
  );
});

test('a port that is taken ends a first start in one line, and its database stops in silence', async () => {
  const [taken, dataDir] = [createServer().listen(0, '127.0.0.1'), path.join(folder, 'first')];
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const ended = await startProcess({ DATA_DIR: dataDir, PORT: String(port), LOG_LEVEL: 'info' });
  taken.close();
  expect(ended).toMatchObject({
    ...{ code: 1, stdout: 'Starting the embedded database …\n' },
    stderr: 'Cannot start: the port is already in use. Set PORT to another one.\n',
  });
});

test.each(['no-such-host.invalid', '192.0.2.1'])(
  'a HOST of %s, which is none of this machine, is named',
  async (host) => {
    expect(await requireRefused(await start({ HOST: host }))).toMatch(
      /^Cannot start: HOST is no address of this machine [^\n]+\n$/,
    );
    expect(await requireRefused(await start({ HOST: host, WEB_CONCURRENCY: '2' }))).toMatch(/: HOST is no address/);
  },
);

describe('settings', () => {
  test('that name a bad file of plans, or a port of metrics that is taken, end a start in one line', async () => {
    const file = path.join(folder, 'plans.json');
    for (const [content, reason] of [
      ['{', 'it is not JSON'],
      ['{"pro":{"votingEvents":-1}}', 'pro.votingEvents '],
      ['{"gold":{}}', 'gold'],
    ] as const) {
      writeFileSync(file, content);
      const line = await requireRefused(await start({ PLANS_FILE: file }));
      expect(line).toMatch(/^Cannot start: PLANS_FILE: [^\n]+\n$/);
      expect(line).toContain(reason);
    }
    expect(await requireRefused(await start({ PLANS_FILE: `${folder}/none` }))).toContain('cannot be used (ENOENT)');
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const line = await requireRefused(await start({ METRICS_PORT: String(port), HOST: '127.0.0.1' }));
    taken.close();
    expect(line).toMatch(new RegExp(`^Cannot start: METRICS_PORT: ${port} cannot be listened on [^\\n]+\\n$`));
  });

  test('that are none are named where they look like one, and other programs’ names never', async () => {
    const ordinary = [
      ...['PWD', 'HOSTNAME', 'PGPORT', 'LOGNAME', 'SITE_URL', 'REDIS_URL', 'HTTPS_PROXY', 'NODE_PATH', 'DATABASE_HOST'],
      ...['VOTING_SERVICE_HOST', 'VOTING_SERVICE_PORT', 'VOTING_PORT_3000_TCP_ADDR', 'MAILTO', 'LC_ALL', 'WORKDIR'],
    ];
    const meant = { WEB_CONCURENCY: 'WEB_CONCURRENCY', SMTP_URI: 'SMTP_URL', BALLOTS_KEY_DIR: 'BALLOT_KEYS_DIR' };
    const typed = Object.keys({ ...meant, METRICS_PATH: '', PROVIDER_A_URL: '' });
    const service = requireStarted(
      await start(Object.fromEntries([...ordinary, ...typed].map((name) => [name, 'a-value-of-it']))),
    );
    await service.stop();
    const notes = service.output().match(/^Note: .* is not a setting.*$/gm) ?? [];
    expect(notes.toSorted()).toEqual(
      [
        ...Object.entries(meant).map(
          ([name, right]) => `Note: ${name} is not a setting: ${right} is. See .env.example.`,
        ),
        'Note: METRICS_PATH is not a setting. See .env.example.',
        'Note: PROVIDER_A_URL is not a setting. See .env.example.',
      ].toSorted(),
    );
    expect(service.output()).not.toContain('a-value-of-it');
  });
});

describe('files that cannot be written', () => {
  test('end a start, and a command, in one line that names the file', async () => {
    const nowhere = { DATA_DIR: '/dev/null/data' };
    const line = await requireRefused(await start(nowhere));
    expect(line).toMatch(/^Cannot start: \/dev\/null\/data cannot be used: [^\n]*\(ENOTDIR\)[^\n]*DATA_DIR[^\n]*\n$/);
    const command = await cli(['log', 'signing-key', '--out', '/dev/null/key.txt']);
    expect(command).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^Refused: \/dev\/null\/key.txt [^\n]+\n$/),
    });
  });
});

describe('commands', () => {
  test('that read do not migrate; `migrate --check` says what is missing, and changes nothing', async () => {
    const empty = { DATABASE_URL: (await createDatabase()).url };
    const list = await cli(['accounts', 'list'], empty);
    expect([list.code, list.stderr]).toEqual([1, expect.stringContaining('the database is empty')]);
    const check = await cli(['migrate', '--check', '--json'], empty);
    expect(check.code).toBe(1);
    expect(JSON.parse(check.stdout).pending).toContain('0000_tables');
    expect((await cli(['accounts', 'list'], empty)).code).toBe(1);
    expect((await cli(['migrate'], empty)).code).toBe(0);
    const again = await cli(['migrate', '--check', '--json'], empty);
    expect([again.code, JSON.parse(again.stdout).pending]).toEqual([0, []]);
    expect((await cli(['accounts', 'list'], empty)).code).toBe(0);
  });

  test('print faults as one JSON value where a program reads them', async () => {
    for (const words of [
      ['accounts', 'list', '--json'],
      ['jobs', 'list', '--json'],
    ]) {
      const { code, stdout, stderr } = await cli(words, { SECRET_KEY: 'short' });
      expect([code, stderr]).toEqual([1, '']);
      expect(JSON.parse(stdout)).toEqual({ error: { message: expect.stringContaining('SECRET_KEY') } });
    }
    const usage = await cli(['accounts', 'create', '--json']);
    expect([usage.code, usage.stderr]).toEqual([2, '']);
    expect(JSON.parse(usage.stdout)).toEqual({ error: { message: expect.stringContaining('--name') } });
  });
});

describe('an address whose password has a sign that must be encoded', () => {
  const rest = 'voting:geheim#wort@127.0.0.1:5432/voting';
  test.each([
    ['SMTP_URL', `smtp://${rest}`],
    ['DATABASE_URL', `postgres://${rest}`],
    ['DATABASE_READ_URL', `postgres://${rest}`],
    ['DATABASE_CELLS', `b=postgres://${rest}`],
  ])(
    'is refused in one line that names %s, by the service and its commands, and never printed',
    async (name, value) => {
      expect(await requireRefused(await start({ [name]: value }))).toMatch(
        new RegExp(`^Cannot start: ${name} cannot be read as an address: [^\\n]+\\n$`),
      );
      const { stdout, stderr } = await cli(['doctor'], { [name]: value });
      expect(stdout + stderr).toMatch(new RegExp(`^${name} cannot be read as an address: [^\\n]+\\n$`));
      expect(stdout + stderr).not.toContain('geheim');
    },
  );

  test('is read where it is encoded, with several hosts and without one', () => {
    const own = { SECRET_KEY: KEY, SMTP_URL: 'smtps://a:b%23c@mail.example.org' };
    for (const url of ['postgres://a:b%23c@one:5432,two:5433/voting', 'postgres://a@/voting?host=/run/postgresql'])
      expect(readConfig({ ...own, DATABASE_URL: url }).databaseUrl).toBe(url);
  });
});

test.each([
  ['BASE_URL', 'https://vote.example.org/?a=b'],
  ['BASE_URL', 'https://user:pw@vote.example.org'],
  ['BASE_URL', 'https://vote.exam\nple.org'],
  ['API_DOC_URL', 'https://docs.example.org/\nx'],
  ['MAIL_FROM', 'no address at all'],
  ['MAIL_FROM', 'Club <no-reply>'],
  ['SMTP_URL', 'smtp://'],
  ['SECRET_KEY', `${'!'.repeat(20)}${newKey()}`],
  ['METRICS_PORT', '3000'],
])('%s that is %j is refused by its name', (name, value) => {
  const own = { SECRET_KEY: KEY, DATABASE_URL: 'postgres://a@/voting', BASE_URL: 'https://vote.example.org' };
  expect(() => readConfig({ ...own, [name]: value })).toThrow(name);
});

test('a setting of blanks is none, and blanks around one are not part of it', () => {
  const { dataDir, host, companyName } = readConfig({});
  const blank = readConfig({ DATA_DIR: ' ', HOST: '\t', COMPANY_NAME: '  ', BASE_URL: ' https://vote.example.org ' });
  expect(blank).toMatchObject({ dataDir, host, companyName, baseUrl: 'https://vote.example.org' });
});

describe('the logs', () => {
  test('keep name and key when BASE_URL and SECRET_KEY change', async () => {
    const keyOf = async (changes: Readonly<Record<string, string>>) => {
      const service = requireStarted(await start(changes));
      const text = await (await fetch(`http://127.0.0.1:${service.port}/.well-known/voting-log-key`)).text();
      await service.stop();
      return { text, output: service.output() };
    };
    const first = await keyOf({});
    expect(first.text).toMatch(/^vote\.example\.org\+/);
    const moved = await keyOf({ BASE_URL: 'https://elections.example.org' });
    expect(moved.text).toBe(first.text);
    expect(moved.output).toContain('the ballot logs keep their name vote.example.org');
    const next = newKey();
    expect((await keyOf({ SECRET_KEY: `${next},${KEY}` })).text).toBe(first.text);
    const file = path.join(folder, 'log-signing-key.txt');
    const out = await cli(['log', 'signing-key', '--out', file], { SECRET_KEY: `${next},${KEY}` });
    expect(out.code).toBe(0);
    const written = readFileSync(file, 'utf8').trim();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(out.stdout + out.stderr).not.toContain(written);
    expect((await keyOf({ SECRET_KEY: next, LOG_SIGNING_KEY: written })).text).toBe(first.text);
    // A key that was lost is replaced by a deliberate act, under the same name.
    const other = newKey();
    expect((await cli(['log', 'adopt-key'], { SECRET_KEY: next, LOG_SIGNING_KEY: other })).code).toBe(0);
    const adopted = (await keyOf({ SECRET_KEY: next, LOG_SIGNING_KEY: other })).text;
    expect(adopted).toMatch(/^vote\.example\.org\+/);
    expect(adopted).not.toBe(first.text);
  });
});
