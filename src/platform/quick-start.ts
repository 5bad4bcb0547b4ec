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

/**
 * Node reads the whole package.json of a library for each of its files, to learn that the file is a module. Drizzle's has
 * 180 kB and is parsed 300 times. Its files name each other by relative paths, which need no look into it.
 */
registerHooks({
  resolve(specifier, context, nextResolve) {
    const { parentURL } = context;
    return specifier.startsWith('.') && specifier.endsWith('.js') && parentURL?.includes('/node_modules/drizzle-orm/')
      ? { url: new URL(specifier, parentURL).href, format: 'module', shortCircuit: true }
      : nextResolve(specifier, context);
  },
});
