import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { request as sendRequest } from 'node:http';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { createTestEvent, visitor, votesFor } from '#test/harness/elections.ts';
import { ask, startRealProcesses } from '#test/harness/real-processes.ts';
import { freePort, startProcess } from '#test/harness/started-service.ts';
import { eventually, untilTrue } from '#test/harness/test-service.ts';
import { use } from '#test/harness/use.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const real = await use(startRealProcesses());

describe('a process that is told to stop', () => {
  test('says so at /health at once, answers what still comes, then refuses connections and ends with 0', async () => {
    const one = await real.start();
    const stopped = one.stop();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await ask(one.port, 'GET', '/health')).status).toBe(503);
    const answer = await ask(one.port, 'GET', '/me', { key: real.account.read });
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
    expect(await stopped).toBe(0);
    await expect(ask(one.port, 'GET', '/health')).rejects.toThrow();
  });

  test('finishes what is under way, where a supervisor signals each of several processes on one port', async () => {
    const one = await real.start({ WEB_CONCURRENCY: '2' });
    const workers = execFileSync('pgrep', ['-P', String(one.child.pid)], { encoding: 'utf8' })
      .trim()
      .split('\n');
    const body = JSON.stringify({ title: 'Begun before the signal', type: 'poll' });
    const request = sendRequest({
      ...{ port: one.port, host: '127.0.0.1', method: 'POST', path: '/voting-events' },
      headers: {
        ...{ Authorization: `Bearer ${real.account.write}`, 'Content-Type': 'application/json' },
        ...{ 'Content-Length': body.length, Expect: '100-continue' },
      },
    });
    const answered = once(request, 'response');
    request.flushHeaders();
    await once(request, 'continue');
    // A process that has nothing under way may be gone by the second time.
    const signal = (...pids: readonly string[]) => spawnSync('kill', ['-TERM', ...pids]);
    signal(...workers);
    await untilTrue(() =>
      ask(one.port, 'GET', '/health').then(
        () => false,
        () => true,
      ),
    );
    // Each has heard one by now, and gets another.
    signal(String(one.child.pid), ...workers);
    request.end(body);
    expect((await answered)[0].statusCode).toBe(201);
    expect((await one.ended).code).toBe(0);
  });

  const shared = () => ({
    ...{ DATABASE_URL: real.databaseUrl, SECRET_KEY: real.secretKey, DATA_DIR: real.folder, WORKER: 'off' },
    ...{ BASE_URL: 'https://vote.example.org', BALLOT_KEYS_DIR: path.join(real.folder, 'ballot-keys') },
  });

  test.each([
    ['its other processes', 'node', 2, () => ({ ...shared(), WEB_CONCURRENCY: '2' })],
    ['initdb', 'initdb', 1, () => ({ DATA_DIR: path.join(real.folder, 'first-start') })],
  ])(
    'while it starts ends with 0 and without a word, where the signal also ends %s',
    async (_, name, count, settings) => {
      const begun = Promise.withResolvers<ChildProcess>();
      const started = startProcess({ ...settings(), HOST: '127.0.0.1' }, ROOT, begun.resolve);
      const { pid = 0 } = await begun.promise;
      const listOthers = (): number[] => {
        const { stdout } = spawnSync('pgrep', ['-f', name, '-P', String(pid)], { encoding: 'utf8' });
        return stdout.split('\n').filter(Boolean).map(Number);
      };
      await untilTrue(() => listOthers().length === count);
      for (const each of [...listOthers(), pid]) process.kill(each, 'SIGINT');
      const one = await started;
      expect(await ('ended' in one ? one.ended : one)).toMatchObject({ code: 0, stderr: '' });
    },
  );

  test('while it starts ends in time, though it waits for the migration of another one', async () => {
    const lock = await real.inside.connect();
    try {
      await lock.query('SELECT pg_advisory_lock(7316002)');
      const waits = Promise.withResolvers<ChildProcess>();
      const started = startProcess(shared(), ROOT, (child) =>
        child.stdout?.on('data', (text) => String(text).includes('is migrating') && waits.resolve(child)),
      );
      (await waits.promise).kill('SIGTERM');
      expect(await started).toMatchObject({ code: 1, stderr: expect.stringContaining('did not stop in time') });
    } finally {
      lock.release(true);
    }
  });
});

