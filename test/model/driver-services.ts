import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { readConfig } from '#src/config.ts';
import { createLog } from '#src/platform/log.ts';
import { createDeps, startService } from '#src/service.ts';
import { QUICK_START } from '#test/harness/started-service.ts';
import type { Order } from './driver-program.ts';
import { leadClock } from './driver-time.ts';

export type Environment = Readonly<Record<string, string>>;

/** One of the two services of a history. */
export interface RunningService {
  readonly port: number;
  setOffset(ms: number): Promise<void>;
  /** Drops what it keeps of keys and events, as the announcement of a change does a moment later. */
  forget(): Promise<void>;
  /** `kill`: -9 where it is a process. */
  end(how: 'stop' | 'kill'): Promise<void>;
}

/** @param offsetMs of the time it starts with */
export type StartService = (environment: Environment, offsetMs: number) => Promise<RunningService>;

/** A service in this process: its time is the one that the driver itself has. */
export const startWithin: StartService = async (environment) => {
  const config = readConfig(environment);
  const url = config.databaseUrl ?? '';
  const provider = environment['DRIVER_PROVIDER_URL'];
  const deps = createDeps(config, url, createLog(config.logLevel), provider);
  leadClock(deps.clock);
  const service = await startService(deps, url);
  return {
    port: service.port,
    setOffset: () => Promise.resolve(),
    async forget() {
      deps.authenticator.forgetAll();
      deps.events.forgetAll();
    },
    end: () => service.stop(),
  };
};

const PROGRAM = path.join(import.meta.dirname, 'driver-program.ts');

async function firstMessage(child: ChildProcess): Promise<{ port: number }> {
  const ended = once(child, 'exit').then(() => undefined);
  const message = await Promise.race([once(child, 'message'), ended]);
  if (message === undefined) throw new Error('a service process ended while it started');
  return message[0] as { port: number };
}

/** A service as a process of its own, whose clock is set from outside. */
export interface ServiceProgram {
  readonly port: number;
  setOffset(ms: number): Promise<void>;
  forget(): Promise<void>;
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

/** @param heard is called with each line of its log; left out, the log goes where this program's does */
export async function startProgram(
  environment: Environment,
  offsetMs: number,
  heard?: (line: string) => void,
): Promise<ServiceProgram> {
  const child = fork(PROGRAM, {
    execArgv: [...QUICK_START],
    env: { PATH: process.env['PATH'], ...environment, DRIVER_OFFSET_MS: String(offsetMs) },
    stdio: ['ignore', heard === undefined ? 'inherit' : 'pipe', 'inherit', 'ipc'],
  });
  if (heard !== undefined && child.stdout !== null) createInterface({ input: child.stdout }).on('line', heard);
  const ended = once(child, 'exit');
  const { port } = await firstMessage(child);
  const waiting = new Map<number, () => void>();
  let orders = 0;
  child.on('message', ({ number }: { number: number }) => {
    waiting.get(number)?.();
    waiting.delete(number);
  });
  const order = (content: { do: 'time'; offsetMs: number } | { do: 'forget' }): Promise<void> => {
    orders += 1;
    const whole: Order = { number: orders, ...content };
    const done = new Promise<void>((resolve) => waiting.set(whole.number, resolve));
    child.send(whole);
    const gone = ended.then(() => {
      throw new Error('a service process ended by itself');
    });
    return Promise.race([done, gone]);
  };
  return {
    port,
    setOffset: (ms) => order({ do: 'time', offsetMs: ms }),
    forget: () => order({ do: 'forget' }),
    async end(signal) {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      await ended;
    },
  };
}

export const startProcess: StartService = async (environment, offsetMs) => {
  const program = await startProgram(environment, offsetMs);
  return { ...program, end: () => program.end('SIGKILL') };
};
