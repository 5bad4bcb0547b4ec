import { isIP } from 'node:net';
import { isLoopbackHost, isRefusedAddress } from '#src/platform/network-address.ts';
import { addressFault } from '#src/platform/text.ts';

const LOWEST_FREE_PORT = 1_024;
const HTTPS_PORT = 443;
/** Host names that resolve within the service's own network, or not at all. */
const INNER_NAMES =
  /(^|\.)(localhost|local|internal|intranet|lan|home|corp|private|home\.arpa|localdomain|invalid|onion)$/;

/**
 * The receivers to which the service sends. `public`: public hosts, over https. `loopback`: also this machine, over http; used with the
 * console. `private`: also private networks, over http; set by `WEBHOOK_ALLOW_PRIVATE`.
 */
export type WebhookReach = 'public' | 'loopback' | 'private';

/** Whether a receiver is exempt from the rules about public hosts and https. @param host of a `URL`, with or without port */
export const isWithinReach = (reach: WebhookReach, host: string): boolean =>
  reach === 'private' || (reach === 'loopback' && isLoopbackHost(host));

/** The fault of a receiver's URL in words; undefined for a valid URL. */
export function endpointUrlFault(text: string, reach: WebhookReach): string | undefined {
  const fault = addressFault(text);
  if (fault !== undefined) return fault;
  const url = new URL(text);
  if (text.includes('#')) return 'must not hold a fragment';
  const port = url.port === '' ? undefined : Number(url.port);
  if (port !== undefined && port !== HTTPS_PORT && port < LOWEST_FREE_PORT) {
    return 'must use port 443, or one from 1024 on';
  }
  if (isWithinReach(reach, url.host)) return undefined;
  if (url.protocol !== 'https:') return 'must begin with https://';
  // Remove the brackets of an IPv6 address, and the final dot of a fully qualified name.
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (isIP(host) !== 0) return isRefusedAddress(host) ? 'must not point into a private network' : undefined;
  if (!host.includes('.') || INNER_NAMES.test(host)) return 'must name a public host';
  return undefined;
}
