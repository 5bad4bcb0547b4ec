import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { QUICK_START } from '#test/harness/started-service.ts';
import type { Order } from '#test/model/driver-program.ts';

/** A service process whose clock is set from outside, and whose alarms are heard. */
export interface MonthProcess {
  readonly port: number;
  setOffset(ms: number): Promise<void>;
  end(how: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

const PROGRAM = path.resolve(import.meta.dirname, '../model/driver-program.ts');

/** @param heard is called with the name of each alarm that it logs */
export async function startMonthProcess(
  environment: Readonly<Record<string, string>>,
  offsetMs: number,
  heard: (alarm: string) => void,
): Promise<MonthProcess> {
  const child = fork(PROGRAM, {
    execArgv: [...QUICK_START],
    env: { PATH: process.env['PATH'], ...environment, PORT: '0', DRIVER_OFFSET_MS: String(offsetMs) },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  let rest = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const alarm = /"alarm":"(\w+)"/.exec(line)?.[1];
      if (alarm !== undefined) heard(alarm);
    }
  });
  const ended = once(child, 'exit');
  const first = await Promise.race([once(child, 'message'), ended.then(() => undefined)]);
  if (first === undefined) throw new Error('a process ended while it started');
  const { port } = first[0] as { port: number };
  const waiting = new Map<number, () => void>();
  child.on('message', ({ number }: { number: number }) => {
    waiting.get(number)?.();
    waiting.delete(number);
  });
  let orders = 0;
  return {
    port,
    setOffset(ms) {
      orders += 1;
      const order: Order = { number: orders, do: 'time', offsetMs: ms };
      const done = new Promise<void>((resolve) => waiting.set(order.number, resolve));
      child.send(order);
      return Promise.race([done, ended.then(() => undefined)]);
    },
    async end(how) {
      if (child.exitCode === null && child.signalCode === null) child.kill(how);
      await ended;
    },
  };
}
