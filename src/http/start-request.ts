import type { MiddlewareHandler } from 'hono';
import type { Env, Service } from './env.ts';
import { answerHeaders, ownRequestId } from './request-headers.ts';
import { RequestLife } from './request-life.ts';
import { parseRequestTarget } from './request-target.ts';

/**
 * Gives every request what it has however it is answered: an ID, the safe headers of its answer, its address taken apart.
 * @param secure served over https: browsers are asked to stay there
 */
export function startRequest(service: Service, newRequestId: () => string, secure: boolean): MiddlewareHandler<Env> {
  return async (c, next) => {
    const { rawHeaders, url, socket } = c.env.incoming;
    const requestId = ownRequestId(rawHeaders) ?? newRequestId();
    c.set('service', service);
    c.set('requestId', requestId);
    const life = new RequestLife(c.env);
    c.set('life', life);
    c.set('known', { address: socket.remoteAddress });
    c.set('headers', answerHeaders(requestId, secure));
    // Headers and target were checked before the app was called (`listen`): what comes here is well-formed.
    c.set('requestTarget', parseRequestTarget(url ?? ''));
    try {
      await next();
    } finally {
      life.handled();
    }
  };
}
