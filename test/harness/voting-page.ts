import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createDemo } from '#src/demo/create-demo.ts';
import { freePort } from './started-service.ts';
import type { TestService } from './test-service.ts';

const EXAMPLES = path.resolve(import.meta.dirname, '../../examples');

export type VotingPage = Awaited<ReturnType<typeof startVotingPage>>;

/** The example as it runs beside the demo, with a demo of its own. @param names what it finds in its environment besides the demo's names */
export async function startVotingPage(service: TestService, names: Readonly<Record<string, string>> = {}) {
  const demo = await createDemo(service.deps, true, 'https://vote.club.example');
  const port = await freePort();
  const child: ChildProcess = spawn(
    process.execPath,
    ['--import', path.join(EXAMPLES, 'use-sdk-sources.ts'), path.join(EXAMPLES, 'voting-page/server.mjs')],
    {
      env: {
        PATH: process.env['PATH'] ?? '',
        API: `http://127.0.0.1:${service.port}`,
        ...{ VOTE_KEY: demo.voteKey, EVENT: demo.event, POLL: demo.poll, PORT: String(port), ...names },
      },
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  const closed = once(child, 'close');
  if (child.stdout === null) throw new Error('its output is read');
  const first = await Promise.race([once(child.stdout, 'data'), closed.then(() => undefined)]);
  if (first === undefined) throw new Error('the voting page did not start');
  return {
    demo,
    /** Addresses of the pages of the demo's election and poll. */
    election: `http://127.0.0.1:${port}/${demo.event}`,
    poll: `http://127.0.0.1:${port}/${demo.poll}`,
    async stop(): Promise<void> {
      child.kill();
      await closed;
    },
  };
}
