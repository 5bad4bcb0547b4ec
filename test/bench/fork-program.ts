import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { Bench } from './bench-service.ts';

/** Runs a program of this folder on the bench's database, so that its memory is nobody else's. @returns what it reports */
export async function forkProgram<Report>(
  bench: Bench,
  program: string,
  task: object,
  execArgv: readonly string[] = [],
): Promise<Report> {
  const child = fork(path.join(import.meta.dirname, program), [JSON.stringify(task)], {
    execArgv: [...execArgv],
    env: { PATH: process.env['PATH'], ...bench.environment },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit').then(() => undefined);
  const message = await Promise.race([once(child, 'message'), ended]);
  if (message === undefined) throw new Error(`${program} ended before it reported: ${JSON.stringify(task)}`);
  await ended;
  return message[0] as Report;
}