describe('after kill -9', () => {
  test('a request is repeated with its Idempotency-Key as soon as its process counts as dead, whatever was under way', async () => {
    const other = await real.start();
    const event = await createTestEvent(real.inside, real.account);
    const votes = votesFor(event);
    const listProcesses = async (): Promise<string[]> =>
      (await real.inside.query<{ id: string }>("SELECT encode(id, 'hex') AS id FROM service_processes")).map(
        ({ id }) => id,
      );
    for (let round = 0; round < 4; round += 1) {
      const before = await listProcesses();
      const killed = await real.start();
      const [killedId] = (await listProcesses()).filter((id) => !before.includes(id));
      const isAlive = async (): Promise<boolean> =>
        (
          await real.inside.query(
            "SELECT seen_at > now_ms() - 2000 AS is FROM service_processes WHERE id = decode($1, 'hex')",
            [killedId],
          )
        )[0].is;
      const codes = await Promise.all(
        Array.from({ length: 5 }, async () => {
          const target = `/public/voting-events/${event.id}/ballot/cast`;
          const body = { visitorId: visitor(), votes };
          const cast = await ask(other.port, 'POST', target, { key: real.account.vote, body });
          return ((await cast.json()) as { data: { confirmationCode: string } }).data.confirmationCode;
        }),
      );
      // Held in the middle of their work: all that want the event or a plan's row wait for this one.
      const blocker = await real.inside.deps.db.$client.connect();
      await blocker.query('BEGIN');
      await blocker.query('SELECT 1 FROM voting_events WHERE id = $1 FOR UPDATE', [event.id]);
      const calls = [
        ...codes.map(
          (confirmationCode) =>
            [`/public/voting-events/${event.id}/ballot/confirm`, { confirmationCode }, real.account.vote] as const,
        ),
        [`/voting-events/${event.id}/voters`, { name: 'V', voterId: visitor() }, real.account.write] as const,
        [`/voting-events/${event.id}/groups`, { name: `G ${round}` }, real.account.write] as const,
      ].map(([target, body, key]) => ({ target, options: { body, key, headers: { 'Idempotency-Key': visitor() } } }));
      const first = calls.map(({ target, options }) =>
        ask(killed.port, 'POST', target, options).catch(() => undefined),
      );
      await new Promise((resolve) => setTimeout(resolve, 400));
      killed.child.kill('SIGKILL');
      await blocker.query('COMMIT');
      blocker.release();
      await Promise.all(first);
      await Promise.all(
        calls.map(({ target, options }) =>
          eventually(async () => {
            const wasAlive = await isAlive();
            const answer = await ask(other.port, 'POST', target, options);
            await answer.arrayBuffer();
            if (answer.status >= 500) return undefined;
            if (answer.status === 409 && wasAlive) return undefined;
            expect(answer.status).toBeLessThan(300);
            return true;
          }),
        ),
      );
    }
    expect(await other.stop()).toBe(0);
  });
});

describe('`npm start`', () => {
  const isUp = (port: number): Promise<boolean> =>
    ask(port, 'GET', '/health').then(
      ({ status }) => status === 200,
      () => false,
    );

  test('leaves no process behind when what it started is told to stop', async () => {
    const port = await freePort();
    const { PATH = '', HOME = '' } = process.env;
    const npm: ChildProcess = spawn('npm', ['start', '--silent'], {
      cwd: ROOT,
      env: {
        ...{ PATH, HOME, DATABASE_URL: real.databaseUrl, SECRET_KEY: real.secretKey, DATA_DIR: real.folder },
        ...{ PORT: String(port) },
        ...{ BASE_URL: 'https://vote.example.org', WORKER: 'off', LOG_LEVEL: 'error', HOST: '127.0.0.1' },
      },
      stdio: 'ignore',
    });
    const ended = once(npm, 'exit');
    await untilTrue(() => isUp(port));
    npm.kill('SIGTERM');
    await ended;
    // The service ends its connections first; then nothing holds the port.
    await untilTrue(async () => {
      const answer = await ask(port, 'GET', '/health').catch(() => undefined);
      return answer === undefined;
    }, 15_000);
    expect(npm.exitCode === 0 || npm.signalCode === 'SIGTERM').toBe(true);
  });
});
