import { registerHooks } from 'node:module';

/**
 * While it is loaded, the queue's library searches the working directory and every folder above it for files of
 * configuration, and runs the ones that are JavaScript: code of somebody else, in a process that holds `SECRET_KEY`. It has
 * no setting against that. What it searches with is replaced here, for this one library, by something that finds nothing.
 */
const NO_SEARCH = 'data:text/javascript,export const cosmiconfigSync = () => ({ search: () => null });';

const hooks = registerHooks({
  resolve: (specifier, context, nextResolve) =>
    specifier === 'cosmiconfig' && context.parentURL?.includes('/graphile-worker/') === true
      ? { url: NO_SEARCH, format: 'module', shortCircuit: true }
      : nextResolve(specifier, context),
});
const library = await import('graphile-worker');
hooks.deregister();

export const { Logger, run, runMigrations } = library;
