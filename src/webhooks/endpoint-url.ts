import { isIP } from 'node:net';
import { isRefusedAddress } from '#src/platform/network-address.ts';

const MAX_URL_LENGTH = 2_048;
const LOWEST_FREE_PORT = 1_024;
const HTTPS_PORT = 443;
/** Names that lead into the network that asks. */
const INNER_NAMES =
  /(^|\.)(localhost|local|internal|intranet|lan|home|corp|private|home\.arpa|localdomain|invalid|onion)$/;

/** The host of a URL as an address or a name: without brackets, and without the dot that ends a full name. */
function bareHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

/** What is wrong with the address of a receiver, or undefined. @param allowPrivate lifts the rules about host, range and https */
export function endpointUrlFault(text: string, allowPrivate: boolean): string | undefined {
  if (text.length > MAX_URL_LENGTH) return `must have at most ${MAX_URL_LENGTH} characters`;
  if (/[\p{Cc}\s\\]/u.test(text)) return 'must not hold spaces, backslashes or control characters';
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return 'must be an absolute https address';
  const url = new URL(text);
  if (url.username !== '' || url.password !== '' || /^https?:\/\/[^/?#]*@/i.test(text)) {
    return 'must not hold credentials';
  }
  if (text.includes('#')) return 'must not hold a fragment';
  const port = url.port === '' ? undefined : Number(url.port);
  if (port !== undefined && port !== HTTPS_PORT && port < LOWEST_FREE_PORT) {
    return 'must use port 443, or one from 1024 on';
  }
  if (allowPrivate) return undefined;
  if (url.protocol !== 'https:') return 'must begin with https://';
  const host = bareHost(url);
  if (isIP(host) !== 0) return isRefusedAddress(host) ? 'must not point into a private network' : undefined;
  if (!host.includes('.') || INNER_NAMES.test(host)) return 'must name a public host';
  return undefined;
}
