import { enableCompileCache, registerHooks } from 'node:module';
import path from 'node:path';

/**
 * Imported first by every program, because all that is imported after it loads in half the time: a command answers and a
 * process serves a second sooner.
 */

// Types are stripped and code is compiled once for a checkout. The folder is the installation's own: one that other users
// can write, as the default below the temporary folder, would let them put code into it. Where nothing can be written (an
// image with a read-only root), everything loads as without it.
enableCompileCache(path.resolve(import.meta.dirname, '../..', 'node_modules/.cache/compiled'));

const SOURCES = new URL('../', import.meta.url);
/** Libraries of several hundred files whose modules name each other by relative paths. */
const LARGE = /\/node_modules\/(?:drizzle-orm|stripe\/esm|zod)\//;

/**
 * Node looks for the package.json of each file, to learn that it is a module, and reads the whole of it each time: Drizzle's has
 * 180 kB and is parsed 300 times. What these names mean is known without it.
 */
registerHooks({
  resolve(specifier, context, nextResolve) {
    if (specifier.startsWith('#src/'))
      return { url: new URL(specifier.slice(5), SOURCES).href, format: 'module-typescript', shortCircuit: true };
    const { parentURL } = context;
    return specifier.startsWith('.') && specifier.endsWith('.js') && parentURL !== undefined && LARGE.test(parentURL)
      ? { url: new URL(specifier, parentURL).href, format: 'module', shortCircuit: true }
      : nextResolve(specifier, context);
  },
});
