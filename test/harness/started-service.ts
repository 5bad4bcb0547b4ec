import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { programFile } from './programs.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Settings of a program, and nothing else of this environment but what a program needs to run at all. */
export type Settings = Readonly<Record<string, string>>;

/** Words that let a program of the tests load as fast as the service's own do. */
export const QUICK_START: readonly string[] = ['--import', programFile('src/platform/quick-start.ts')];

/** Below the range from which the system picks ports for connections, which could take the port before its server starts. */
const OWN_PORTS = [12_000, 32_000] as const;

/** A port that was free a moment ago. Drawn at random: another test draws the same one only by chance. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 50; tries += 1) {
    const probe = createServer();
    const port = randomInt(...OWN_PORTS);
    const isFree = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false));
      probe.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    probe.close();
    await once(probe, 'close');
    return port;
  }
  throw new Error('no port');
}

function spawnProgram(file: string, words: readonly string[], settings: Settings, root: string): ChildProcess {
  const { PATH = '', HOME = '' } = process.env;
  return spawn(process.execPath, [programFile(file, root), ...words], {
    cwd: tmpdir(),
    env: { PATH, HOME, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

function collect(child: ChildProcess): { readonly stdout: () => string; readonly stderr: () => string } {
  const [out, err]: [string[], string[]] = [[], []];
  child.stdout?.on('data', (chunk: Buffer) => out.push(chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => err.push(chunk.toString()));
  return { stdout: () => out.join(''), stderr: () => err.join('') };
}

/**
 * Runs a command of the operator to its end.
 * @param root the checkout to run, this one unless said otherwise
 * @param onStart is given the process
 */
export async function runCommand(
  words: readonly string[],
  settings: Settings,
  root: string = ROOT,
  onStart: (child: ChildProcess) => void = () => undefined,
): Promise<Ended> {
  const child = spawnProgram('src/cli.ts', words, settings, root);
  onStart(child);
  const { stdout, stderr } = collect(child);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout: stdout(), stderr: stderr() };
}

export interface StartedService {
  readonly port: number;
  readonly child: ChildProcess;
  output(): string;
  /** SIGTERM, then its exit status. */
  stop(): Promise<number | null>;
  /** How it ends by itself. */
  readonly ended: Promise<Ended>;
}

/**
 * Starts the service as its own process, and waits until it listens or ends.
 * @param root the checkout to run, this one unless said otherwise
 * @param onStart is given the process
 * @returns how it ended, where it refused to start
 */
export async function startProcess(
  settings: Settings,
  root: string = ROOT,
  onStart: (child: ChildProcess) => void = () => undefined,
): Promise<StartedService | Ended> {
  const port = Number(settings['PORT'] ?? (await freePort()));
  const child = spawnProgram('src/main.ts', [], { PORT: String(port), LOG_LEVEL: 'error', ...settings }, root);
  onStart(child);
  const { stdout, stderr } = collect(child);
  const closed = once(child, 'close');
  const ended = closed.then(() => ({ code: child.exitCode, stdout: stdout(), stderr: stderr() }));
  const listening = new Promise<true>((resolve) => {
    child.stdout?.on('data', () => {
      if (stdout().includes('Listening on')) resolve(true);
    });
  });
  const first = await Promise.race([listening, closed]);
  if (first !== true) return ended;
  return {
    port,
    child,
    ended,
    output: () => stdout() + stderr(),
    async stop() {
      child.kill('SIGTERM');
      await closed;
      return child.exitCode;
    },
  };
}

/** A service that must have started. */
export function requireStarted(one: StartedService | Ended): StartedService {
  if ('stop' in one) return one;
  throw new Error(`the service did not start: ${one.stdout}${one.stderr}`);
}

/** The one line that a service which must not start has written. */
export async function requireRefused(one: StartedService | Ended): Promise<string> {
  if ('stop' in one) {
    await one.stop();
    throw new Error('the service started');
  }
  if (one.code !== 1) throw new Error(`it ended with ${one.code}: ${one.stdout}${one.stderr}`);
  return one.stderr;
}

export interface Verified {
  readonly code: unknown;
  // biome-ignore lint/suspicious/noExplicitAny: tests name the parts of the report that they look at
  readonly report: any;
}

/**
 * Checks the log of an event as anybody would who does not trust the service: by a program of its own.
 * @param program the verifier, or the command line of the operator, which runs the same
 */
export async function runVerifier(
  port: number,
  eventId: string,
  key: string,
  more: readonly string[] = [],
  program: 'verifier/main.ts' | 'src/cli.ts' = 'verifier/main.ts',
): Promise<Verified> {
  const words = program === 'src/cli.ts' ? [programFile(program), 'log', 'verify'] : [program];
  const where = ['--base-url', `http://127.0.0.1:${port}`, '--event', eventId, '--json'];
  const child = spawn(process.execPath, [...words, ...where, ...more], {
    env: { PATH: process.env['PATH'], VOTING_KEY: key },
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { stdout } = collect(child);
  const [code] = await once(child, 'close');
  return { code, report: stdout() === '' ? undefined : JSON.parse(stdout()) };
}
