import type { RequestContext } from './env.ts';

/** Aborted when the client goes away before its answer is complete. */
export function whenGone({ env: { outgoing } }: RequestContext): AbortSignal {
  const controller = new AbortController();
  if (outgoing.destroyed) controller.abort();
  else outgoing.once('close', () => controller.abort());
  return controller.signal;
}
