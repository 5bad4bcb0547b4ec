import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { askRaw, readToken, watchConsole } from '#test/harness/console.ts';
import { programFile } from '#test/harness/programs.ts';
import { freePort } from '#test/harness/started-service.ts';
import { eventually, untilTrue } from '#test/harness/test-service.ts';

const run = promisify(execFile);
/** As a checkout starts; the other tests start a bundle of it. */
const SOURCES = path.resolve(import.meta.dirname, '../../src/main.ts');

/** The folder of a service that has made its database and demo, and ended: its first start takes four times as long as a later one. */
let usedDir: string;
let dataDir: string;
let children: ChildProcess[];

function makeFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'voting-service-process-'));
  // A folder that only root enters would send the database elsewhere, where nobody tidies up.
  chmodSync(folder, 0o755);
  return folder;
}
const useUsedFolder = (): void => void execFileSync('cp', ['-a', `${usedDir}/.`, dataDir]);

async function endChildren(): Promise<void> {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGTERM');
    await exitOf(child);
  }
}

beforeAll(async () => {
  [usedDir, children] = [makeFolder(), []];
  dataDir = usedDir;
  await linesToPaste(await startUp());
  await endChildren();
});
afterAll(() => rmSync(usedDir, { recursive: true, force: true }));
beforeEach(() => {
  [dataDir, children] = [makeFolder(), []];
});
afterEach(async () => {
  await endChildren();
  rmSync(dataDir, { recursive: true, force: true });
});

interface Started {
  readonly child: ChildProcess;
  readonly port: number;
  output(): string;
}

/** Starts the service as a newcomer does: nothing configured but where its data and port are. @param program its file */
async function start(
  settings: Record<string, string> = {},
  program: string = programFile('src/main.ts'),
): Promise<Started> {
  const port = await freePort();
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(process.execPath, [program], {
    cwd: tmpdir(),
    env: { PATH, HOME, DATA_DIR: dataDir, PORT: String(port), LOG_LEVEL: 'error', ...settings },
  });
  children.push(child);
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
  return { child, port, output: () => text };
}

const isUp = ({ port }: Started) =>
  eventually(() =>
    fetch(`http://127.0.0.1:${port}/health`).then(
      (answer) => (answer.ok ? true : undefined),
      () => undefined,
    ),
  );

async function startUp(...how: Parameters<typeof start>): Promise<Started> {
  const started = await start(...how);
  await isUp(started);
  return started;
}

function exitOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((resolve) => child.once('exit', (code) => resolve(code)));
}

const linesToPaste = (started: Started): Promise<string> =>
  eventually(() => (started.output().includes('Stop: Ctrl-C') ? started.output() : undefined));

async function cli(...words: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const { PATH = '', HOME = '' } = process.env;
  try {
    const done = await run(process.execPath, [programFile('src/cli.ts'), ...words], {
      env: { PATH, HOME, DATA_DIR: dataDir },
    });
    return { code: 0, ...done };
  } catch (fault) {
    const { code, stdout, stderr } = fault as { code: number; stdout: string; stderr: string };
    return { code, stdout, stderr };
  }
}

