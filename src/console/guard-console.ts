import type { IncomingMessage } from 'node:http';
import type { MiddlewareHandler } from 'hono';
import type { Config } from '#src/config.ts';
import type { Env } from '#src/http/env.ts';
import { ApiError, notFound } from '#src/platform/errors.ts';
import { isLoopbackAddress, isLoopbackHost } from '#src/platform/network-address.ts';
import { equalSecrets } from '#src/platform/secrets.ts';

/**
 * Whether this service has a console. The console shows voter keys, so it is only for a developer on one machine: with the embedded
 * database, not in production, listening on loopback only, without a proxy or a public address.
 */
export function offersConsole({
  databaseUrl,
  production,
  host,
  baseUrl,
  trustProxy,
}: Pick<Config, 'databaseUrl' | 'production' | 'host' | 'baseUrl' | 'trustProxy'>): boolean {
  const listensInside = isLoopbackHost(host === '::1' ? '[::1]' : host);
  return (
    databaseUrl === undefined &&
    !production &&
    listensInside &&
    isLoopbackHost(new URL(baseUrl).host) &&
    trustProxy === 0
  );
}

/** Requests through a proxy are refused: a proxy on this machine would make every caller look local. */
const PROXY_HEADERS = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'] as const;

/** Allowed Sec-Fetch-Site: from the console's own page, or opened by the user. Programs other than browsers do not send it. */
const OWN_SITES: readonly unknown[] = [undefined, 'none', 'same-origin'];

/**
 * Whether a request comes from a program on this machine, or from a browser that shows the console itself: not through a name that an
 * attacker pointed to this machine (DNS rebinding), not from another page, not through a proxy.
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

/** Answers all other requests as if there were no console. @throws ApiError 404 `not_found` */
export const guardConsole: MiddlewareHandler<Env> = (c, next) => {
  if (!isFromThisMachine(c.env.incoming)) throw notFound();
  return next();
};

const TOKEN_HEADER = 'X-Console-Token';

/** Allows actions only with the token in the console's page, made at each start. @throws ApiError 401 `unauthorized` */
export function requireToken(readToken: () => string): MiddlewareHandler<Env> {
  return (c, next) => {
    const sent = c.req.header(TOKEN_HEADER) ?? '';
    if (!equalSecrets(Buffer.from(sent), Buffer.from(readToken())))
      throw new ApiError('unauthorized', 'This needs the token of the page of the console. Load the page again.');
    return next();
  };
}
