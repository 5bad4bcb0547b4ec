import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { createObserverKey, LogReader } from '#test/harness/ballot-log.ts';
import { finishEvent, sealBallots, type TestEvent, votesFor } from '#test/harness/elections.ts';
import { useAccount } from '#test/harness/test-service.ts';
import { useFolder } from '#test/harness/use.ts';

const ROOT = path.join(import.meta.dirname, '../..');

const { service, account } = await useAccount();
// The verifier alone: it must work where nothing else of the project is.
const folder = useFolder('voting-check-test-');
cpSync(path.join(ROOT, 'verifier'), path.join(folder, 'verifier'), { recursive: true });

/** The lines that the verifier's README gives a voter. */
function readmeLines(): string[] {
  const readme = readFileSync(path.join(ROOT, 'verifier/README.md'), 'utf8');
  const [, block = ''] = /```sh\n([\s\S]+?)```/.exec(readme) ?? [];
  return block.trim().split('\n');
}

async function runLine(line: string, env: NodeJS.ProcessEnv): Promise<{ code: unknown; stdout: string }> {
  const child = spawn('sh', ['-c', line], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  const [stdout, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  return { code, stdout };
}

async function hasTools(): Promise<boolean> {
  try {
    for (const tool of ['curl', 'sha256sum']) await promisify(execFile)(tool, ['--version']);
    return true;
  } catch {
    return false;
  }
}

test('a voter who types the lines of the README sees that the ballot is in, and that it counts', async () => {
  if (!(await hasTools())) {
    console.info('curl or sha256sum is not on this machine: the lines of the README were not run');
    return;
  }
  const event: TestEvent = await account.event({ results: { visibility: 'live' } });
  const votes = votesFor(event, 1);
  const confirmed = [];
  for (let index = 0; index < 4; index += 1) confirmed.push(await account.votePoll(event, votes));
  await sealBallots(service, event.id);
  const { confirmationCode, logPromise } = confirmed[2];
  const env = {
    PATH: `${path.dirname(process.execPath)}:${process.env['PATH']}`,
    CODE: confirmationCode,
    PROMISE: logPromise,
    EVENT: event.id,
    API: service.url,
    VOTING_KEY: await createObserverKey(service, account, event.id),
  };
  const lines = readmeLines();
  expect(lines).toHaveLength(5);
  const outputs: string[] = [];
  for (const [number, line] of lines.entries()) {
    if (number === 4) await finishEvent(service, event.id);
    const { code, stdout } = await runLine(line, env);
    // While the log is open the verifier cannot count yet, and says so.
    expect([line, code]).toEqual([line, number === 2 ? 3 : 0]);
    outputs.push(stdout);
  }
  const [proof = '', saved, verified, hash = '', afterClose] = outputs;
  const { status, index } = JSON.parse(proof).data;
  expect([status, saved]).toEqual(['logged', '']);
  expect(verified).toMatch(/✓ root .*\n(.*\n)*✓ promise kept/);
  const leaves = await new LogReader(service, event.id, account.vote).leaves();
  expect(leaves[index]?.['h']).toBe(hash.slice(0, 64));
  expect(afterClose).toMatch(
    /✓ consistency .*\n(.*\n)*✓ promise kept .*\n(.*\n)*✓ recount .*\n\nAfter the opening, .*\n\nLetters .*: 0\.\n\nEverything is right\./,
  );
});
