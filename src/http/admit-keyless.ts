import type { MiddlewareHandler } from 'hono';
import { isKeyless } from './caller.ts';
import type { Env } from './env.ts';

/**
 * Refuses requests without a key to operations that answer them for some events alone, in the words for every missing key:
 * nothing shows whether the event is there. They were counted by their address before.
 * @param admit finds the event that the path names. @throws ApiError 401 `unauthorized` from there
 */
export function admitKeyless(admit: (idOrCode: string) => Promise<unknown>): MiddlewareHandler<Env> {
  return async (c, next) => {
    const { keyless, path } = c.get('operation');
    if (keyless === true && isKeyless(c.get('caller'))) {
      const place = path.slice(1).split('/').indexOf(':idOrCode');
      await admit(c.get('requestTarget').segments[place] ?? '');
    }
    await next();
  };
}
