import { execFile } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { AssetList } from '#src/reference/built-assets.ts';
import { copyBundles, programFile } from '#test/harness/programs.ts';
import { useFolder } from '#test/harness/use.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const SOURCES = ['package.json', 'package-lock.json', 'sandbox', 'scripts', 'sdk', 'src', 'verifier'];
const TYPES = 'sdk/typescript/src/schema.d.ts';
const OPERATIONS = 'sdk/typescript/src/operations.ts';

const run = promisify(execFile);
/** A checkout at a path of its own, in which nothing was built. */

const inCheckout = (name: string): string => path.join(checkout, name);
const readList = (root: string): AssetList => JSON.parse(readFileSync(path.join(root, 'build/assets.json'), 'utf8'));

/** @returns how a program of the checkout ended */
const start = (...words: string[]): Promise<{ code: number; stdout: string; stderr: string }> =>
  run(process.execPath, words, {
    cwd: checkout,
    env: { PATH: process.env['PATH'], DATA_DIR: inCheckout('.data') },
  }).then(
    (ended) => ({ code: 0, ...ended }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
const build = (...words: string[]) => start('scripts/build-assets.ts', ...words);

const checkout = useFolder('voting-checkout-');
for (const name of SOURCES) cpSync(path.join(ROOT, name), inCheckout(name), { recursive: true });
rmSync(inCheckout(TYPES));
rmSync(inCheckout(OPERATIONS));
copyBundles(checkout, (text) => text);
/** The service of the checkout, which reads the list that stands there. */
const SERVICE = programFile('src/main.ts', checkout);

describe('the verifier and the SDK of a checkout', () => {
  test('are not built without the development dependencies, which one line asks for', async () => {
    const { code, stderr } = await build('--if-needed');
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^Cannot build: \S+ is not installed\. Run npm ci, .+\.\n$/),
    ]);
    // It held compiled code by now.
    rmSync(inCheckout('node_modules'), { recursive: true });
    symlinkSync(path.join(ROOT, 'node_modules'), inCheckout('node_modules'));
  });

  test('are missing: the service does not start, and one line says what to run', async () => {
    const { code, stdout, stderr } = await start('src/main.ts');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^Cannot start: build\/assets\.json is missing: run npm run build:assets.*\n$/);
    expect(existsSync(inCheckout('.data'))).toBe(false);
  });

  test.each(['', '{', 'null', '{"assets":[]}'])('are listed by %j: one line says what to run', async (list) => {
    mkdirSync(inCheckout('build'), { recursive: true });
    writeFileSync(inCheckout('build/assets.json'), list);
    const { code, stderr } = await start(SERVICE);
    rmSync(inCheckout('build'), { recursive: true });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^Cannot start: build\/assets\.json is not as it was built: run npm run build:assets.*\n$/),
    ]);
  });

  test('are a file where a folder should be: one line says what to run', async () => {
    writeFileSync(inCheckout('build'), '');
    const { code, stderr } = await start(SERVICE);
    rmSync(inCheckout('build'));
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(
        /^Cannot start: build\/assets\.json cannot be read \(ENOTDIR\): run npm run build:assets.*\n$/,
      ),
    ]);
  });

  test('have the same bytes wherever they are built, by several processes at once, too', async () => {
    const lines = readList(ROOT).assets.map(
      ({ name, bytes, sha256 }) => `${name}  ${bytes} bytes  SHA-256 ${sha256}\n`,
    );
    const printed = `Building the verifier and the SDK …\n${lines.join('')}`;
    for (const ended of await Promise.all([build(), build()]))
      expect(ended).toEqual({ code: 0, stdout: printed, stderr: '' });
    expect(readList(checkout)).toEqual(readList(ROOT));
    for (const name of [TYPES, OPERATIONS, 'build/voting-verifier.mjs', 'build/verifier-page.js'])
      expect(readFileSync(inCheckout(name)).equals(readFileSync(path.join(ROOT, name)))).toBe(true);
    expect(readdirSync(inCheckout('build')).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  test('are built again where a source has changed or files are not as they were built, and only there', async () => {
    const built = { code: 0, stdout: 'Building the verifier and the SDK …\n', stderr: '' };
    const nothing = { ...built, stdout: '' };
    expect(await build('--if-needed')).toEqual(nothing);
    rmSync(inCheckout(TYPES));
    writeFileSync(inCheckout('build/verifier-page.js'), '');
    const { code, stderr } = await start('src/main.ts');
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^Cannot start: build\/verifier-page\.js is not as it was built/),
    ]);
    expect(await build('--if-needed')).toEqual(built);
    expect(readList(checkout)).toEqual(readList(ROOT));
    appendFileSync(inCheckout('verifier/main.ts'), 'process.stdout.write("changed");\n');
    expect(await build('--if-needed')).toEqual(built);
    expect(await build('--if-needed')).toEqual(nothing);
    const [verifier, ...others] = readList(checkout).assets;
    expect(verifier).not.toEqual(readList(ROOT).assets[0]);
    expect(others).toEqual(readList(ROOT).assets.slice(1));
  });
});
