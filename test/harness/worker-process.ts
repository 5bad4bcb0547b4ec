import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { programFile } from './programs.ts';
import { freePort, QUICK_START } from './started-service.ts';
import { eventually, markPlaces, type TestService } from './test-service.ts';

export type WorkerProcess = Awaited<ReturnType<typeof startWorkerProcess>>;

/** What its connections are called, so that a test can break them off and leave its own alone. */
export const WORKER_CONNECTIONS = 'voting-service worker-under-test';

/**
 * Starts the service as a process that runs jobs, on a test's database.
 * @param settings more of its settings; a DATA_DIR of its own unless one is named, whose places are marked already then
 * @param root the checkout to run, this one unless said otherwise
 */
export async function startWorkerProcess(
  service: TestService,
  settings: Readonly<Record<string, string>> = {},
  root?: string,
) {
  const given = settings['DATA_DIR'];
  const dataDir = given ?? mkdtempSync(path.join(tmpdir(), 'voting-service-worker-'));
  if (given === undefined) await markPlaces(service.databaseUrl, { ...service.deps.config, dataDir });
  const [port, metricsPort] = [Number(settings['PORT'] ?? (await freePort())), await freePort()];
  const { PATH = '', HOME = '' } = process.env;
  const database = new URL(service.databaseUrl);
  database.searchParams.set('application_name', WORKER_CONNECTIONS);
  const child = spawn(process.execPath, [...QUICK_START, programFile('test/faults/worker-program.ts', root)], {
    cwd: tmpdir(),
    env: {
      PATH,
      HOME,
      DATABASE_URL: database.href,
      SECRET_KEY: service.secretKey,
      DATA_DIR: dataDir,
      BALLOT_KEYS_DIR: service.deps.config.ballotKeysDir ?? '',
      PORT: String(port),
      METRICS_PORT: String(metricsPort),
      HOST: '127.0.0.1',
      EMAIL_DOMAIN_CHECK: 'off',
      LOG_LEVEL: 'info',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let log = '';
  const keep = (chunk: Buffer): void => {
    log += chunk.toString();
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  const exited = once(child, 'exit').then(() => child.exitCode);
  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await exited;
    if (given === undefined) rmSync(dataDir, { recursive: true, force: true });
    return child.exitCode;
  };
  const health = async (): Promise<string | undefined> => {
    try {
      const answer = await fetch(`http://127.0.0.1:${port}/health`, { signal: AbortSignal.timeout(5_000) });
      const body = (await answer.json()) as { data: { checks: { worker: string } } };
      return body.data.checks.worker;
    } catch {
      return undefined;
    }
  };
  await eventually(async () => (child.exitCode === null ? await health() : 'ended'), 60_000);
  return {
    ...{ child, port },
    /** How it ended. */
    exited,
    /** Lines of its log. */
    log: () => log,
    /** What `/health` says of its jobs; undefined while it does not answer. */
    health,
    metrics: async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text(),
    /** Asks it to stop. @returns its exit status, and after how long it came */
    async stop() {
      const from = performance.now();
      return { code: await end('SIGTERM'), ms: performance.now() - from };
    },
    async kill(): Promise<void> {
      await end('SIGKILL');
    },
    /** How much of each limited thing its requests hold, and how many connections to the database are in use. */
    async held(): Promise<Readonly<Record<string, number>>> {
      const answered = once(child, 'message');
      child.send('held');
      const [held] = await answered;
      return held;
    },
  };
}
