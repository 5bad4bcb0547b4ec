import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { readAssets } from '#src/reference/built-assets.ts';
import { useFolder } from '#test/harness/use.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const SDK = path.join(ROOT, 'sdk/typescript');
const MAX_BYTES = 15_000;

const run = promisify(execFile);

const folder = useFolder('voting-sdk-');

test('the declarations that are served compile strictly, by themselves', async () => {
  const { name, content } = (await readAssets()).sdk;
  writeFileSync(path.join(folder, name), content);
  await run('tar', ['-xzf', name], { cwd: folder });
  const program = path.join(folder, 'package');
  const compilerOptions = {
    ...{ module: 'nodenext', target: 'es2022', lib: ['es2022', 'dom', 'dom.iterable'], types: [], noEmit: true },
    ...{ strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true, skipLibCheck: false },
    allowImportingTsExtensions: true,
  };
  const files = ['index.d.ts', 'schema.d.ts'];
  writeFileSync(path.join(program, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  await run(path.join(ROOT, 'node_modules/.bin/tsc'), ['--project', program]);
  expect(readFileSync(path.join(program, 'index.d.ts'), 'utf8')).toContain('VotingService');
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
