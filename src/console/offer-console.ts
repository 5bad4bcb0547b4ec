import type { Config } from '#src/config.ts';
import { isLoopbackHost } from '#src/platform/network-address.ts';

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
