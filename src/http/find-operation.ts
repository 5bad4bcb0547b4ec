import type { Hono, MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import type { RouterRoute } from 'hono/types';
import { badRequest, notFound } from '#src/platform/errors.ts';
import type { Env } from './env.ts';
import { METHODS, type Operation } from './operation.ts';

/**
 * Stands behind the operations of an address whose last part another address takes for a parameter:
 * `GET /voters/batch` asks for no voter `batch`.
 */
export const noOtherMethod: MiddlewareHandler<Env> = async (_c, next) => next();

/**
 * Finds what a request asks for.
 * @param operations called once everything is mounted
 * @throws ApiError 404 for an unknown address, 400 with `Allow` for another method
 */
export function findOperation(
  { router }: Hono<Env>,
  operations: () => ReadonlyMap<RouterRoute, Operation>,
): MiddlewareHandler<Env> {
  const firstOf = (routes: readonly RouterRoute[]): Operation | undefined => {
    const route = routes.find((one) => operations().has(one) || one.handler === noOtherMethod);
    return route && operations().get(route);
  };
  const takes = (method: string, path: string): boolean =>
    firstOf(router.match(method, path)[0].map(([[, route]]) => route)) !== undefined;
  return (c, next) => {
    const operation = firstOf(matchedRoutes(c));
    if (operation === undefined) {
      const methods = METHODS.filter((method) => takes(method, c.req.path));
      if (methods.length === 0) throw notFound();
      const allow = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
      c.get('headers')['Allow'] = allow;
      throw badRequest(`This address takes ${allow}, not ${c.req.method}.`, { allow });
    }
    c.set('operation', operation);
    return next();
  };
}
