import { AsyncLocalStorage } from 'node:async_hooks';

/** The account for which something is done: the ID of the caller's, empty for a stranger; undefined for the process itself. */
export const whose = new AsyncLocalStorage<string>();
