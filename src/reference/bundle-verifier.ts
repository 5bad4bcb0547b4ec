import { createHash } from 'node:crypto';
import path from 'node:path';
import { build, type Plugin } from 'esbuild-wasm';

const FOLDER = path.resolve(import.meta.dirname, '../../verifier');

/** A program in one file. */
export interface Bundle {
  readonly text: string;
  /** SHA-256 of the text, in hex. */
  readonly sha256: string;
}

const inBrowser: Plugin = {
  name: 'the browser’s primitives',
  setup(bundler) {
    bundler.onResolve({ filter: /^\.\/primitives\.ts$/ }, () => ({ path: path.join(FOLDER, 'browser/primitives.ts') }));
  },
};

/** Runs the bundler, which is a process of its own. */
export async function bundle(options: Parameters<typeof build>[0]): Promise<Bundle> {
  const { outputFiles } = await build({
    bundle: true,
    write: false,
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'silent',
    ...options,
  });
  const text = outputFiles?.[0]?.text;
  if (text === undefined) throw new Error('nothing was bundled');
  return { text, sha256: createHash('sha256').update(text).digest('hex') };
}

/** For a terminal: `node voting-verifier.mjs`, readable as its sources are. */
export const bundleForNode = (): Promise<Bundle> =>
  bundle({ entryPoints: [path.join(FOLDER, 'main.ts')], platform: 'node', target: 'node20', format: 'esm' });

/** For the page `/verify`. */
export const bundleForBrowser = (): Promise<Bundle> =>
  bundle({
    entryPoints: [path.join(FOLDER, 'browser/page.ts')],
    inject: [path.join(FOLDER, 'browser/buffer.ts')],
    plugins: [inBrowser],
    platform: 'browser',
    target: 'es2022',
    format: 'iife',
    minify: true,
  });
