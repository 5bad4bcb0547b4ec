import type { MiddlewareHandler } from 'hono';
import { badRequest } from '#src/platform/errors.ts';
import type { Env } from './env.ts';
import { announcesBody, checkContentType, parseIdempotencyKey } from './request-headers.ts';

/** Refuses a body where none belongs or of another type, and a bad Idempotency-Key. @throws ApiError 400 `bad_request` */
export const checkHeaders: MiddlewareHandler<Env> = (c, next) => {
  const { method, bytes } = c.get('operation');
  const { rawHeaders } = c.env.incoming;
  if (bytes === undefined) {
    if (method === 'POST') c.set('idempotencyKey', parseIdempotencyKey(rawHeaders));
    if (announcesBody(rawHeaders)) {
      if (method === 'GET' || method === 'DELETE') throw badRequest(`A ${method} request takes no body.`);
      checkContentType(rawHeaders);
    }
  }
  return next();
};
