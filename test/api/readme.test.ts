import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { useAccount } from '#test/harness/test-service.ts';
import { useFolder } from '#test/harness/use.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const run = promisify(execFile);

const { service, account } = await useAccount();
const folder = useFolder('voting-readme-');
const readme = readFileSync(path.join(ROOT, 'README.md'), 'utf8');

test('the poll of the README runs as it is printed, with the package that the service serves', async () => {
  const [, program = ''] = /```ts poll\.ts\n([\s\S]+?)```/.exec(readme) ?? [];
  const [, address = ''] = /npm install --no-save \$API(\S+)/.exec(readme) ?? [];
  const API = service.url;
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  writeFileSync(path.join(folder, 'poll.ts'), program);
  await run('npm', ['install', '--no-save', '--no-audit', '--no-fund', `${API}${address}`], { cwd: folder });
  const env = { PATH: process.env['PATH'], API, WRITE_KEY: account.write, VOTE_KEY: account.vote };
  const { stdout } = await run(process.execPath, ['poll.ts'], { cwd: folder, env });
  expect(stdout).toBe('Curry 1\nPizza 1\n');
});

test('the README leads to files that are there', () => {
  const links = [...readme.matchAll(/\]\(([^)#]+)/g)]
    .map(([, link = '']) => link)
    .filter((link) => !link.includes('://'));
  expect(links.length).toBeGreaterThan(20);
  for (const link of links) expect(() => readFileSync(path.join(ROOT, link)), link).not.toThrow(/ENOENT/);
});
