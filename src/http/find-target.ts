import type { MiddlewareHandler } from 'hono';
import type { Env, RequestContext } from './env.ts';
import { requireRole } from './role.ts';

/**
 * Finds what the path names, as far as the caller may see it (404), and checks the caller's role in it (403): all that is
 * answered before the body is looked at (completions 1.6).
 */
export function findTarget<Target>(
  find: (c: RequestContext) => Promise<Target>,
): MiddlewareHandler<Env & { Variables: { target: Target } }> {
  return async (c, next) => {
    const target = await find(c);
    requireRole(c.get('operation').role, target);
    c.set('target', target);
    await next();
  };
}
