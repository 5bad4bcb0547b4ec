import type { IncomingMessage } from 'node:http';
import type { MiddlewareHandler } from 'hono';
import type { Env } from '#src/http/env.ts';
import { ApiError, notFound } from '#src/platform/errors.ts';
import { isLoopbackAddress, isLoopbackHost } from '#src/platform/network-address.ts';
import { equalSecrets } from '#src/platform/secrets.ts';

/** A proxy on this machine would make every caller of its own look like a local one. */
const PROXY_HEADERS = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'] as const;

/** Where a browser says that another page than the console's own asks. Programs that are no browsers say nothing. */
const OWN_SITES: readonly unknown[] = [undefined, 'none', 'same-origin'];

/**
 * Whether a request comes from a program of this machine, or from a browser that shows the console itself: not through a name
 * that somebody pointed to this machine (DNS rebinding), not from another page, not through a proxy.
 */
export function isFromThisMachine({ headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>): boolean {
  const { host, origin } = headers;
  return (
    isLoopbackAddress(socket.remoteAddress ?? '') &&
    isLoopbackHost(host) &&
    (origin === undefined || origin.toLowerCase() === `http://${host}`.toLowerCase()) &&
    OWN_SITES.includes(headers['sec-fetch-site']) &&
    PROXY_HEADERS.every((name) => headers[name] === undefined)
  );
}

/** Answers others as if there were no console. @throws ApiError 404 `not_found` */
export const guardConsole: MiddlewareHandler<Env> = (c, next) => {
  if (!isFromThisMachine(c.env.incoming)) throw notFound();
  return next();
};

const TOKEN_HEADER = 'X-Console-Token';

/** Lets those act alone who were given the page: its token is made at each start. @throws ApiError 401 `unauthorized` */
export function requireToken(readToken: () => string): MiddlewareHandler<Env> {
  return (c, next) => {
    const sent = c.req.header(TOKEN_HEADER) ?? '';
    if (!equalSecrets(Buffer.from(sent), Buffer.from(readToken())))
      throw new ApiError('unauthorized', 'This needs the token of the page of the console. Load the page again.');
    return next();
  };
}
