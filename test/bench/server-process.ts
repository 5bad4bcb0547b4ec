import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

/**
 * `service`: everything as it runs everywhere. `web`: without jobs. `ungathered`: each ballot is a statement by itself.
 * `no-database`: ballots are accepted without being stored. `echo`: no service at all, a bare `node:http` that answers JSON.
 */
export type ServerKind = 'service' | 'web' | 'ungathered' | 'no-database' | 'echo';

export interface ServerUsage {
  /** Of the whole process since its start. */
  readonly cpuMicros: number;
  readonly rssBytes: number;
  /** How long each collection of garbage stopped the process since this was asked last. */
  readonly pausesMs: readonly number[];
}

export type ServerProcess = Awaited<ReturnType<typeof startServerProcess>>;

/**
 * Starts a server as a process of its own, so that neither the load nor another server shares its event loop.
 * @param profileFolder where it leaves its CPU profile when it ends
 */
export async function startServerProcess(
  environment: Readonly<Record<string, string>>,
  kind: ServerKind,
  profileFolder?: string,
) {
  const program = path.join(import.meta.dirname, 'server-program.ts');
  const child = fork(program, [kind], {
    execArgv: profileFolder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`],
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit');
  const next = async <Message>(): Promise<Message> => {
    const message = await Promise.race([once(child, 'message'), ended.then(() => undefined)]);
    if (message === undefined) throw new Error(`the server (${kind}) ended`);
    return message[0] as Message;
  };
  const { port } = await next<{ port: number }>();
  return {
    port,
    pid: child.pid,
    usage(): Promise<ServerUsage> {
      const answer = next<ServerUsage>();
      child.send('usage');
      return answer;
    },
    async stop(): Promise<void> {
      child.disconnect();
      await ended;
    },
  };
}
