import { execFile } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { parseEnv, promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { showDemo } from '#src/demo/show-demo.ts';
import { sealDeps } from '#src/work.ts';
import { tendLog } from '#test/harness/elections.ts';
import { usePaidService } from '#test/harness/payments.ts';

const run = promisify(execFile);

const said: string[] = [];

/** Shows the demo of the service, as its start does. */
async function show(): Promise<NodeJS.Dict<string>> {
  const { deps, port } = paid.service;
  const seal = (eventId: string): Promise<void> => tendLog(sealDeps(deps), eventId, 1);
  said.length = 0;
  await showDemo(deps, `http://127.0.0.1:${port}`, true, seal, (line) => said.push(line));
  return parseEnv(readFileSync(path.join(deps.config.dataDir, 'demo.env'), 'utf8'));
}

const paid = await usePaidService();

describe('the demo', () => {
  test('has an election in its middle: a roll of 40, 36 ballots, 35 shown, and a proof that works at once', async () => {
    const { EVENT, WRITE_KEY, READ_KEY, VOTE_KEY, CODE, PROMISE } = await show();
    const { service } = paid;
    const get = async (target: string, key = '') => (await service.call('GET', target, undefined, { key })).body.data;
    expect(await get(`/voting-events/${EVENT}/stats`, READ_KEY)).toMatchObject({
      voters: { total: 40, voted: 35 },
      ballots: { confirmed: 36 },
      disclosure: { waiting: true },
    });
    expect(await get(`/public/voting-events/${EVENT}/results`, VOTE_KEY)).toMatchObject({ stats: { ballots: 35 } });
    const change = async (key = '') =>
      (await service.call('PATCH', `/voting-events/${EVENT}`, { description: 'A new one' }, { key })).status;
    expect([await change(READ_KEY), await change(WRITE_KEY)]).toEqual([403, 200]);
    // Without a key: the log is open.
    const proof = await service.call('POST', `/public/voting-events/${EVENT}/log/proof`, { confirmationCode: CODE });
    expect(proof.body.data).toMatchObject({ status: 'logged' });
    // 32 of them, the leaf of the opening, and perhaps one of the change above.
    expect(proof.body.data.checkpoint).toMatch(/\n3[34]\n/);
    expect(PROMISE).toContain('this leaf will be in the log');
    const link = new URL(said.find((line) => line.includes('/verify#')) ?? '');
    expect(Object.fromEntries(new URLSearchParams(link.hash.slice(1)))).toEqual({
      event: EVENT,
      code: CODE,
      promise: PROMISE,
    });
  });

  test('prints lines that work as they are pasted, and the same ones at the next start', async () => {
    const first = await show();
    const lines = [...said];
    const again = await show();
    expect(again).toEqual(first);
    const end = lines.findIndex((line) => line.includes('/verify#'));
    const script = lines
      .slice(0, end)
      .join('\n')
      .replace('sleep 2', `until ls '${paid.service.deps.config.dataDir}'/mail/*.eml; do sleep 0.1; done`);
    const { stdout } = await run('bash', ['--norc', '-euo', 'pipefail', '-c', script], { timeout: 25_000 });
    expect(stdout).not.toContain('"error"');
    expect(stdout.match(/"confirmedCount"/g)).toHaveLength(2);
    expect(stdout).toMatch(/"title":"Plans for the summer".*"ballots":1/);
  });

  test('keeps its keys in files that nobody else reads, with names that a shell takes', async () => {
    const names = await show();
    const { dataDir } = paid.service.deps.config;
    for (const file of ['demo.json', 'demo.env']) expect(statSync(path.join(dataDir, file)).mode & 0o777).toBe(0o600);
    const { stdout } = await run('sh', ['-c', `. '${dataDir}/demo.env'; printf '%s' "$API $POLL $PROMISE"`]);
    expect(stdout).toBe(`${names['API']} ${names['POLL']} ${names['PROMISE']}`);
  });
});
