import type { MiddlewareHandler } from 'hono';
import { ApiError } from '#src/platform/errors.ts';
import { isKeyless } from './caller.ts';
import type { Env } from './env.ts';

/** Refuses keys that lack the scope of the operation. @throws ApiError 403 `insufficient_scope` */
export const checkScope: MiddlewareHandler<Env> = (c, next) => {
  const { scope } = c.get('operation');
  // A request without a key was admitted as it is, or refused.
  if (scope === 'none' || scope === 'any' || isKeyless(c.get('caller'))) return next();
  const { scopes: granted } = c.get('caller');
  const needed = typeof scope === 'string' ? [scope] : scope;
  if (!granted.some((one) => needed.includes(one)))
    throw new ApiError('insufficient_scope', `This key lacks the scope ${needed.join(' or ')}.`, {
      required: scope,
      granted,
    });
  return next();
};
