import { badRequest } from '#src/platform/errors.ts';
import { countedAddress } from '#src/platform/network-address.ts';

/** A hop as proxies write it: an address, in brackets or not, with a port or without. */
function hopAddress(hop: string): string | undefined {
  const [, bracketed, plain] = /^(?:\[([0-9A-Fa-f:.]+)\](?::\d{1,5})?|([0-9.]+)(?::\d{1,5})?)$/.exec(hop) ?? [];
  return countedAddress(bracketed ?? plain ?? hop);
}

/**
 * The address that a request is counted by, as far as the configured proxies can be believed. Every spelling of one address
 * is one.
 * @throws ApiError `bad_request` for a hop that is no address: the proxy is not the one that was configured
 */
export function addressOf(direct: string, forwarded: string | undefined, trustProxy: number): string {
  const own = countedAddress(direct) ?? direct;
  if (trustProxy === 0 || forwarded === undefined) return own;
  const hop = forwarded.split(',').at(-trustProxy)?.trim();
  if (hop === undefined) return own;
  const address = hopAddress(hop);
  if (address === undefined)
    throw badRequest('X-Forwarded-For must hold the addresses of the hops.', { field: 'X-Forwarded-For' });
  return address;
}
