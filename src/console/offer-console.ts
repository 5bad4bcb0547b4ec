import type { Config } from '#src/config.ts';
import { isLoopbackHost } from '#src/platform/network-address.ts';

/**
 * Whether this service has a console. It shows voter keys, so it is for a developer on one machine: with the embedded database,
 * outside of production, listening on loopback alone, and neither behind a proxy nor under a public address.
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
