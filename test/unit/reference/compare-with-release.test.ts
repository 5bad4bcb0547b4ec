import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { brokenSince, latestRelease } from '#test/harness/compare-with-release.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');

describe('the API (contract, "Versioning")', () => {
  const release = latestRelease(ROOT);
  if (release === undefined)
    test('has no release tag to be compared with yet', () => {
      process.stdout.write('There is no tag v<major>.<minor>.<patch>: the API document is compared with no release.\n');
      expect(latestRelease(ROOT)).toBeUndefined();
    });
  else
    test(`only adds to that of the release ${release}`, async () => {
      expect(await brokenSince(release, ROOT)).toEqual([]);
    });
});

describe('a checkout with releases', () => {
  let checkout: string;
  const git = (...words: string[]): void => {
    const person = [
      '-c',
      'user.name=Ada',
      '-c',
      'user.email=ada@shop.example',
      '-c',
      'commit.gpgsign=false',
      '-c',
      'core.hooksPath=none',
    ];
    execFileSync('git', [...person, ...words], { cwd: checkout, stdio: 'ignore' });
  };
  const write = (...paths: string[]): void => {
    const operation = { operationId: 'read', responses: { 200: {} } };
    const document = { paths: Object.fromEntries(paths.map((name) => [name, { get: operation }])) };
    writeFileSync(path.join(checkout, 'document.json'), JSON.stringify(document));
  };

  beforeAll(() => {
    checkout = mkdtempSync(path.join(tmpdir(), 'voting-checkout-'));
    git('init', '-q');
    expect(latestRelease(checkout)).toBeUndefined();
    const scripts = { 'api-document': 'cat document.json' };
    writeFileSync(path.join(checkout, 'package.json'), JSON.stringify({ name: 'checkout', scripts }));
    for (const [tag, ...paths] of [
      ['v1.9.0', '/first'],
      ['v1.10.0', '/first', '/second'],
      ['v2.0.0-rc.1'],
      ['vNext'],
    ]) {
      write(...paths);
      git('add', '.');
      git('commit', '-q', '--allow-empty', '--message', 'A release');
      git('tag', tag ?? '');
    }
  });
  afterAll(() => rmSync(checkout, { recursive: true }));

  test('is compared with the newest of them, by number', async () => {
    expect(latestRelease(checkout)).toBe('v1.10.0');
    write('/first');
    expect(await brokenSince('v1.10.0', checkout)).toEqual(['GET /second is gone']);
    write('/first', '/second', '/third');
    expect(await brokenSince('v1.10.0', checkout)).toEqual([]);
  });
});