describe('the service as a process', () => {
  test('starts with nothing configured, and the lines it prints vote in an election and pay for a vote in a poll when pasted', async () => {
    const started = await startUp({}, SOURCES);
    const printed = await linesToPaste(started);
    const script = printed
      .split('\n')
      .filter((line) => /^(export|curl|sleep|CODE=|PAY=)/.test(line))
      .join('\n');
    const { stdout } = await run('bash', ['-euc', script]);
    expect(stdout.match(/"confirmedCount":/g)).toHaveLength(2);
    expect(stdout.match(/"ballots":1,"abstentions"/g)?.length).toBeGreaterThanOrEqual(2);
    expect(readdirSync(path.join(dataDir, 'mail'))).toHaveLength(1);
    expect(printed).not.toMatch(/"msg":"a request failed"/);
    const address = `http://127.0.0.1:${started.port}/console`;
    expect(printed).toContain(address);
    const watch = await watchConsole(started.port);
    await watch.until(({ mails, payments, results }) =>
      mails.length === 1 && payments?.[0]?.status === 'paid' && results.length === 2 ? true : undefined,
    );
    watch.stop();
  });

  test('keeps what was confirmed through kill -9, and starts again', async () => {
    useUsedFolder();
    const first = await startUp();
    const printed = await linesToPaste(first);
    // The poll's lines are the last of each kind.
    const lines = printed.split('\n');
    const poll = [/^export/, /^PAY=/, /outcome=pay/, /^CODE=/, /ballot\/confirm/].map((kind) =>
      lines.findLast((line) => kind.test(line)),
    );
    await run('bash', ['-euc', poll.join('\n')]);
    first.child.kill('SIGKILL');
    await exitOf(first.child);
    const second = await startUp();
    const again = await linesToPaste(second);
    const results = again.split('\n').findLast((line) => line.includes('/results')) ?? '';
    const keys = again.split('\n').find((line) => line.startsWith('export')) ?? '';
    const { stdout } = await run('bash', ['-euc', `${keys}\n${results}`]);
    expect(JSON.parse(stdout).data.stats.ballots).toBe(1);
  });

  test('says in one line that it already runs from a folder, and leaves the first alone', async () => {
    useUsedFolder();
    const first = await startUp();
    const second = await start();
    expect(await exitOf(second.child)).toBe(1);
    const lines = second
      .output()
      .split('\n')
      .filter((line) => line.startsWith('Cannot start'));
    expect(lines).toHaveLength(1);
    expect((await fetch(`http://127.0.0.1:${first.port}/health`)).status).toBe(200);
  });

  test('serves with several processes on one port, and replaces one that is killed', async () => {
    useUsedFolder();
    const metricsPort = await freePort();
    const started = await startUp({ WEB_CONCURRENCY: '2', METRICS_PORT: String(metricsPort) }, SOURCES);
    await linesToPaste(started);
    // Whichever process a page of the console is served by, it shows what all of them did.
    const ids = Array.from({ length: 8 }, (_, number) => `asked-${number}`);
    for (const id of ids)
      await askRaw(started.port, '/no-such-address', { headers: { 'X-Request-Id': id, Connection: 'close' } });
    const showsAll = async (): Promise<void> => {
      const watches = await Promise.all(ids.map(() => watchConsole(started.port)));
      for (const watch of watches) {
        await watch.until(({ requests }) =>
          ids.every((id) => requests.filter(({ requestId }) => requestId === id).length === 1) ? true : undefined,
        );
        watch.stop();
      }
      expect(new Set(await Promise.all(ids.map(() => readToken(started.port)))).size).toBe(1);
    };
    await showsAll();
    const { stdout } = await run('pgrep', ['-P', String(started.child.pid), '-f', 'main.ts']);
    const [one = ''] = stdout.trim().split('\n');
    process.kill(Number(one), 'SIGKILL');
    for (let index = 0; index < 20; index += 1) {
      const asked = { signal: AbortSignal.timeout(20_000) };
      const answer = await fetch(`http://127.0.0.1:${started.port}/health`, asked).catch((fault: Error) => {
        // A connection that the dead process held may break, but none is left without an end; the service itself never stops.
        expect(fault.name).not.toBe('TimeoutError');
        return undefined;
      });
      if (answer !== undefined) expect(answer.status).toBe(200);
    }
    await untilTrue(async () => {
      const { stdout: now } = await run('pgrep', ['-P', String(started.child.pid), '-f', 'main.ts']);
      const pids = now.trim().split('\n');
      return pids.length === 2 && !pids.includes(one);
    }, 20_000);
    // A process that is still starting cannot tell its figures.
    const counted = /voting_http_request_duration_seconds_count\{method="GET",route="\/health",status="200"\} \d+/;
    await untilTrue(async () => {
      const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
      return counted.test(metrics);
    });
    expect(await fetch(`http://127.0.0.1:${started.port}/metrics`).then(({ status }) => status)).toBe(404);
    // The one that is new was given what came before it.
    await showsAll();
    started.child.kill('SIGTERM');
    expect(await exitOf(started.child)).toBe(0);
  });

  test('with several processes, refuses a port that somebody else would share', async () => {
    useUsedFolder();
    const port = await freePort();
    const other = createServer().listen({ port, host: '127.0.0.1', reusePort: true });
    await once(other, 'listening');
    const started = await start({ WEB_CONCURRENCY: '2', HOST: '127.0.0.1', PORT: String(port) });
    expect(await exitOf(started.child)).toBe(1);
    expect(started.output()).toContain('Cannot start: the port is already in use.');
    other.close();
  });

  test('stops on SIGTERM with status 0, and names a bad setting in one line with status 1', async () => {
    useUsedFolder();
    const started = await startUp();
    started.child.kill('SIGTERM');
    // A balancer learns of it, while other requests are answered as before.
    const [health, other] = await eventually(async () => {
      const answers = await Promise.all(
        ['health', ''].map((path) => fetch(`http://127.0.0.1:${started.port}/${path}`)),
      );
      return answers[0]?.status === 503 ? answers : undefined;
    });
    expect([health?.status, other?.status, other?.headers.get('connection')]).toEqual([503, 200, 'close']);
    expect(await exitOf(started.child)).toBe(0);
    const wrong = await start({ PORT: 'eighty' });
    expect(await exitOf(wrong.child)).toBe(1);
    expect(wrong.output().trim()).toBe('Cannot start: PORT must be a port number');
  });

  test('has commands that work while it does not run and while it runs; a revoked key is refused at once', async () => {
    const account = await cli('accounts', 'create', '--name', 'Club', '--json');
    expect(JSON.parse(account.stdout)).toEqual({ id: expect.stringMatching(/^acc_/), name: 'Club', plan: 'pro' });
    const started = await startUp();
    const { id } = JSON.parse(account.stdout);
    const made = await cli('keys', 'create', '--account', id, '--name', 'server', '--scopes', 'read,write', '--json');
    const key = JSON.parse(made.stdout);
    expect(key).toEqual({
      id: expect.stringMatching(/^key_/),
      name: 'server',
      scopes: ['read', 'write'],
      key: expect.stringMatching(/^vsk_/),
    });
    const me = () => fetch(`http://127.0.0.1:${started.port}/me`, { headers: { Authorization: `Bearer ${key.key}` } });
    expect((await me()).status).toBe(200);
    expect((await cli('keys', 'revoke', key.id)).code).toBe(0);
    expect(await eventually(async () => ((await me()).status === 401 ? 401 : undefined), 2_000)).toBe(401);
    expect((await cli('keys', 'create', '--account', 'acc_none', '--name', 'x', '--scopes', 'vote')).code).toBe(1);
    expect((await cli('accounts', 'create')).code).toBe(2);
  });
});
