import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { brokenBy } from './compare-documents.ts';

const run = promisify(execFile);
const MAX_BYTES = 64_000_000;

/** The newest tag `v<major>.<minor>.<patch>` of a checkout; undefined where there is none. */
export function latestRelease(checkout: string): string | undefined {
  return execFileSync('git', ['tag', '--list', 'v*', '--sort=v:refname'], { cwd: checkout, encoding: 'utf8' })
    .split('\n')
    .findLast((tag) => /^v\d+\.\d+\.\d+$/.test(tag));
}

async function documentOf(checkout: string): Promise<object> {
  const { stdout } = await run('npm', ['run', '--silent', 'api-document'], { cwd: checkout, maxBuffer: MAX_BYTES });
  return JSON.parse(stdout);
}

/**
 * Holds the API document of a checkout against that of a release, which its own program makes with the libraries of today.
 * @returns what breaks clients of the release, a line each
 */
export async function brokenSince(release: string, checkout: string): Promise<string[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'voting-release-'));
  try {
    const released = path.join(folder, 'released');
    const archive = path.join(folder, 'released.tar');
    mkdirSync(released);
    await run('git', ['archive', '--format=tar', `--output=${archive}`, release], { cwd: checkout });
    await run('tar', ['-xf', archive, '-C', released]);
    symlinkSync(path.join(checkout, 'node_modules'), path.join(released, 'node_modules'));
    return brokenBy(await documentOf(released), await documentOf(checkout));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
