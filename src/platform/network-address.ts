import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';

/** The `Host` that a browser sends to its own machine. Any other name may be an attacker's, pointed at this machine (DNS rebinding). */
const LOOPBACK_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i;

export const isLoopbackHost = (host: string | undefined): boolean => host !== undefined && LOOPBACK_HOST.test(host);

/** Every range of the IANA special-purpose registries that is not globally reachable, and the multicast ranges. */
const REFUSED_V4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // A public address that, in the Azure cloud, leads to the host's own agent.
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];
const REFUSED_V6: readonly (readonly [string, number])[] = [
  ['::', 96],
  // IPv4-translated addresses: a stateless translator turns them into IPv4 addresses.
  ['::ffff:0:0:0', 96],
  // NAT64 turns these into IPv4 addresses, which this check would not see. No public host needs such an address.
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['100:0:0:1::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
  ['5f00::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
];

const refused = new BlockList();
for (const [network, bits] of REFUSED_V4) refused.addSubnet(network, bits, 'ipv4');
for (const [network, bits] of REFUSED_V6) refused.addSubnet(network, bits, 'ipv6');

function groupsOf(address: string): number[] {
  // The URL parser gives every spelling one form: hexadecimal, with the longest run of zeros left out.
  const [head = '', tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::');
  const read = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const [before, after] = [read(head), read(tail ?? '')];
  return tail === undefined ? before : [...before, ...Array(8 - before.length - after.length).fill(0), ...after];
}

const ipv4Of = (high: number, low: number): string => [high >> 8, high & 255, low >> 8, low & 255].join('.');

/** Whether an address, in any network, is that of an ISATAP tunnel whose last 32 bits are a refused IPv4 address. */
function isRefusedTunnel(address: string): boolean {
  const [, , , , flags = 0, marker = 0, high = 0, low = 0] = groupsOf(address);
  return (flags & ~0x200) === 0 && marker === 0x5efe && refused.check(ipv4Of(high, low), 'ipv4');
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

export function isLoopbackAddress(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && loopback.check(address, version === 4 ? 'ipv4' : 'ipv6');
}

/** Whether this service must refuse to connect to an address that outsiders chose (SSRF). BlockList unwraps IPv4-mapped addresses. */
export function isRefusedAddress(address: string): boolean {
  const bare = address.split('%')[0] ?? address;
  if (!isIPv6(bare)) return refused.check(bare, 'ipv4');
  return refused.check(bare, 'ipv6') || isRefusedTunnel(bare);
}

/** The key under which an address is counted; undefined if the text is no address. The 2^64 addresses of an IPv6 /64 share one key. */
export function countedAddress(text: string): string | undefined {
  const address = text.split('%')[0] ?? '';
  if (isIPv4(address)) return address;
  if (isIP(address) === 0) return undefined;
  const groups = groupsOf(address);
  const [high = 0, low = 0] = groups.slice(6);
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  return mapped
    ? ipv4Of(high, low)
    : `${groups
        .slice(0, 4)
        .map((group) => group.toString(16))
        .join(':')}::/64`;
}
