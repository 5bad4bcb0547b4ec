import path from 'node:path';
import { build, type Plugin } from 'esbuild';

const ROOT = path.resolve(import.meta.dirname, '..');

const inBrowser: Plugin = {
  name: 'the browser’s primitives',
  setup(bundler) {
    bundler.onResolve({ filter: /^\.\/primitives\.ts$/ }, () => ({
      path: path.join(ROOT, 'verifier/browser/primitives.ts'),
    }));
  },
};

/** A program in one file. The same sources give the same text, wherever the checkout lies and whatever stands around it. */
async function bundle(options: Parameters<typeof build>[0]): Promise<string> {
  const { outputFiles } = await build({
    bundle: true,
    write: false,
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'silent',
    // Sources are named in comments, seen from here.
    absWorkingDir: ROOT,
    tsconfigRaw: {},
    ...options,
  });
  const text = outputFiles?.[0]?.text;
  if (text === undefined) throw new Error('nothing was bundled');
  return text;
}

/** The verifier for a terminal: `node voting-verifier.mjs`, readable as its sources are. */
export const bundleVerifier = (): Promise<string> =>
  bundle({ entryPoints: ['verifier/main.ts'], platform: 'node', target: 'node20', format: 'esm' });

/** The verifier for the page `/verify`. */
export const bundleVerifierPage = (): Promise<string> =>
  bundle({
    entryPoints: ['verifier/browser/page.ts'],
    inject: [path.join(ROOT, 'verifier/browser/buffer.ts')],
    plugins: [inBrowser],
    platform: 'browser',
    target: 'es2022',
    format: 'iife',
    minify: true,
  });

export const bundleSdk = (): Promise<string> =>
  bundle({
    entryPoints: ['sdk/typescript/src/index.ts'],
    platform: 'neutral',
    target: 'es2022',
    format: 'esm',
  });
