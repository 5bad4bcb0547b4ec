import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild-wasm';
import { afterAll, beforeAll, expect, test } from 'vitest';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const SDK = path.join(ROOT, 'sdk/typescript');
const MAX_BYTES = 15_000;

const run = promisify(execFile);
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'voting-sdk-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('the types of the SDK are made from the API document', async () => {
  // The service's own document is held to this copy by document-golden.test.ts.
  const document = path.join(ROOT, 'test/golden/openapi.json');
  const made = path.join(folder, 'schema.d.ts');
  await run(process.execPath, [path.join(SDK, 'make-types.ts'), document, made]);
  await expect(readFileSync(made, 'utf8')).toMatchFileSnapshot(path.join(SDK, 'src/schema.d.ts'));
});

test('the declarations that are served are those of the sources, which compile strictly', async () => {
  const tsc = path.join(ROOT, 'node_modules/.bin/tsc');
  const types = path.join(folder, 'types');
  await run(tsc, ['--project', SDK, '--outDir', types]);
  for (const name of readdirSync(types))
    await expect(readFileSync(path.join(types, name), 'utf8')).toMatchFileSnapshot(path.join(SDK, 'types', name));
  expect(readdirSync(path.join(SDK, 'types'))).toEqual(readdirSync(types));
});

test('the SDK has no dependencies, and at most 15 kB when it is minified', async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [path.join(SDK, 'src/index.ts')],
    ...{
      bundle: true,
      minify: true,
      write: false,
      metafile: true,
      format: 'esm',
      platform: 'neutral',
      target: 'es2022',
    },
  });
  const bytes = outputFiles?.[0]?.contents.length ?? Number.POSITIVE_INFINITY;
  expect(bytes).toBeLessThanOrEqual(MAX_BYTES);
  expect(Object.keys(metafile?.inputs ?? {}).filter((name) => !name.includes('sdk/typescript/src/'))).toEqual([]);
});
