import { randomBytes } from 'node:crypto';
import { chmodSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { startEmbeddedDatabase } from '#src/embedded-postgres/embedded-database.ts';
import { withClient } from '#test/harness/empty-database.ts';
import { ask } from '#test/harness/real-processes.ts';
import { freePort, requireRefused, requireStarted, runCommand, startProcess } from '#test/harness/started-service.ts';
import { runStatements, withDatabase } from '#test/harness/test-database.ts';
import { eventually, untilTrue } from '#test/harness/test-service.ts';

const folder = await mkdtemp(path.join(tmpdir(), 'voting-cells-'));
chmodSync(folder, 0o755);
const server = await startEmbeddedDatabase({ dataDir: path.join(folder, 'server') });
const names = ['voting', 'voting_b', 'voting_c', 'elsewhere'] as const;
await runStatements(
  server.url,
  names.map((name) => `CREATE DATABASE ${name}`),
);
const [main = '', b = '', c = '', elsewhere = ''] = names.map((name) => withDatabase(server.url, name));
const secretKey = randomBytes(32).toString('base64');
const base = { SECRET_KEY: secretKey, HOST: '127.0.0.1', EMAIL_DOMAIN_CHECK: 'off' };
const settings = {
  ...base,
  ...{ DATABASE_URL: main, DATABASE_CELLS: `b=${b}`, DATA_DIR: path.join(folder, 'data') },
  BALLOT_KEYS_DIR: path.join(folder, 'ballot-keys'),
  BASE_URL: 'https://vote.example.org',
};
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const cli = async (words: string, more: Readonly<Record<string, string>> = {}) => {
  const ended = await runCommand([...words.split(' '), '--json'], { ...settings, ...more });
  const value = ended.stdout === '' ? undefined : JSON.parse(ended.stdout);
  return { ...ended, value };
};

/** What the service answers while it moves an account is asked for again. */
async function patiently(work: () => Promise<Response>): Promise<Response> {
  for (;;) {
    const answer = await work();
    if (answer.status !== 500 || answer.headers.get('Retry-After') === null) return answer;
    await delay(200);
  }
}

describe('a service with two cells, in two processes', async () => {
  const service = requireStarted(await startProcess({ ...settings, WEB_CONCURRENCY: '2' }));
  afterAll(() => service.stop());
  const account = (await cli('accounts create --name Club --plan enterprise --cell b')).value;
  const key = (await cli(`keys create --account ${account.id} --name server --scopes read,write`)).value.key;
  const vote = (await cli(`keys create --account ${account.id} --name page --scopes vote`)).value.key;
  const call = (method: string, target: string, body?: unknown, own: string = key) =>
    patiently(() => ask(service.port, method, target, { key: own, ...(body === undefined ? {} : { body }) }));
  const dataOf = async (answer: Response) =>
    ((await answer.json()) as { data: { id: string } & Record<string, unknown> }).data;
  const event = await dataOf(await call('POST', '/voting-events', { title: 'Moved', type: 'poll' }));
  const position = await dataOf(
    await call('POST', `/voting-events/${event.id}/positions`, { title: 'One', votingMethod: 'plurality' }),
  );
  const candidate = await dataOf(
    await call('POST', `/voting-events/${event.id}/candidates`, { name: 'Ada', positionIds: [position.id] }),
  );
  await call('PATCH', `/voting-events/${event.id}`, { status: 'open' });

  test('an account is created, found and shown in the cell that the operator names', async () => {
    const { value, code } = await cli('cells status');
    expect(code).toBe(0);
    expect(value).toMatchObject([
      { cell: 'main', state: 'served', schema: 1, accounts: 0, events: 0, notes: [] },
      { cell: 'b', state: 'served', schema: 1, accounts: 1, events: 1, open: 1, notes: [] },
    ]);
    expect((await cli('accounts list')).value).toMatchObject([{ id: account.id, cell: 'b' }]);
    const keys = (await cli(`keys list --account ${account.id}`)).value;
    expect((await cli(`keys list --account=${account.id}`)).value).toEqual(keys);
    expect(keys).toHaveLength(2);
    expect((await cli(`recount --event ${String(event['code'])}`)).code).toBe(0);
    const doctor = (await cli('doctor')).value as { name: string; status: string }[];
    expect(doctor.find(({ name }) => name === 'cell b')?.status).not.toBe('failed');
    expect((await cli('accounts list --cell x')).stdout).toContain('DATABASE_CELLS names no cell x');
  });

  test('a move that is killed at any moment goes on, and no vote is lost or doubled', async () => {
    let confirmed = 0;
    let going = true;
    const vote1 = async (): Promise<void> => {
      while (going) {
        const visitorId = `vi_${randomBytes(16).toString('hex')}`;
        const votes = [{ positionId: position.id, candidateId: candidate.id }];
        const target = `/public/voting-events/${event.id}/ballot`;
        const send = (at: string, body: unknown) =>
          patiently(() =>
            ask(service.port, 'POST', `${target}/${at}`, {
              key: vote,
              body,
              headers: { 'Idempotency-Key': `${at}-${visitorId}` },
            }),
          );
        const cast = await send('cast', { visitorId, votes });
        const { confirmationCode } = await dataOf(cast);
        const done = await send('confirm', { confirmationCode });
        if (done.status !== 200) throw new Error(await done.text());
        confirmed += 1;
      }
    };
    const voters = [vote1(), vote1(), vote1(), vote1()];
    const cells = ['main', 'b'];
    for (let round = 0; round < 6; round += 1) {
      const to = cells[round % 2] ?? '';
      await runCommand(['cells', 'move-account', account.id, '--to', to], settings, undefined, (child) => {
        setTimeout(() => child.kill('SIGKILL'), 900 + round * 150);
      });
      const again = await eventually(async () => {
        const ended = await cli(`cells move-account ${account.id} --to ${to}`);
        // The database may not have noticed yet that the killed command is gone.
        return ended.code === 0 ? ended.value : undefined;
      });
      expect(again.to).toBe(to);
      const { value } = await cli('cells status');
      const holders = (value as { cell: string; accounts: number; notes: string[] }[]).filter(
        ({ accounts }) => accounts > 0,
      );
      expect(holders.map(({ cell }) => cell)).toEqual([to]);
    }
    going = false;
    await Promise.all(voters);
    const stats = await dataOf(await call('GET', `/voting-events/${event.id}/stats`));
    expect(stats['ballots']).toMatchObject({ confirmed });
    expect(confirmed).toBeGreaterThan(20);
  });

  test('a cell is drained: its accounts go to another one', async () => {
    const more = (await cli('accounts create --name Other --plan pro --cell b')).value;
    // A cell that is down may have a later state of an account, as after a restore: it must answer, or be left out.
    const down = await cli('cells drain b', { DATABASE_CELLS: `b=${b},c=${c.replace(/:\d+\//, ':1/')}` });
    expect([down.code, JSON.stringify(down.value)]).toEqual([1, expect.stringContaining('cell c does not answer')]);
    const { value, code } = await cli('cells drain b', { DATABASE_CELLS: `b=${b}` });
    expect([code, value]).toEqual([0, { cell: 'b', moved: expect.any(Number), refused: [] }]);
    expect((await cli('accounts list')).value).toMatchObject([{ cell: 'main' }, { cell: 'main' }]);
    const gone =
      'SELECT (SELECT count(*) FROM accounts) + (SELECT count(*) FROM voting_events) + (SELECT count(*) FROM audit_entries) AS left';
    const { rows } = await withClient(b, (client) => client.query(gone));
    expect([rows[0].left, more.id]).toEqual(['0', expect.stringMatching(/^acc_/)]);
    expect((await call('GET', `/voting-events/${event.id}`)).status).toBe(200);
  });

  test('an event is moved by its code, with its whole account', async () => {
    const { code } = await dataOf(await call('GET', `/voting-events/${event.id}`));
    const { value } = await cli(`cells move-event --event ${code} --to b`);
    expect(value).toMatchObject({ account: account.id, from: 'main', to: 'b' });
    expect((await call('GET', `/voting-events/${code}`)).status).toBe(200);
    expect((await cli('cells move-event --event XXXXXX99 --to b')).code).not.toBe(0);
  });
});

describe('a start with a cell', () => {
  test('that was made for another service is refused in one line with the cure', async () => {
    const other = requireStarted(
      await startProcess({ ...base, DATABASE_URL: elsewhere, DATA_DIR: path.join(folder, 'other') }),
    );
    await other.stop();
    // The first start on an empty database stores its identity; a database with an event keeps the stored one.
    const line = await requireRefused(await startProcess({ ...settings, DATABASE_CELLS: `b=${b},x=${elsewhere}` }));
    expect(line.trim()).toMatch(/^Cannot start: cell x: the database of cell x was made for another service\. [^\n]+$/);
  });

  test('that has the database of another one is refused, however the address is written', async () => {
    const same = (url: string): string => `${url}?application_name=another`;
    for (const [cells, twins] of [
      [`b=${same(main)}`, 'the database of cell b is that of cell main'],
      [`b=${b},c=${same(b)}`, 'the database of cell c is that of cell b'],
    ] as const) {
      const line = await requireRefused(await startProcess({ ...settings, DATABASE_CELLS: cells }));
      expect(line.trim()).toMatch(new RegExp(`^Cannot start: cell [bc]: ${twins}, [^\\n]+$`));
    }
  });

  test('that is down serves the others, and begins it when it answers', async () => {
    const port = await freePort();
    const down = new URL(c);
    await runStatements(server.url, ['ALTER DATABASE voting_c WITH ALLOW_CONNECTIONS false']);
    const service = requireStarted(
      await startProcess({ ...settings, DATABASE_CELLS: `b=${b},c=${down.href}`, PORT: String(port) }),
    );
    expect((await ask(port, 'GET', '/health')).status).toBe(200);
    expect(service.output()).toContain('cell c');
    await runStatements(server.url, ['ALTER DATABASE voting_c WITH ALLOW_CONNECTIONS true']);
    const more = { DATABASE_CELLS: `b=${b},c=${c}` };
    expect((await cli('migrate --cell c', more)).code).toBe(0);
    await untilTrue(async () => (await cli('cells status', more)).code === 0);
    const account = (await cli('accounts create --name Late --plan pro --cell c', more)).value;
    const { key } = (await cli(`keys create --account ${account.id} --name k --scopes read`, more)).value;
    await untilTrue(async () => (await ask(port, 'GET', '/me', { key })).status === 200);
    await service.stop();
  });
});
